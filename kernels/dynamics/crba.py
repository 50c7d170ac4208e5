"""Mass matrix by composite inertias: M_ij = S_iᵀ I^C_j S_j ([F16] section 3.3; [EW21] eq. 19)."""

from __future__ import annotations

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.kinematics import enter_path, place
from torqued.kernels.primitives.lanes import LANES, add_scaled4, load4, scale4, store4
from torqued.kernels.primitives.layout import MATRIX, VECTOR, WORK
from torqued.kernels.primitives.spatial import dot6, inertia_times
from torqued.kernels.primitives.tuples import load6, load10
from torqued.kernels.primitives.workspace import block_of, lane_of, open_work


@kernel
def project(work, count, F):
    """out[0] = Sᵀ F for the first `count` columns of the path."""
    for b in range(block_of(count + LANES - 1)):
        block = work.path[b]
        x = scale4(load4(block.S, 0), F[0])
        x = add_scaled4(x, load4(block.S, 4), F[1])
        x = add_scaled4(x, load4(block.S, 8), F[2])
        x = add_scaled4(x, load4(block.S, 12), F[3])
        x = add_scaled4(x, load4(block.S, 16), F[4])
        x = add_scaled4(x, load4(block.S, 20), F[5])
        store4(block.out, 0, x)


@kernel
def scatter_symmetric(work, count, c, M):
    """M[c, i] = M[i, c] = out[0] for the first `count` columns i of the path."""
    for k in range(count):
        block, lane = work.path[block_of(k)], lane_of(k)
        i = block.column[lane]
        M[c, i] = block.out[0, lane]
        M[i, c] = block.out[0, lane]


@kernel
def fill_mass_matrix(work, M):
    """M from composite inertias; needs place and composite_inertias."""
    if work.world[0].branched:
        M[:, :] = 0.0
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        inertia = load10(work.states[b].I)
        for k in range(body.columns):
            c = body.column + k
            F = inertia_times(inertia, load6(work.columns[c].S))
            project(work, body.depth, F)
            scatter_symmetric(work, body.depth, c, M)
            for i in range(body.column, c + 1):
                M[i, c] = dot6(load6(work.columns[i].S), F)
                M[c, i] = M[i, c]
            M[c, c] += body.armature[k]
        enter_path(work, body)


@entry(WORK, VECTOR, MATRIX)
def mass_matrix(handle, q, M):
    """M(q), both triangles."""
    work = open_work(handle)
    place(work, q)
    composite_inertias(work)
    fill_mass_matrix(work, M)
