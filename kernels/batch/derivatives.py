"""Derivatives of inverse and forward dynamics for many states, `WIDTH` of them in each sweep.

The sweeps are those of kernels/derivatives/ and kernels/dynamics/ as they stand; only matrices are
filled in another way, as in evaluation.py. What the entries take and return is in algorithms.py.
"""

from torqued.kernels.batch.jobs import JOB, open_job
from torqued.kernels.batch.matrices import WHOLE, store_matrix
from torqued.kernels.batch.transposition import is_finite, load, load_positions
from torqued.kernels.batch.wide_work import open_wide
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.derivatives.inverse import body_terms, collect_terms
from torqued.kernels.dynamics.articulated import OK, solve_motion
from torqued.kernels.dynamics.kinematics import (
    bias_accelerations,
    body_accelerations,
    body_poses,
    parent_acceleration,
    parent_twist,
)
from torqued.kernels.dynamics.rnea import body_forces, rest_acceleration
from torqued.kernels.primitives.spatial import (
    ZERO6,
    add6,
    add_scaled6,
    cross_force,
    cross_motion,
    dot,
    dot6,
    factor_times,
    factor_transposed_times,
    inertia_times,
    scale,
)
from torqued.kernels.primitives.tuples import load3, load6, load10, load12, store3, store6
from torqued.kernels.primitives.wide import WIDTH


@kernel
def fill_wide_derivatives(work, world_acceleration):
    """work.dq = ∂τ/∂q and work.dv = ∂τ/∂v; needs collect_terms. As `fill_derivatives`."""
    for b in range(len(work.bodies)):
        body, state = work.bodies[b], work.states[b]
        inertia, factor, force = load10(state.I), load12(state.B), load6(state.f)
        v, v_parent = load6(state.v), parent_twist(work, body)
        a_parent = parent_acceleration(work, body, world_acceleration)
        for k in range(body.columns):
            c = body.column + k
            S = load6(work.columns[c].S)
            Psidot = cross_motion(v_parent, S)
            second = add6(cross_motion(a_parent, S), cross_motion(v_parent, Psidot))
            rate = add6(Psidot, cross_motion(v, S))
            store6(work.derived[c].rate, rate)
            store6(work.derived[c].second, second)
            store3(work.derived[c].spin, Psidot)
            F2 = inertia_times(inertia, S)
            F3 = scale(factor_transposed_times(factor, S), 2.0)
            own = add_scaled6(inertia_times(inertia, second), factor_times(factor, Psidot), 2.0)
            Uv = add_scaled6(inertia_times(inertia, rate), factor_times(factor, S), 2.0)
            Uq = add6(own, cross_force(S, force))
            above = b
            while above >= 0:
                part = work.bodies[above]
                for i in range(part.run, min(body.column, part.column + part.columns)):
                    S_i, derived = load6(work.columns[i].S), work.derived[i]
                    work.dq[i, c] = dot6(S_i, Uq)
                    work.dv[i, c] = dot6(S_i, Uv)
                    work.dq[c, i] = dot(load3(derived.spin), F3) + dot6(load6(derived.second), F2)
                    work.dv[c, i] = dot(S_i, F3) + dot6(load6(derived.rate), F2)
                above = part.above
            # Columns of the same body turn with it: the force's own turn cancels.
            for i in range(body.column, body.column + body.columns):
                S_i = load6(work.columns[i].S)
                work.dq[i, c] = dot6(S_i, own)
                work.dv[i, c] = dot6(S_i, Uv)


@entry(*JOB)
def batch_inverse_dynamics_derivatives(handle, address, first, last):
    """∂τ/∂q and ∂τ/∂v."""
    work, job = open_wide(handle), open_job(address)
    Q, V, A, dq, dv = job.Q, job.V, job.A, job.dq, job.dv
    rest = rest_acceleration(work)
    for state in range(first, last, WIDTH):
        start = min(state, last - WIDTH)
        nan_guard = load_positions(Q, start, work)
        nan_guard += load(V, start, work.v) + load(A, start, work.a)
        body_poses(work, work.q)
        body_accelerations(work, work.v, work.a, rest)
        body_terms(work)
        collect_terms(work)
        fill_wide_derivatives(work, rest)
        nan_guard += store_matrix(WHOLE, work.dq, dq, start)
        nan_guard += store_matrix(WHOLE, work.dv, dv, start)
        if not is_finite(nan_guard):
            return start
    return -1


@kernel
def fill_wide_inverse(work):
    """work.inverse = M⁻¹; needs factorize. As `solve_in_place` of unit vectors, as far as they go:
    what acts on column c is felt by its ancestors, and M⁻¹ is symmetric."""
    zero = 0.0 * work.q[0]
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        for c in range(body.column, body.column + body.columns):
            for i in range(c):
                work.columns[i].x = zero
            force_ancestors(work, b, c)
            follow(work, b, c)


@kernel
def force_ancestors(work, b, c):
    """COLUMN.x of the path to column c of body b under one unit of torque on c."""
    f = ZERO6
    torque = 1.0
    last = c
    while b >= 0:
        body = work.bodies[b]
        for i in range(last, body.column - 1, -1):
            column = work.columns[i]
            column.x = (torque - dot6(load6(column.S), f)) * column.D
            f = add_scaled6(f, load6(column.U), column.x)
            torque = 0.0
        b = body.parent
        if b >= 0:
            last = work.bodies[b].column + work.bodies[b].columns - 1


@kernel
def follow(work, b, c):
    """Row and column c of work.inverse up to the diagonal, from COLUMN.x."""
    for k in range(b + 1):
        body = work.bodies[k]
        a = ZERO6
        if body.parent >= 0:
            a = load6(work.states[body.parent].a)
        for i in range(body.column, min(c + 1, body.column + body.columns)):
            column = work.columns[i]
            x = column.x - column.D * dot6(load6(column.U), a)
            a = add_scaled6(a, load6(column.S), x)
            work.inverse[c, i] = x
            work.inverse[i, c] = x
        store6(work.states[k].a, a)


@kernel
def multiply_negated(A, B, out):
    """out = −A B, three rows and four columns at a time, so that B is read a third as often."""
    n = len(A)
    zero = 0.0 * A[0, 0]
    rows, columns = n - n % 3, n - n % 4
    for i in range(0, rows, 3):
        for k in range(0, columns, 4):
            a, b, c, d = zero, zero, zero, zero
            e, f, g, h = zero, zero, zero, zero
            s, t, u, v = zero, zero, zero, zero
            for r in range(n):
                B0, B1, B2, B3 = B[r, k], B[r, k + 1], B[r, k + 2], B[r, k + 3]
                x, y, z = A[i, r], A[i + 1, r], A[i + 2, r]
                a, b, c, d = a - x * B0, b - x * B1, c - x * B2, d - x * B3
                e, f, g, h = e - y * B0, f - y * B1, g - y * B2, h - y * B3
                s, t, u, v = s - z * B0, t - z * B1, u - z * B2, v - z * B3
            out[i, k], out[i, k + 1], out[i, k + 2], out[i, k + 3] = a, b, c, d
            out[i + 1, k], out[i + 1, k + 1], out[i + 1, k + 2], out[i + 1, k + 3] = e, f, g, h
            out[i + 2, k], out[i + 2, k + 1], out[i + 2, k + 2], out[i + 2, k + 3] = s, t, u, v
        multiply_part(A, B, out, i, i + 3, columns)
    multiply_part(A, B, out, rows, n, 0)


@kernel
def multiply_part(A, B, out, first, last, column):
    """Rows of the same, from a column on, one number after the other."""
    n = len(A)
    for i in range(first, last):
        for k in range(column, n):
            x = 0.0 * A[0, 0]
            for r in range(n):
                x = x - A[i, r] * B[r, k]
            out[i, k] = x


@entry(*JOB)
def batch_forward_dynamics_derivatives(handle, address, first, last):
    """∂a/∂q = −M⁻¹ ∂τ/∂q, ∂a/∂v = −M⁻¹ ∂τ/∂v and ∂a/∂τ = M⁻¹."""
    work, job = open_wide(handle), open_job(address)
    Q, V, tau, dq, dv, dtau = job.Q, job.V, job.tau, job.dq, job.dv, job.dtau
    rest = rest_acceleration(work)
    for state in range(first, last, WIDTH):
        start = min(state, last - WIDTH)
        nan_guard = load_positions(Q, start, work)
        nan_guard += load(V, start, work.v) + load(tau, start, work.a)
        body_poses(work, work.q)
        bias_accelerations(work, work.v, rest)
        body_forces(work)
        status = solve_motion(work, work.a, work.x)
        body_accelerations(work, work.v, work.x, rest)
        body_terms(work)
        collect_terms(work)
        fill_wide_derivatives(work, rest)
        fill_wide_inverse(work)
        multiply_negated(work.inverse, work.dq, work.product)
        nan_guard += store_matrix(WHOLE, work.product, dq, start)
        multiply_negated(work.inverse, work.dv, work.product)
        nan_guard += store_matrix(WHOLE, work.product, dv, start)
        nan_guard += store_matrix(WHOLE, work.inverse, dtau, start)
        if not is_finite(nan_guard) or status != OK:
            return start
    return -1
