"""group.py for arrays, and for whole configurations: 3 numbers are a rotation's, 6 a motion's."""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.integration.group import (
    dexp_inverse_motion,
    dexp_inverse_rotation,
    dexp_motion,
    dexp_rotation,
    exp_rotation,
    log_rotation,
)
from torqued.kernels.primitives.layout import FLOATING, MATRIX, SPHERICAL, VECTOR, WORK
from torqued.kernels.primitives.workspace import open_work


@kernel
def unit3(k):
    return (1.0 if k == 0 else 0.0, 1.0 if k == 1 else 0.0, 1.0 if k == 2 else 0.0)


@kernel
def unit6(k):
    return unit3(k) + unit3(k - 3)


@entry(VECTOR, MATRIX)
def group_exp(x, C):
    """C = exp x: (3, 3) of 3 numbers, (4, 4) of 6."""
    w = (x[0], x[1], x[2])
    R = exp_rotation(w)
    for r in range(3):
        for k in range(3):
            C[r, k] = R[3 * r + k]
    if len(x) == 6:
        p = dexp_rotation(w, (x[3], x[4], x[5]))
        for r in range(3):
            C[r, 3] = p[r]
            C[3, r] = 0.0
        C[3, 3] = 1.0


@entry(MATRIX, VECTOR)
def group_log(C, x):
    """x = log C."""
    R = (C[0, 0], C[0, 1], C[0, 2], C[1, 0], C[1, 1], C[1, 2], C[2, 0], C[2, 1], C[2, 2])
    w = log_rotation(R)
    for r in range(3):
        x[r] = w[r]
    if len(x) == 6:
        u = dexp_inverse_rotation(w, (C[0, 3], C[1, 3], C[2, 3]))
        for r in range(3):
            x[3 + r] = u[r]


@entry(VECTOR, MATRIX)
def group_dexp(x, J):
    """J = dexp_x, a column per unit vector."""
    n = len(x)
    for k in range(n):
        if n == 3:
            y = dexp_rotation((x[0], x[1], x[2]), unit3(k))
            for r in range(3):
                J[r, k] = y[r]
        else:
            z = dexp_motion((x[0], x[1], x[2], x[3], x[4], x[5]), unit6(k))
            for r in range(6):
                J[r, k] = z[r]


@entry(VECTOR, MATRIX)
def group_dexp_inverse(x, J):
    """J = dexp_x⁻¹, for turns of less than 2π."""
    n = len(x)
    for k in range(n):
        if n == 3:
            y = dexp_inverse_rotation((x[0], x[1], x[2]), unit3(k))
            for r in range(3):
                J[r, k] = y[r]
        else:
            z = dexp_inverse_motion((x[0], x[1], x[2], x[3], x[4], x[5]), unit6(k))
            for r in range(6):
                J[r, k] = z[r]


@entry(WORK, VECTOR, VECTOR, VECTOR)
def step_rate(handle, step, v, out):
    """out = the rate of a step from a fixed q while the velocity at integrate(q, step) is v.

    Θ̇ = dexp_{−Θ}⁻¹ V^b of joints with quaternions ([M18] eq. 89), v of all others.
    """
    work = open_work(handle)
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        c = body.column
        if body.kind == FLOATING:
            X = (-step[c], -step[c + 1], -step[c + 2], -step[c + 3], -step[c + 4], -step[c + 5])
            x = dexp_inverse_motion(X, (v[c], v[c + 1], v[c + 2], v[c + 3], v[c + 4], v[c + 5]))
            for r in range(6):
                out[c + r] = x[r]
        elif body.kind == SPHERICAL:
            w = (-step[c], -step[c + 1], -step[c + 2])
            y = dexp_inverse_rotation(w, (v[c], v[c + 1], v[c + 2]))
            for r in range(3):
                out[c + r] = y[r]
        else:
            out[c] = v[c]
