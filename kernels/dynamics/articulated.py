"""Articulated inertias: M x = b and forward dynamics in O(N) ([F16] section 3.4).

The articulated-body algorithm is an elimination of one motion column after the other, from the
leaves to the root. A joint of several DoF is several eliminations: every pivot is one number.

An elimination leaves small numbers of large ones, and about an origin far away all are large. Each
body's inertia is therefore about its own origin, in world axes, where the pivot of a light link is
no difference of numbers of size m d²; only a translation takes it to the parent. What it takes to
solve, U and S, is about the common origin: forces and accelerations pass on as they are.

Forward dynamics is the same solve with the bias forces on the right-hand side, so that only one
recursion with 6x6 inertias exists.
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.composite import inertia_with
from torqued.kernels.dynamics.kinematics import bias_accelerations, body_poses
from torqued.kernels.dynamics.rnea import (
    body_forces,
    collect_forces,
    rest_acceleration,
    subtract_external,
)
from torqued.kernels.dynamics.tree import (
    accumulate_to_parent6,
    accumulate_to_parent21,
    column_at,
    columns_of,
    has_children,
)
from torqued.kernels.primitives.layout import FRAMES, MATRIX, PRISMATIC, VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    ZERO6,
    add,
    add_scaled6,
    angular,
    cross,
    dot,
    dot6,
    join,
    linear,
    rotate,
    scale,
    sub,
)
from torqued.kernels.primitives.tuples import add21, load3, load6, load9, load21, store6
from torqued.kernels.primitives.workspace import open_work

OK = 0
SINGULAR = 1  # a pivot Sᵀ IA S is nothing but rounding, negative or not a number

#: Rounding of a pivot, relative to the terms that it is a sum of.
NOISE = 1e-14


@kernel
def articulated_times(A, x):
    """A x for a symmetric 6x6 matrix as 21 numbers, upper triangle row by row."""
    return (
        A[0] * x[0] + A[1] * x[1] + A[2] * x[2] + A[3] * x[3] + A[4] * x[4] + A[5] * x[5],
        A[1] * x[0] + A[6] * x[1] + A[7] * x[2] + A[8] * x[3] + A[9] * x[4] + A[10] * x[5],
        A[2] * x[0] + A[7] * x[1] + A[11] * x[2] + A[12] * x[3] + A[13] * x[4] + A[14] * x[5],
        A[3] * x[0] + A[8] * x[1] + A[12] * x[2] + A[15] * x[3] + A[16] * x[4] + A[17] * x[5],
        A[4] * x[0] + A[9] * x[1] + A[13] * x[2] + A[16] * x[3] + A[18] * x[4] + A[19] * x[5],
        A[5] * x[0] + A[10] * x[1] + A[14] * x[2] + A[17] * x[3] + A[19] * x[4] + A[20] * x[5],
    )


@kernel
def articulated_minus(A, U, s):
    """A − s U Uᵀ."""
    a, b, c, d, e, f = U[0] * s, U[1] * s, U[2] * s, U[3] * s, U[4] * s, U[5] * s
    return (
        A[0] - a * U[0],
        A[1] - a * U[1],
        A[2] - a * U[2],
        A[3] - a * U[3],
        A[4] - a * U[4],
        A[5] - a * U[5],
        A[6] - b * U[1],
        A[7] - b * U[2],
        A[8] - b * U[3],
        A[9] - b * U[4],
        A[10] - b * U[5],
        A[11] - c * U[2],
        A[12] - c * U[3],
        A[13] - c * U[4],
        A[14] - c * U[5],
        A[15] - d * U[3],
        A[16] - d * U[4],
        A[17] - d * U[5],
        A[18] - e * U[4],
        A[19] - e * U[5],
        A[20] - f * U[5],
    )


@kernel
def from_inertia(inertia):
    """Ten numbers (m, h, Ī) as 21: [Ī, h×; −h×, m 1]."""
    m, x, y, z = inertia[0], inertia[1], inertia[2], inertia[3]
    return (
        inertia[4], inertia[5], inertia[6], 0.0, -z, y,
        inertia[7], inertia[8], z, 0.0, -x,
        inertia[9], -y, x, 0.0,
        m, 0.0, 0.0,
        m, 0.0,
        m,
    )  # fmt: skip


@kernel
def articulated_about(A, r):
    """About another point, from which the present one is r away: X A Xᵀ with X = [1, r×; 0, 1]."""
    x, y, z = r
    # H' = H + r× m and J' = J + r× Hᵀ + H' (r×)ᵀ, of A = [J, H; Hᵀ, m].
    a = A[3] + y * A[17] - z * A[16]
    b = A[4] + y * A[19] - z * A[18]
    c = A[5] + y * A[20] - z * A[19]
    d = A[8] + z * A[15] - x * A[17]
    e = A[9] + z * A[16] - x * A[19]
    f = A[10] + z * A[17] - x * A[20]
    g = A[12] + x * A[16] - y * A[15]
    h = A[13] + x * A[18] - y * A[16]
    i = A[14] + x * A[19] - y * A[17]
    return (
        A[0] + y * A[5] - z * A[4] + y * c - z * b,
        A[1] + y * A[10] - z * A[9] + z * a - x * c,
        A[2] + y * A[14] - z * A[13] + x * b - y * a,
        a, b, c,
        A[6] + z * A[8] - x * A[10] + z * d - x * f,
        A[7] + z * A[12] - x * A[14] + x * e - y * d,
        d, e, f,
        A[11] + x * A[13] - y * A[12] + x * h - y * g,
        g, h, i,
        A[15], A[16], A[17],
        A[18], A[19],
        A[20],
    )  # fmt: skip


@kernel
def own_column(body, k, S):
    """A motion column about the body's origin: joints turn about it, or only slide."""
    if body.kind == PRISMATIC or k >= 3:
        return S
    return join(angular(S), scale(angular(S), body.pitch))


@kernel
def factorize(work):
    """U = IA S and D = 1 / (Sᵀ U + armature) of every column; needs body_poses."""
    status = OK
    for i in range(len(work.bodies) - 1, -1, -1):
        body, state = work.bodies[i], work.states[i]
        R, p = load9(state.R), load3(state.p)
        A = from_inertia(inertia_with(body, R, rotate(R, load3(body.com))))
        if has_children(body):
            A = add21(A, load21(state.IA))
        turning, sliding = A[0] + A[6] + A[11], A[15] + A[18] + A[20]
        for k in range(body.columns - 1, -1, -1):
            column = work.columns[column_at(body, k)]
            S = own_column(body, k, load6(column.S))
            U = articulated_times(A, S)
            pivot = dot6(S, U) + body.armature[k]
            w, u = angular(S), linear(S)
            if not pivot > NOISE * (turning * dot(w, w) + sliding * dot(u, u)):
                status = SINGULAR
            store6(column.U, join(add(angular(U), cross(p, linear(U))), linear(U)))
            column.D = 1.0 / pivot
            if k > 0 or body.parent >= 0:
                A = articulated_minus(A, U, column.D)
        if body.parent >= 0:
            parent = work.states[body.parent]
            A = articulated_about(A, sub(p, load3(parent.p)))
            accumulate_to_parent21(work, body, parent.IA, A)
    return status


@kernel
def solve_in_place(work, x):
    """x ← M⁻¹ x; needs factorize."""
    for i in range(len(work.bodies) - 1, -1, -1):
        body = work.bodies[i]
        f = ZERO6
        if has_children(body):
            f = load6(work.states[i].f)
        for k in range(body.columns - 1, -1, -1):
            c = column_at(body, k)
            column = work.columns[c]
            column.x = (x[c] - dot6(load6(column.S), f)) * column.D
            f = add_scaled6(f, load6(column.U), column.x)
        if body.parent >= 0:
            accumulate_to_parent6(work, body, work.states[body.parent].f, f)
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        a = ZERO6
        if body.parent >= 0:
            a = load6(work.states[body.parent].a)
        for c in columns_of(body):
            column = work.columns[c]
            x[c] = column.x - column.D * dot6(load6(column.U), a)
            a = add_scaled6(a, load6(column.S), x[c])
        store6(work.states[i].a, a)


@entry(WORK, VECTOR, MATRIX)
def solve_mass(handle, q, X):
    """Each row x of X becomes M⁻¹ x. Returns a status."""
    work = open_work(handle)
    body_poses(work, q)
    status = factorize(work)
    for row in range(X.shape[0]):
        solve_in_place(work, X[row])
    return status


@kernel
def solve_motion(work, tau, a):
    """a = M⁻¹ (τ − bias), with the bodies' forces in State.f. Returns a status."""
    collect_forces(work, a)
    for c in range(len(a)):
        a[c] = tau[c] - a[c]
    status = factorize(work)
    solve_in_place(work, a)
    return status


@entry(WORK, VECTOR, VECTOR, VECTOR, VECTOR)
def forward_dynamics(handle, q, v, tau, a):
    """Accelerations a under torques τ. Returns a status."""
    work = open_work(handle)
    body_poses(work, q)
    bias_accelerations(work, v, rest_acceleration(work))
    body_forces(work)
    return solve_motion(work, tau, a)


@entry(WORK, VECTOR, VECTOR, VECTOR, FRAMES, MATRIX, VECTOR)
def forward_dynamics_forced(handle, q, v, tau, frames, wrenches, a):
    """The same while wrenches (k, 6) act on k frames. Returns a status."""
    work = open_work(handle)
    body_poses(work, q)
    bias_accelerations(work, v, rest_acceleration(work))
    body_forces(work)
    subtract_external(work, frames, wrenches)
    return solve_motion(work, tau, a)
