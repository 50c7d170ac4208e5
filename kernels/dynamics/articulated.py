"""Articulated inertias: M x = b and forward dynamics in O(N) ([F16] section 3.4).

The articulated-body algorithm is an elimination of one motion column after the other, from the
leaves to the root. In the common frame an articulated inertia passes to the parent without
transforms, and a joint of several DoF is several eliminations: every pivot is one number.

Forward dynamics is the same solve with the bias forces on the right-hand side, so that only one
recursion with 6x6 inertias exists.
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.composite import world_inertia
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
from torqued.kernels.primitives.layout import FRAMES, MATRIX, VECTOR, WORK
from torqued.kernels.primitives.spatial import ZERO6, add_scaled6, angular, dot, dot6, linear
from torqued.kernels.primitives.tuples import add21, load6, load21, store6
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
def factorize(work):
    """U = IA S and D = 1 / (Sᵀ U + armature) of every column; needs body_poses."""
    status = OK
    for i in range(len(work.bodies) - 1, -1, -1):
        body, state = work.bodies[i], work.states[i]
        A = from_inertia(world_inertia(body, state))
        if has_children(body):
            A = add21(A, load21(state.IA))
        turning, sliding = A[0] + A[6] + A[11], A[15] + A[18] + A[20]
        for k in range(body.columns - 1, -1, -1):
            column = work.columns[column_at(body, k)]
            S = load6(column.S)
            U = articulated_times(A, S)
            pivot = dot6(S, U) + body.armature[k]
            w, u = angular(S), linear(S)
            if not pivot > NOISE * (turning * dot(w, w) + sliding * dot(u, u)):
                status = SINGULAR
            store6(column.U, U)
            column.D = 1.0 / pivot
            if k > 0 or body.parent >= 0:
                A = articulated_minus(A, U, column.D)
        if body.parent >= 0:
            accumulate_to_parent21(work, body, work.states[body.parent].IA, A)
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
