"""∂τ/∂q, ∂τ/∂v and M together, from the composite factor that fills C.

With ⌈jk⌉ the outer of columns j and k, F the force on a subtree, and Ψ̇, Ψ̈ of space.py:

    ∂τ_j/∂v_k = S_jᵀ (I^C (Ṡ_k + Ψ̇_k) + 2 B^C S_k)                            of body ⌈jk⌉
    ∂τ_j/∂q_k = S_jᵀ (I^C Ψ̈_k + 2 B^C Ψ̇_k)  [+ S_jᵀ (S_k ×* F) for j inside of k]
    M_jk = S_jᵀ I^C S_k

derived in docs/KERNELS.md; in body frames they are Singh, Russell and Wensing's (2022). ∂/∂q_k is
along the manifold: the derivative by ε of q moved along ε e_k as `integrate` moves it.
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.derivatives.external import add_external
from torqued.kernels.derivatives.space import SPACE, open_space
from torqued.kernels.dynamics.composite import world_inertia
from torqued.kernels.dynamics.kinematics import (
    body_accelerations,
    body_poses,
    parent_acceleration,
    parent_twist,
)
from torqued.kernels.dynamics.rnea import rest_acceleration, subtract_external
from torqued.kernels.primitives.lanes import add_scaled4, load4, scale4, store4
from torqued.kernels.primitives.layout import FRAMES, MATRIX, VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    add6,
    add_scaled6,
    coriolis_factor,
    cross_force,
    cross_motion,
    dot6,
    factor_times,
    factor_transposed_times,
    inertia_times,
    scale,
)
from torqued.kernels.primitives.tuples import (
    accumulate6,
    accumulate10,
    accumulate12,
    load6,
    load10,
    load12,
    store6,
    store10,
    store12,
)
from torqued.kernels.primitives.workspace import block_of, lane_of, open_work


@kernel
def body_terms(work):
    """State.I, State.B and State.f of every body alone; needs body_ or bias_accelerations.

    The force is I a + v ×* I v = I a + B v.
    """
    for i in range(len(work.bodies)):
        state = work.states[i]
        inertia = world_inertia(work.bodies[i], state)
        v = load6(state.v)
        factor = coriolis_factor(inertia, v)
        store10(state.I, inertia)
        store12(state.B, factor)
        store6(state.f, add6(inertia_times(inertia, load6(state.a)), factor_times(factor, v)))


@kernel
def collect_terms(work):
    """The same of every subtree."""
    for i in range(len(work.bodies) - 1, 0, -1):
        parent = work.bodies[i].parent
        if parent >= 0:
            state, above = work.states[i], work.states[parent]
            accumulate10(above.I, load10(state.I))
            accumulate12(above.B, load12(state.B))
            accumulate6(above.f, load6(state.f))


@kernel
def enter_derivative_path(space, position, c, S, rate, second, spin):
    """Put column c with its rates onto the path."""
    block, lane = space.path[block_of(position)], lane_of(position)
    block.column[lane] = c
    for r in range(6):
        block.S[r, lane] = S[r]
        block.rate[r, lane] = rate[r]
        block.second[r, lane] = second[r]
    for r in range(3):
        block.spin[r, lane] = spin[r]


@kernel
def project_derivatives(block, F2, F3, Uq, Uv):
    """For the four columns i of a path block, given those of column c:

    M_ic, ∂τ_i/∂q_c, ∂τ_c/∂q_i, ∂τ_i/∂v_c, ∂τ_c/∂v_i
    """
    x = load4(block.S, 0)
    m, uq, uv, lv = scale4(x, F2[0]), scale4(x, Uq[0]), scale4(x, Uv[0]), scale4(x, F3[0])
    lq = scale4(load4(block.spin, 0), F3[0])
    for r in range(1, 3):
        x = load4(block.S, 4 * r)
        m, uq, uv = add_scaled4(m, x, F2[r]), add_scaled4(uq, x, Uq[r]), add_scaled4(uv, x, Uv[r])
        lv = add_scaled4(lv, x, F3[r])
        lq = add_scaled4(lq, load4(block.spin, 4 * r), F3[r])
    for r in range(3, 6):
        x = load4(block.S, 4 * r)
        m, uq, uv = add_scaled4(m, x, F2[r]), add_scaled4(uq, x, Uq[r]), add_scaled4(uv, x, Uv[r])
    for r in range(6):
        lv = add_scaled4(lv, load4(block.rate, 4 * r), F2[r])
        lq = add_scaled4(lq, load4(block.second, 4 * r), F2[r])
    return m, uq, lq, uv, lv


@kernel
def put_column(i, c, m, uq, uv, M, dq, dv):
    M[i, c] = m
    dq[i, c] = uq
    dv[i, c] = uv


@kernel
def put_row(i, c, m, lq, lv, M, dq, dv):
    M[c, i] = m
    dq[c, i] = lq
    dv[c, i] = lv


@kernel
def fill_derivative_pairs(space, count, c, F2, F3, Uq, Uv, M, dq, dv):
    """Entries of column c with the first `count` columns of the path."""
    row = c * M.shape[1]
    for b in range(block_of(count)):
        block = space.path[b]
        m, uq, lq, uv, lv = project_derivatives(block, F2, F3, Uq, Uv)
        i0, i1, i2, i3 = block.column[0], block.column[1], block.column[2], block.column[3]
        put_column(i0, c, m[0], uq[0], uv[0], M, dq, dv)
        put_column(i1, c, m[1], uq[1], uv[1], M, dq, dv)
        put_column(i2, c, m[2], uq[2], uv[2], M, dq, dv)
        put_column(i3, c, m[3], uq[3], uv[3], M, dq, dv)
        if i3 - i0 == 3:
            store4(M, row + i0, m)
            store4(dq, row + i0, lq)
            store4(dv, row + i0, lv)
        else:
            put_row(i0, c, m[0], lq[0], lv[0], M, dq, dv)
            put_row(i1, c, m[1], lq[1], lv[1], M, dq, dv)
            put_row(i2, c, m[2], lq[2], lv[2], M, dq, dv)
            put_row(i3, c, m[3], lq[3], lv[3], M, dq, dv)
    if lane_of(count):
        block = space.path[block_of(count)]
        m, uq, lq, uv, lv = project_derivatives(block, F2, F3, Uq, Uv)
        store4(block.out, 0, m)
        store4(block.out, 4, uq)
        store4(block.out, 8, lq)
        store4(block.out, 12, uv)
        store4(block.out, 16, lv)
        for lane in range(lane_of(count)):
            i, out = block.column[lane], block.out
            put_column(i, c, out[0, lane], out[1, lane], out[3, lane], M, dq, dv)
            put_row(i, c, out[0, lane], out[2, lane], out[4, lane], M, dq, dv)


@kernel
def fill_derivatives(work, space, world_acceleration, M, dq, dv):
    """M, ∂τ/∂q and ∂τ/∂v; needs collect_terms."""
    if work.world[0].branched:
        M[:, :] = 0.0
        dq[:, :] = 0.0
        dv[:, :] = 0.0
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
            F2 = inertia_times(inertia, S)
            F3 = scale(factor_transposed_times(factor, S), 2.0)
            own = add_scaled6(inertia_times(inertia, second), factor_times(factor, Psidot), 2.0)
            Uv = add_scaled6(inertia_times(inertia, rate), factor_times(factor, S), 2.0)
            Uq = add6(own, cross_force(S, force))
            fill_derivative_pairs(space, body.depth, c, F2, F3, Uq, Uv, M, dq, dv)
            # Columns of the same body turn with it: the force's own turn cancels.
            for i in range(body.column, body.column + body.columns):
                S_i = load6(work.columns[i].S)
                put_column(i, c, dot6(S_i, F2), dot6(S_i, own), dot6(S_i, Uv), M, dq, dv)
            M[c, c] += body.armature[k]
            enter_derivative_path(space, body.depth + k, c, S, rate, second, Psidot)


@entry(WORK, SPACE, VECTOR, VECTOR, VECTOR, MATRIX, MATRIX, MATRIX)
def inverse_dynamics_derivatives(handle, scratch, q, v, a, M, dq, dv):
    """M, ∂τ/∂q and ∂τ/∂v."""
    work, space = open_work(handle), open_space(scratch)
    rest = rest_acceleration(work)
    body_poses(work, q)
    body_accelerations(work, v, a, rest)
    body_terms(work)
    collect_terms(work)
    fill_derivatives(work, space, rest, M, dq, dv)


@entry(WORK, SPACE, VECTOR, VECTOR, VECTOR, FRAMES, MATRIX, MATRIX, MATRIX, MATRIX)
def inverse_dynamics_derivatives_forced(handle, scratch, q, v, a, frames, wrenches, M, dq, dv):
    """The same while wrenches (k, 6) of constant world axes act on k frames."""
    work, space = open_work(handle), open_space(scratch)
    rest = rest_acceleration(work)
    body_poses(work, q)
    body_accelerations(work, v, a, rest)
    body_terms(work)
    subtract_external(work, frames, wrenches)
    collect_terms(work)
    fill_derivatives(work, space, rest, M, dq, dv)
    add_external(work, space, frames, wrenches, dq)
