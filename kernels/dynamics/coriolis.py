"""M, Ṁ and C together: [EW21] Algorithm 1, in one common frame.

    F1 = I^C Ṡ_j + B^C S_j,   F2 = I^C S_j,   F3 = (B^C)ᵀ S_j           lines 9-11
    C_ij = S_iᵀ F1,   C_ji = Ṡ_iᵀ F2 + S_iᵀ F3,   M_ij = S_iᵀ F2          lines 17-19

The paper moves F1, F2, F3 from body to body; in a common frame they stay as they are. With the
factor of eq. 10, F3 has no linear part (`spatial.coriolis_factor`).
"""

from __future__ import annotations

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.composite import (
    composite_factors,
    composite_rates,
    composite_skew,
    skew_times,
)
from torqued.kernels.dynamics.crba import project, scatter_symmetric
from torqued.kernels.dynamics.kinematics import enter_path, enter_path_rates, move, place
from torqued.kernels.primitives.lanes import LANES, add_scaled4, load4, scale4, store4
from torqued.kernels.primitives.layout import MATRIX, VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    ZERO3,
    add6,
    dot,
    dot6,
    factor_times,
    factor_transposed_times,
    inertia_times,
)
from torqued.kernels.primitives.tuples import load6, load10, load12, load15
from torqued.kernels.primitives.workspace import block_of, lane_of, open_work


@kernel
def project_block(block, F1, F2, F3):
    """M_ic, C_ic and C_ci for the four columns i of a path block, given F1, F2, F3 of column c."""
    x = load4(block.S, 0)
    m, upper, lower = scale4(x, F2[0]), scale4(x, F1[0]), scale4(x, F3[0])
    x = load4(block.S, 4)
    m, upper = add_scaled4(m, x, F2[1]), add_scaled4(upper, x, F1[1])
    lower = add_scaled4(lower, x, F3[1])
    x = load4(block.S, 8)
    m, upper = add_scaled4(m, x, F2[2]), add_scaled4(upper, x, F1[2])
    lower = add_scaled4(lower, x, F3[2])
    for r in range(3, 6):
        x = load4(block.S, 4 * r)
        m, upper = add_scaled4(m, x, F2[r]), add_scaled4(upper, x, F1[r])
    for r in range(6):
        lower = add_scaled4(lower, load4(block.Sdot, 4 * r), F2[r])
    return m, upper, lower


@kernel
def put_outer(i, c, m, upper, rate, M, Mdot, C):
    M[i, c] = m
    C[i, c] = upper
    Mdot[i, c] = rate


@kernel
def put_inner(i, c, m, lower, rate, M, Mdot, C):
    M[c, i] = m
    C[c, i] = lower
    Mdot[c, i] = rate


@kernel
def fill_pairs(work, count, c, F1, F2, F3, M, Mdot, C):
    """Entries of column c with the first `count` columns of the path."""
    row = c * M.shape[1]
    for b in range(block_of(count)):
        block = work.path[b]
        m, upper, lower = project_block(block, F1, F2, F3)
        rate = add_scaled4(lower, upper, 1.0)
        i0, i1, i2, i3 = block.column[0], block.column[1], block.column[2], block.column[3]
        put_outer(i0, c, m[0], upper[0], rate[0], M, Mdot, C)
        put_outer(i1, c, m[1], upper[1], rate[1], M, Mdot, C)
        put_outer(i2, c, m[2], upper[2], rate[2], M, Mdot, C)
        put_outer(i3, c, m[3], upper[3], rate[3], M, Mdot, C)
        if i3 - i0 == 3:
            store4(M, row + i0, m)
            store4(C, row + i0, lower)
            store4(Mdot, row + i0, rate)
        else:
            put_inner(i0, c, m[0], lower[0], rate[0], M, Mdot, C)
            put_inner(i1, c, m[1], lower[1], rate[1], M, Mdot, C)
            put_inner(i2, c, m[2], lower[2], rate[2], M, Mdot, C)
            put_inner(i3, c, m[3], lower[3], rate[3], M, Mdot, C)
    if lane_of(count):
        block = work.path[block_of(count)]
        m, upper, lower = project_block(block, F1, F2, F3)
        store4(block.out, 0, m)
        store4(block.out, 4, upper)
        store4(block.out, 8, lower)
        for lane in range(lane_of(count)):
            i = block.column[lane]
            m1, upper1, lower1 = block.out[0, lane], block.out[1, lane], block.out[2, lane]
            put_outer(i, c, m1, upper1, lower1 + upper1, M, Mdot, C)
            put_inner(i, c, m1, lower1, lower1 + upper1, M, Mdot, C)


@kernel
def fill_own_pairs(work, body, c, F1, F2, F3, M, Mdot, C):
    """Entries of column c with the columns of its own body, up to c itself."""
    for i in range(body.column, c + 1):
        S, Sdot = load6(work.columns[i].S), load6(work.columns[i].Sdot)
        m, upper = dot6(S, F2), dot6(S, F1)
        lower = upper if i == c else dot6(Sdot, F2) + dot(S, F3)
        put_outer(i, c, m, upper, upper + lower, M, Mdot, C)
        put_inner(i, c, m, lower, upper + lower, M, Mdot, C)


@kernel
def fill_coriolis(work, M, Mdot, C):
    """M, Ṁ and C; needs place, move and composite_factors."""
    if work.world[0].branched:
        M[:, :] = 0.0
        Mdot[:, :] = 0.0
        C[:, :] = 0.0
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        inertia = load10(work.states[b].I)
        factor = load12(work.states[b].B)
        for k in range(body.columns):
            c = body.column + k
            S = load6(work.columns[c].S)
            F1 = add6(inertia_times(inertia, load6(work.columns[c].Sdot)), factor_times(factor, S))
            F2 = inertia_times(inertia, S)
            F3 = factor_transposed_times(factor, S)
            fill_pairs(work, body.depth, c, F1, F2, F3, M, Mdot, C)
            fill_own_pairs(work, body, c, F1, F2, F3, M, Mdot, C)
            M[c, c] += body.armature[k]
        enter_path(work, body)
        enter_path_rates(work, body)


@entry(WORK, VECTOR, VECTOR, MATRIX, MATRIX, MATRIX)
def coriolis_matrix(handle, q, v, M, Mdot, C):
    """M, Ṁ and the Christoffel-consistent C."""
    work = open_work(handle)
    place(work, q)
    move(work, v)
    composite_factors(work)
    fill_coriolis(work, M, Mdot, C)


@kernel
def add_skew(work, C):
    """Turn C of eq. 10 into that of eq. 9: C_ij += S_iᵀ N^C S_j; needs composite_skew."""
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        N = load15(work.states[b].N)
        for c in range(body.column, body.column + body.columns):
            F = skew_times(N, load6(work.columns[c].S))
            project(work, body.depth, F)
            for k in range(body.depth):
                block, lane = work.path[block_of(k)], lane_of(k)
                i = block.column[lane]
                C[i, c] += block.out[0, lane]
                C[c, i] -= block.out[0, lane]
            for i in range(body.column, body.column + body.columns):
                C[i, c] += dot6(load6(work.columns[i].S), F)
        enter_path(work, body)


@entry(WORK, VECTOR, VECTOR, MATRIX, MATRIX, MATRIX)
def coriolis_matrix_direct(handle, q, v, M, Mdot, C):
    """M, Ṁ and the admissible C of B = (v×*) I, [EW21] eq. 9."""
    work = open_work(handle)
    place(work, q)
    move(work, v)
    composite_factors(work)
    fill_coriolis(work, M, Mdot, C)
    composite_skew(work)
    add_skew(work, C)


@entry(WORK, VECTOR, VECTOR, MATRIX)
def mass_matrix_rate(handle, q, v, Mdot):
    """Ṁ alone, from the rate of composite inertias and without C:

    Ṁ_ij = Ṡ_iᵀ I^C S_j + S_iᵀ (İ^C S_j + I^C Ṡ_j)
    """
    work = open_work(handle)
    place(work, q)
    move(work, v)
    composite_rates(work)
    if work.world[0].branched:
        Mdot[:, :] = 0.0
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        inertia = load10(work.states[b].I)
        rate = load10(work.auxiliary[b].Idot)
        for c in range(body.column, body.column + body.columns):
            S = load6(work.columns[c].S)
            F1 = add6(inertia_times(rate, S), inertia_times(inertia, load6(work.columns[c].Sdot)))
            F2 = inertia_times(inertia, S)
            for k in range(block_of(body.depth + LANES - 1)):
                block = work.path[k]
                _, upper, lower = project_block(block, F1, F2, ZERO3)
                store4(block.out, 0, add_scaled4(lower, upper, 1.0))
            scatter_symmetric(work, body.depth, c, Mdot)
            for i in range(body.column, c + 1):
                column = work.columns[i]
                Mdot[i, c] = dot6(load6(column.S), F1) + dot6(load6(column.Sdot), F2)
                Mdot[c, i] = Mdot[i, c]
        enter_path(work, body)
        enter_path_rates(work, body)
