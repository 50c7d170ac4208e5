"""Newton's method on the projections of friction_rows.py.

Projected Gauss-Seidel soon finds which contacts separate, stick and slide, and then crawls: where
contacts barely slide it takes tens of thousands of sweeps. Newton's method takes a few steps from
there. The projections have kinks, so it is the semi-smooth one of Alart and Curnier (1991).
"""

import math

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.contacts.friction_rows import (
    normal_row,
    put_into_cone,
    residual,
    row_velocity,
    tangential_inertia,
)
from torqued.kernels.contacts.rows import NORMAL
from torqued.kernels.dynamics.articulated import OK
from torqued.kernels.primitives.dense import lu_solve

#: Added to the diagonal of rows that hold: several points of one body hold each other already.
PROXIMAL = 1e-9


@kernel
def hold(A, step, row, inertia, space, w):
    """The step brings w to zero, in units of impulse."""
    for j in range(A.shape[1]):
        A[row, j] = space.K[row, j] / inertia
    A[row, row] += PROXIMAL
    step[row] = -w / inertia


@kernel
def release(A, step, row, p):
    """The step brings the impulse to zero."""
    for j in range(A.shape[1]):
        A[row, j] = 0.0
    A[row, row] = 1.0
    step[row] = -p[row]


@kernel
def linearize_normal(contact, space, p, A, step):
    n = normal_row(contact)
    inertia = space.K[n, n]
    w = row_velocity(space, p, n)
    if inertia > 0.0 and p[n] - w / inertia > 0.0:
        hold(A, step, n, inertia, space, w)
    else:
        release(A, step, n, p)


@kernel
def linearize_tangents(contact, space, p, A, step):
    n = normal_row(contact)
    x, y = n - 2, n - 1
    inertia = tangential_inertia(space.K, x)
    if not inertia > 0.0:
        release(A, step, x, p)
        release(A, step, y, p)
        return
    wx, wy = row_velocity(space, p, x), row_velocity(space, p, y)
    zx, zy = p[x] - wx / inertia, p[y] - wy / inertia
    size, limit = math.hypot(zx, zy), contact.friction * p[n]
    if size <= limit:
        hold(A, step, x, inertia, space, wx)
        hold(A, step, y, inertia, space, wy)
        return
    # p_t = limit · u with u = z / |z| and dz = dp_t − K_t dp / inertia: it turns, and it grows
    # with p_n.
    ux, uy = zx / size, zy / size
    turn = limit / size
    xx, xy, yy = turn * (1.0 - ux * ux), -turn * ux * uy, turn * (1.0 - uy * uy)
    for j in range(A.shape[1]):
        kx, ky = space.K[x, j] / inertia, space.K[y, j] / inertia
        A[x, j] = xx * kx + xy * ky
        A[y, j] = xy * kx + yy * ky
    A[x, x] += 1.0 - xx
    A[x, y] -= xy
    A[y, x] -= xy
    A[y, y] += 1.0 - yy
    A[x, n] -= contact.friction * ux
    A[y, n] -= contact.friction * uy
    step[x] = limit * ux - p[x]
    step[y] = limit * uy - p[y]


@kernel
def newton_step(contacts, space, p):
    """The step from p into space.x, and the largest change of any contact's velocity by it, m/s.

    Near a solution that change is how far p is off: each contact's own error may be small where
    those of all of them together are not. Returns a status, too.
    """
    m = len(p)
    A, step = space.B, space.x[:m]
    for k in range(len(contacts)):
        linearize_normal(contacts[k], space, p, A, step)
        if contacts[k].kind != NORMAL:
            linearize_tangents(contacts[k], space, p, A, step)
    status = lu_solve(A, step)
    change = 0.0
    if status == OK:
        for r in range(m):
            w = 0.0
            for s in range(m):
                w += space.K[r, s] * step[s]
            change = max(change, abs(w))
    return status, change


@kernel
def polish(contacts, space, p, tolerance, rounding, steps):
    """At most `steps` Newton steps from p, of which the best is kept. Returns error and steps.

    Errors may grow meanwhile: a step that changes what contacts do often makes them worse
    before the next one makes them good. Where every contact is off by `rounding` (m/s) at most,
    p is a solution whatever the step says: four corners that slide leave it to chance how they
    share the load, and there the step is rounding divided by PROXIMAL.
    """
    m = len(p)
    step, trial = space.x[:m], space.trial
    for r in range(m):
        trial[r] = p[r]
    own = residual(contacts, space, trial)
    best, done = math.inf, 0
    while True:
        status, change = newton_step(contacts, space, trial)
        error = max(own, change) if status == OK and own > rounding else own
        if error < best:
            best = error
            for r in range(m):
                p[r] = trial[r]
        if status != OK or done == steps or best <= tolerance:
            return best, done
        done += 1
        for r in range(m):
            trial[r] += step[r]
        for k in range(len(contacts)):
            put_into_cone(contacts[k], trial)
        own = residual(contacts, space, trial)
