"""Mass matrix by composite inertias: M_ij = S_iᵀ I^C_j S_j ([F16] section 3.3; [EW21] eq. 19)."""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.kinematics import body_poses
from torqued.kernels.dynamics.pairs import (
    ZERO_TILE,
    load_rows6,
    on_diagonal,
    put_tile,
    put_tiles,
    reach,
    tile6,
    tile_start,
)
from torqued.kernels.dynamics.tree import column_at, columns_of
from torqued.kernels.primitives.lanes import LANES
from torqued.kernels.primitives.layout import MATRIX, VECTOR, WORK
from torqued.kernels.primitives.spatial import dot6, inertia_times
from torqued.kernels.primitives.tuples import load6, load10, store_column6
from torqued.kernels.primitives.workspace import open_work


@kernel
def fill_momenta(work):
    """F[0 … 5] = I^C S of every column; needs body_poses and composite_inertias."""
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        inertia = load10(work.states[b].I)
        for c in columns_of(body):
            store_column6(work.F, 0, c, inertia_times(inertia, load6(work.columns[c].S)))


@kernel
def add_rotor_inertias(work, M):
    """To the diagonal."""
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        for k in range(body.columns):
            c = column_at(body, k)
            M[c, c] += body.armature[k]


@kernel
def fill_small_mass_matrix(work, M):
    """Of a robot of less than four columns; needs fill_momenta."""
    n = len(work.columns)
    for i in range(n):
        S = load6(work.columns[i].S)
        for c in range(i, n):
            M[i, c] = dot6(S, load6(work.F[:6, c])) if c < work.ends[i] else 0.0
            M[c, i] = M[i, c]


@kernel
def fill_mass_tiles(work, M):
    """Of all others."""
    n = len(work.columns)
    for row in range(0, n, LANES):
        i = tile_start(row, n)
        far = reach(work.ends, i)
        for column in range(row + LANES, n, LANES):
            c = tile_start(column, n)
            tile = ZERO_TILE
            if c < far:
                tile = tile6(work, i, c, load_rows6(work.F, 0, c))
            put_tiles(M, i, c, tile, tile)
        tile = tile6(work, i, i, load_rows6(work.F, 0, i))
        put_tile(M, i * M.shape[1] + i, M.shape[1], on_diagonal(tile, tile))


@kernel
def fill_mass_matrix(work, M):
    """M from composite inertias; needs body_poses and composite_inertias."""
    fill_momenta(work)
    if len(work.columns) < LANES:
        fill_small_mass_matrix(work, M)
    else:
        fill_mass_tiles(work, M)
    add_rotor_inertias(work, M)


@entry(WORK, VECTOR, MATRIX)
def mass_matrix(handle, q, M):
    """M(q), both triangles."""
    work = open_work(handle)
    body_poses(work, q)
    composite_inertias(work)
    fill_mass_matrix(work, M)
