"""∂²τ/∂q², ∂²τ/∂v², ∂²τ/∂q∂v and ∂M/∂q: every entry a product of two short vectors.

docs/KERNELS.md derives it. The outermost of the three columns, c, has the composite terms I, B and
F. Moving it changes them by three things of the same kinds,

    K_c = ∂I/∂q_c (ten numbers)    Ḃ_c = ∂B/∂q_c (twelve)    G_c = ∂F/∂q_c,    H_c = ∂F/∂v_c

With a column x between, at c's body or inside of it, a few vectors are made per pair (c, x), and
the third column y, inside of x, comes in by its S, Ṡ + Ψ̇, Ψ̈ and the angular part of Ψ̇ alone, four
columns at once. B(S_c) is the factor of [EW21] eq. 10 with the motion S_c.
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.derivatives.inverse import body_terms, collect_terms, enter_derivative_path
from torqued.kernels.derivatives.pair_vectors import fill_pair_block, three
from torqued.kernels.derivatives.space import SPACE, open_space
from torqued.kernels.dynamics.kinematics import (
    body_accelerations,
    body_poses,
    parent_acceleration,
    parent_twist,
)
from torqued.kernels.dynamics.rnea import rest_acceleration
from torqued.kernels.primitives.lanes import LANES, add_scaled4, scale4, store4
from torqued.kernels.primitives.layout import TENSOR, VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    add6,
    add_scaled6,
    angular,
    coriolis_factor,
    cross,
    cross_force,
    cross_motion,
    dot,
    factor_times,
    factor_transposed_times,
    inertia_times,
    linear,
    scale,
)
from torqued.kernels.primitives.tuples import add12, load6, load10, load12
from torqued.kernels.primitives.workspace import block_of, lane_of, open_work


@kernel
def carried_factor(B, S):
    """S ×* B − B S×: how a Coriolis factor changes that is displaced by S.

    [ω× T − T ω× − u× ℓ×, 0; −(ω × ℓ)×, 0],   u× ℓ× = ℓ uᵀ − (u·ℓ) 1
    """
    w, u, m = angular(S), linear(S), (B[9], B[10], B[11])
    um = dot(u, m)
    moved = cross(w, m)
    return (
        w[1] * B[6] - w[2] * B[3] - B[1] * w[2] + B[2] * w[1] - m[0] * u[0] + um,
        w[1] * B[7] - w[2] * B[4] + B[0] * w[2] - B[2] * w[0] - m[0] * u[1],
        w[1] * B[8] - w[2] * B[5] - B[0] * w[1] + B[1] * w[0] - m[0] * u[2],
        w[2] * B[0] - w[0] * B[6] - B[4] * w[2] + B[5] * w[1] - m[1] * u[0],
        w[2] * B[1] - w[0] * B[7] + B[3] * w[2] - B[5] * w[0] - m[1] * u[1] + um,
        w[2] * B[2] - w[0] * B[8] - B[3] * w[1] + B[4] * w[0] - m[1] * u[2],
        w[0] * B[3] - w[1] * B[0] - B[7] * w[2] + B[8] * w[1] - m[2] * u[0],
        w[0] * B[4] - w[1] * B[1] + B[6] * w[2] - B[8] * w[0] - m[2] * u[1],
        w[0] * B[5] - w[1] * B[2] - B[6] * w[1] + B[7] * w[0] - m[2] * u[2] + um,
        moved[0],
        moved[1],
        moved[2],
    )


@kernel
def column_motion(S, v, v_parent, a_parent):
    """Ψ̇, Ṡ + Ψ̇ and Ψ̈ of a column."""
    Psidot = cross_motion(v_parent, S)
    second = add6(cross_motion(a_parent, S), cross_motion(v_parent, Psidot))
    return Psidot, add6(Psidot, cross_motion(v, S)), second


@kernel
def enter_second_order_path(work, space, body, v, v_parent, a_parent):
    """Put all columns of a body with their rates onto the path."""
    for k in range(body.columns):
        c, position = body.column + k, body.depth + k
        S = load6(work.columns[c].S)
        Psidot, rate, second = column_motion(S, v, v_parent, a_parent)
        enter_derivative_path(space, position, c, S, rate, second, Psidot)
        block, lane = space.path[block_of(position)], lane_of(position)
        for r in range(3):
            block.slide[r, lane] = Psidot[3 + r]


@kernel
def dot_three(x, rows, lane):
    """Four columns x by the first three rows of one lane."""
    first = scale4(x[0], rows[0, lane])
    return add_scaled4(add_scaled4(first, x[1], rows[1, lane]), x[2], rows[2, lane])


@kernel
def add_dot_three(total, x, rows, first, lane):
    """The same with three rows from `first` on, added."""
    total = add_scaled4(total, x[0], rows[first, lane])
    total = add_scaled4(total, x[1], rows[first + 1, lane])
    return add_scaled4(total, x[2], rows[first + 2, lane])


@kernel
def dot_six(w, u, rows, lane):
    return add_dot_three(dot_three(w, rows, lane), u, rows, 3, lane)


@kernel
def project_triples(block, pair, lane, triple):
    """`triple` of the four columns y of a path block and of x, which is a lane of `pair`."""
    w, u, spin = three(block.S, 0), three(block.S, 12), three(block.spin, 0)
    store4(triple.c_vv, 0, dot_three(w, pair.h, lane))
    store4(triple.y_vv, 0, dot_six(w, u, pair.B, lane))
    store4(triple.y_qq, 0, dot_six(w, u, pair.q, lane))
    store4(triple.y_qc_vx, 0, dot_six(w, u, pair.v, lane))
    store4(triple.y_qx_vc, 0, dot_six(w, u, pair.force, lane))
    store4(triple.c_qy_vx, 0, scale4(dot_three(spin, pair.h, lane), 2.0))
    # With B = B(S_c): S_x ×* I S_c = B S_x − Bᵀ S_x and K_c S_x = B S_x + Bᵀ S_x.
    ahead, above = three(block.second, 0), three(block.second, 12)
    both, half = dot_six(ahead, above, pair.B, lane), dot_three(ahead, pair.h, lane)
    plus, minus = add_scaled4(both, half, 1.0), add_scaled4(both, half, -1.0)
    store4(triple.c_qq, 0, add_dot_three(plus, spin, pair.turn, 0, lane))
    store4(triple.x_qq, 0, add_dot_three(minus, spin, pair.slope, 0, lane))
    ahead, above = three(block.rate, 0), three(block.rate, 12)
    both, half = dot_six(ahead, above, pair.B, lane), dot_three(ahead, pair.h, lane)
    plus, minus = add_scaled4(both, half, 1.0), add_scaled4(both, half, -1.0)
    store4(triple.c_qx_vy, 0, add_dot_three(plus, w, pair.turn, 0, lane))
    store4(triple.x_qc_vy, 0, add_dot_three(minus, w, pair.slope, 0, lane))


@kernel
def put_inside(triple, k, c, x, y, qq, vv, qv, dM):
    """Entries of y inside of x, whether x moves the body of c or another."""
    qq[c, x, y] = triple.c_qq[k]
    qq[c, y, x] = triple.c_qq[k]
    qq[y, c, x] = triple.y_qq[k]
    qv[c, x, y] = triple.c_qx_vy[k]
    qv[c, y, x] = triple.c_qy_vx[k]
    qv[y, x, c] = triple.y_qx_vc[k]
    c_vv, y_vv = triple.c_vv[k], triple.y_vv[k]
    vv[c, x, y] = 2.0 * c_vv
    vv[c, y, x] = 2.0 * c_vv
    vv[y, c, x] = 2.0 * y_vv
    dM[c, y, x] = y_vv + c_vv
    dM[y, c, x] = y_vv + c_vv


@kernel
def put_between(triple, k, c, x, y, qq, vv, qv, dM):
    """Those that there are beside, where x is inside of c."""
    qq[x, c, y] = triple.x_qq[k]
    qq[x, y, c] = triple.x_qq[k]
    qq[y, x, c] = triple.y_qq[k]
    qv[x, y, c] = -triple.c_qy_vx[k]
    qv[x, c, y] = triple.x_qc_vy[k]
    qv[y, c, x] = triple.y_qc_vx[k]
    c_vv, y_vv = triple.c_vv[k], triple.y_vv[k]
    vv[x, c, y] = -2.0 * c_vv
    vv[x, y, c] = -2.0 * c_vv
    vv[y, x, c] = 2.0 * y_vv
    dM[x, y, c] = y_vv - c_vv
    dM[y, x, c] = y_vv - c_vv


@kernel
def put_beside(triple, k, c, x, y, between, qq, vv, qv, dM):
    """Entries of x and y that move one body, in this order; y may be x."""
    qq[c, x, y] = triple.c_qq[k]
    qv[c, y, x] = triple.c_qy_vx[k]
    vv[c, x, y] = 2.0 * triple.c_vv[k]
    if between:
        qq[x, c, y] = triple.x_qq[k]
        qq[x, y, c] = triple.x_qq[k]
        qv[x, y, c] = -triple.c_qy_vx[k]
        qv[x, c, y] = triple.x_qc_vy[k]
        vv[x, c, y] = -2.0 * triple.c_vv[k]
        vv[x, y, c] = -2.0 * triple.c_vv[k]
        dM[x, y, c] = triple.y_vv[k] - triple.c_vv[k]


@kernel
def fill_triples(space, pair, lane, c, x, between, body, qq, vv, qv, dM):
    """Entries of c, x and all columns y inside of x or of its body, which is `body`."""
    triple, end = space.triple[0], body.depth + body.columns
    for b in range(block_of(end + LANES - 1)):
        block, start = space.path[b], LANES * b
        project_triples(block, pair, lane, triple)
        inside = max(min(LANES, body.depth - start), 0)
        for k in range(inside):
            put_inside(triple, k, c, x, block.column[k], qq, vv, qv, dM)
        if between:
            for k in range(inside):
                put_between(triple, k, c, x, block.column[k], qq, vv, qv, dM)
        for k in range(inside, min(LANES, end - start)):
            put_beside(triple, k, c, x, block.column[k], between, qq, vv, qv, dM)


@kernel
def fill_second_order(work, space, world_acceleration, qq, vv, qv, dM):
    """All entries of columns on one path; needs collect_terms."""
    for b in range(len(work.bodies)):
        body, state = work.bodies[b], work.states[b]
        inertia, factor, force = load10(state.I), load12(state.B), load6(state.f)
        v, v_parent = load6(state.v), parent_twist(work, body)
        a_parent = parent_acceleration(work, body, world_acceleration)
        enter_second_order_path(work, space, body, v, v_parent, a_parent)
        end = body.depth + body.columns
        for c in range(body.column, body.column + body.columns):
            S = load6(work.columns[c].S)
            Psidot, rate, second = column_motion(S, v, v_parent, a_parent)
            slope = add12(coriolis_factor(inertia, Psidot), carried_factor(factor, S))
            G = add_scaled6(inertia_times(inertia, second), factor_times(factor, Psidot), 2.0)
            G = add6(G, cross_force(S, force))
            H = add_scaled6(inertia_times(inertia, rate), factor_times(factor, S), 2.0)
            F3 = scale(factor_transposed_times(factor, S), 2.0)
            for p in range(block_of(end + LANES - 1)):
                block, pair = space.path[p], space.pairs[p]
                own = coriolis_factor(inertia, S)
                fill_pair_block(block, pair, own, add12(slope, slope), F3, G, H)
                for lane in range(min(LANES, end - LANES * p)):
                    x = block.column[lane]
                    other = work.body_of[x]
                    of_x = work.bodies[other]
                    fill_triples(space, pair, lane, c, x, other != b, of_x, qq, vv, qv, dM)


@kernel
def symmetrize_own(work, vv):
    """Of two velocities of one body the sum of both orders: vv had 2 Γ."""
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        if body.columns > 1:
            for i in range(vv.shape[0]):
                for j in range(body.column, body.column + body.columns):
                    for k in range(body.column, j):
                        mean = 0.5 * (vv[i, j, k] + vv[i, k, j])
                        vv[i, j, k] = mean
                        vv[i, k, j] = mean


@entry(WORK, SPACE, VECTOR, VECTOR, VECTOR, TENSOR, TENSOR, TENSOR, TENSOR)
def inverse_dynamics_second_derivatives(handle, scratch, q, v, a, qq, vv, qv, dM):
    """∂²τ_j/∂q_k∂q_l, ∂²τ_j/∂v_k∂v_l, ∂²τ_j/∂q_k∂v_l and ∂M_jk/∂q_l as [j, k, l].

    Entries whose columns are not all on one path are zero for every q and are left alone, and so
    are those of M that l does not change: give arrays that were once filled with zeros.
    """
    work, space = open_work(handle), open_space(scratch)
    rest = rest_acceleration(work)
    body_poses(work, q)
    body_accelerations(work, v, a, rest)
    body_terms(work)
    collect_terms(work)
    fill_second_order(work, space, rest, qq, vv, qv, dM)
    symmetrize_own(work, vv)
