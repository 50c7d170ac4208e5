"""M, Ṁ and C together: [EW21] Algorithm 1, in one common frame.

    F1 = I^C Ṡ_j + B^C S_j,   F2 = I^C S_j,   F3 = (B^C)ᵀ S_j           lines 9-11
    C_ij = S_iᵀ F1,   C_ji = Ṡ_iᵀ F2 + S_iᵀ F3,   M_ij = S_iᵀ F2          lines 17-19

The paper moves F1, F2, F3 from body to body; in a common frame they stay as they are, and all pairs
follow in tiles (pairs.py). With the factor of eq. 10, F3 has no linear part
(`spatial.coriolis_factor`).
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.composite import (
    composite_factors,
    composite_rates,
    composite_skew,
    skew_times,
)
from torqued.kernels.dynamics.crba import add_rotor_inertias
from torqued.kernels.dynamics.kinematics import body_poses, body_velocities
from torqued.kernels.dynamics.pairs import (
    ZERO_TILE,
    add_tiles,
    load_rows3,
    load_rows6,
    on_diagonal,
    put_tile,
    put_tiles,
    reach,
    tile6,
    tile9,
    tile_start,
)
from torqued.kernels.dynamics.tree import columns_of
from torqued.kernels.primitives.lanes import LANES
from torqued.kernels.primitives.layout import MATRIX, VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    add6,
    dot,
    dot6,
    factor_times,
    factor_transposed_times,
    inertia_times,
)
from torqued.kernels.primitives.tuples import (
    load3,
    load6,
    load10,
    load12,
    load15,
    store_column3,
    store_column6,
)
from torqued.kernels.primitives.workspace import open_work


@kernel
def fill_forces(work):
    """F = F2, F1, F3 of every column, in this order; needs body_velocities, composite_factors."""
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        inertia = load10(work.states[b].I)
        factor = load12(work.states[b].B)
        for c in columns_of(body):
            S = load6(work.columns[c].S)
            F1 = add6(inertia_times(inertia, load6(work.columns[c].Sdot)), factor_times(factor, S))
            store_column6(work.F, 0, c, inertia_times(inertia, S))
            store_column6(work.F, 6, c, F1)
            store_column3(work.F, 12, c, factor_transposed_times(factor, S))


@kernel
def fill_small_coriolis(work, M, Mdot, C):
    """Of a robot of less than four columns; needs fill_forces."""
    n = len(work.columns)
    for i in range(n):
        S, Sdot = load6(work.columns[i].S), load6(work.columns[i].Sdot)
        for c in range(i, n):
            m, upper, lower = 0.0, 0.0, 0.0
            if c < work.ends[i]:
                F2, F1, F3 = load6(work.F[:6, c]), load6(work.F[6:12, c]), load3(work.F[12:, c])
                m, upper = dot6(S, F2), dot6(S, F1)
                lower = upper if i == c else dot6(Sdot, F2) + dot(S, F3)
            M[i, c], M[c, i] = m, m
            C[i, c], C[c, i] = upper, lower
            Mdot[i, c], Mdot[c, i] = upper + lower, upper + lower


@kernel
def fill_coriolis_tiles(work, M, Mdot, C):
    """Of all others."""
    n = len(work.columns)
    for row in range(0, n, LANES):
        i = tile_start(row, n)
        far = reach(work.ends, i)
        for column in range(row + LANES, n, LANES):
            c = tile_start(column, n)
            if c < far:
                F2 = load_rows6(work.F, 0, c)
                m = tile6(work, i, c, F2)
                put_tiles(M, i, c, m, m)
                upper = tile6(work, i, c, load_rows6(work.F, 6, c))
                lower = tile9(work, i, c, F2, load_rows3(work.F, 12, c))
                put_tiles(C, i, c, upper, lower)
                rate = add_tiles(upper, lower)
                put_tiles(Mdot, i, c, rate, rate)
            else:
                put_tiles(M, i, c, ZERO_TILE, ZERO_TILE)
                put_tiles(C, i, c, ZERO_TILE, ZERO_TILE)
                put_tiles(Mdot, i, c, ZERO_TILE, ZERO_TILE)
        F2 = load_rows6(work.F, 0, i)
        m = tile6(work, i, i, F2)
        upper = tile6(work, i, i, load_rows6(work.F, 6, i))
        lower = tile9(work, i, i, F2, load_rows3(work.F, 12, i))
        rate = add_tiles(upper, lower)
        at, stride = i * M.shape[1] + i, M.shape[1]
        put_tile(M, at, stride, on_diagonal(m, m))
        put_tile(C, at, stride, on_diagonal(upper, lower))
        put_tile(Mdot, at, stride, on_diagonal(rate, rate))


@kernel
def fill_coriolis(work, M, Mdot, C):
    """M, Ṁ and C; needs body_velocities and composite_factors."""
    fill_forces(work)
    if len(work.columns) < LANES:
        fill_small_coriolis(work, M, Mdot, C)
    else:
        fill_coriolis_tiles(work, M, Mdot, C)
    add_rotor_inertias(work, M)


@entry(WORK, VECTOR, VECTOR, MATRIX, MATRIX, MATRIX)
def coriolis_matrix(handle, q, v, M, Mdot, C):
    """M, Ṁ and the Christoffel-consistent C."""
    work = open_work(handle)
    body_poses(work, q)
    body_velocities(work, v)
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
            for i in range(c):  # N is skew-symmetric: nothing on the diagonal
                if c < work.ends[i]:
                    x = dot6(load6(work.columns[i].S), F)
                    C[i, c] += x
                    C[c, i] -= x


@entry(WORK, VECTOR, VECTOR, MATRIX, MATRIX, MATRIX)
def coriolis_matrix_direct(handle, q, v, M, Mdot, C):
    """M, Ṁ and the admissible C of B = (v×*) I, [EW21] eq. 9."""
    work = open_work(handle)
    body_poses(work, q)
    body_velocities(work, v)
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
    body_poses(work, q)
    body_velocities(work, v)
    composite_rates(work)
    Mdot[:, :] = 0.0
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        inertia = load10(work.states[b].I)
        rate = load10(work.auxiliary[b].Idot)
        for c in range(body.column, body.column + body.columns):
            S = load6(work.columns[c].S)
            F1 = add6(inertia_times(rate, S), inertia_times(inertia, load6(work.columns[c].Sdot)))
            F2 = inertia_times(inertia, S)
            for i in range(c + 1):
                if c < work.ends[i]:
                    column = work.columns[i]
                    Mdot[i, c] = dot6(load6(column.S), F1) + dot6(load6(column.Sdot), F2)
                    Mdot[c, i] = Mdot[i, c]
