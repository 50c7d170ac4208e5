"""M, Ṁ and C together: [EW21] Algorithm 1, in one common frame.

    F1 = I^C Ṡ_j + B^C S_j,   F2 = I^C S_j,   F3 = (B^C)ᵀ S_j           lines 9-11
    C_ij = S_iᵀ F1,   C_ji = Ṡ_iᵀ F2 + S_iᵀ F3,   M_ij = S_iᵀ F2          lines 17-19

The paper moves F1, F2, F3 from body to body; in a common frame they stay as they are. With the
factor of eq. 10, F3 has no linear part (`spatial.coriolis_factor`).
"""

from __future__ import annotations

from torqued.kernels.composite import composite_factors, composite_rates, composite_skew, skew_times
from torqued.kernels.crba import project
from torqued.kernels.jit import entry, kernel
from torqued.kernels.kinematics import enter_path, enter_path_rates, move, place
from torqued.kernels.layout import LANES, MATRIX, VECTOR, WORK
from torqued.kernels.spatial import (
    ZERO3,
    add6,
    factor_times,
    factor_transposed_times,
    inertia_times,
    load6,
    load10,
    load12,
    load15,
)


@kernel
def project_coriolis(work, count, F1, F2, F3):
    """out = (M_ic, C_ic, C_ci) for the first `count` columns i of the path."""
    for b in range((count + LANES - 1) // LANES):
        block = work.path[b]
        S, Sdot, out = block.S, block.Sdot, block.out
        for lane in range(LANES):
            out[0, lane] = (
                S[0, lane] * F2[0]
                + S[1, lane] * F2[1]
                + S[2, lane] * F2[2]
                + S[3, lane] * F2[3]
                + S[4, lane] * F2[4]
                + S[5, lane] * F2[5]
            )
            out[1, lane] = (
                S[0, lane] * F1[0]
                + S[1, lane] * F1[1]
                + S[2, lane] * F1[2]
                + S[3, lane] * F1[3]
                + S[4, lane] * F1[4]
                + S[5, lane] * F1[5]
            )
            out[2, lane] = (
                Sdot[0, lane] * F2[0]
                + Sdot[1, lane] * F2[1]
                + Sdot[2, lane] * F2[2]
                + Sdot[3, lane] * F2[3]
                + Sdot[4, lane] * F2[4]
                + Sdot[5, lane] * F2[5]
                + S[0, lane] * F3[0]
                + S[1, lane] * F3[1]
                + S[2, lane] * F3[2]
            )


@kernel
def scatter_coriolis(work, count, c, M, Mdot, C):
    for k in range(count):
        block = work.path[k // LANES]
        lane = k % LANES
        i = block.column[lane]
        m = block.out[0, lane]
        upper = block.out[1, lane]
        lower = block.out[2, lane]
        M[c, i] = m
        M[i, c] = m
        C[c, i] = lower
        C[i, c] = upper
        Mdot[c, i] = lower + upper
        Mdot[i, c] = lower + upper


@kernel
def fill_coriolis(work, M, Mdot, C):
    """M, Ṁ and C; needs place, move and composite_factors."""
    M[:, :] = 0.0
    Mdot[:, :] = 0.0
    C[:, :] = 0.0
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        inertia = load10(work.states[i].I)
        factor = load12(work.states[i].B)
        enter_path(work, body)
        enter_path_rates(work, body)
        count = body.depth + body.columns
        for k in range(body.columns):
            c = body.column + k
            S = load6(work.columns[c].S)
            F1 = add6(inertia_times(inertia, load6(work.columns[c].Sdot)), factor_times(factor, S))
            F2 = inertia_times(inertia, S)
            F3 = factor_transposed_times(factor, S)
            project_coriolis(work, count, F1, F2, F3)
            scatter_coriolis(work, count, c, M, Mdot, C)
            M[c, c] += body.armature[k]


@entry(WORK, VECTOR, VECTOR, MATRIX, MATRIX, MATRIX)
def coriolis_matrix(work, q, v, M, Mdot, C):
    """M, Ṁ and the Christoffel-consistent C."""
    place(work, q)
    move(work, v)
    composite_factors(work)
    fill_coriolis(work, M, Mdot, C)


@kernel
def add_skew(work, C):
    """Turn C of eq. 10 into that of eq. 9: C_ij += S_iᵀ N^C S_j; needs composite_skew."""
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        N = load15(work.states[i].N)
        enter_path(work, body)
        count = body.depth + body.columns
        for c in range(body.column, body.column + body.columns):
            project(work, count, skew_times(N, load6(work.columns[c].S)))
            for k in range(count):
                block = work.path[k // LANES]
                j = block.column[k % LANES]
                C[j, c] += block.out[0, k % LANES]
                if k < body.depth:  # the pairs within one body come up once for each order
                    C[c, j] -= block.out[0, k % LANES]


@entry(WORK, VECTOR, VECTOR, MATRIX, MATRIX, MATRIX)
def coriolis_matrix_direct(work, q, v, M, Mdot, C):
    """M, Ṁ and the admissible C of B = (v×*) I, [EW21] eq. 9."""
    place(work, q)
    move(work, v)
    composite_factors(work)
    fill_coriolis(work, M, Mdot, C)
    composite_skew(work)
    add_skew(work, C)


@entry(WORK, VECTOR, VECTOR, MATRIX)
def mass_matrix_rate(work, q, v, Mdot):
    """Ṁ alone, from the rate of composite inertias and without C:

    Ṁ_ij = Ṡ_iᵀ I^C S_j + S_iᵀ (İ^C S_j + I^C Ṡ_j)
    """
    place(work, q)
    move(work, v)
    composite_rates(work)
    Mdot[:, :] = 0.0
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        inertia = load10(work.states[i].I)
        rate = load10(work.states[i].B)
        enter_path(work, body)
        enter_path_rates(work, body)
        count = body.depth + body.columns
        for c in range(body.column, body.column + body.columns):
            S = load6(work.columns[c].S)
            F1 = add6(inertia_times(rate, S), inertia_times(inertia, load6(work.columns[c].Sdot)))
            F2 = inertia_times(inertia, S)
            project_coriolis(work, count, F1, F2, ZERO3)
            for k in range(count):
                block = work.path[k // LANES]
                j = block.column[k % LANES]
                x = block.out[1, k % LANES] + block.out[2, k % LANES]
                Mdot[c, j] = x
                Mdot[j, c] = x
