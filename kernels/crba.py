"""Mass matrix by composite inertias: M_ij = S_iᵀ I^C_j S_j ([F16] section 3.3; [EW21] eq. 19)."""

from __future__ import annotations

from torqued.kernels.composite import composite_inertias
from torqued.kernels.jit import entry, kernel
from torqued.kernels.kinematics import enter_path, place
from torqued.kernels.layout import LANES, MATRIX, VECTOR, WORK
from torqued.kernels.spatial import inertia_times, load6, load10


@kernel
def project(work, count, F):
    """out[0] = Sᵀ F for the first `count` columns of the path."""
    for b in range((count + LANES - 1) // LANES):
        block = work.path[b]
        for lane in range(LANES):
            block.out[0, lane] = (
                block.S[0, lane] * F[0]
                + block.S[1, lane] * F[1]
                + block.S[2, lane] * F[2]
                + block.S[3, lane] * F[3]
                + block.S[4, lane] * F[4]
                + block.S[5, lane] * F[5]
            )


@kernel
def scatter_symmetric(work, count, c, M):
    """M[c, i] = M[i, c] = out[0] for the first `count` columns i of the path."""
    for k in range(count):
        block = work.path[k // LANES]
        i = block.column[k % LANES]
        x = block.out[0, k % LANES]
        M[c, i] = x
        M[i, c] = x


@kernel
def fill_mass_matrix(work, M):
    """M from composite inertias; needs place and composite_inertias."""
    M[:, :] = 0.0
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        inertia = load10(work.states[i].I)
        enter_path(work, body)
        count = body.depth + body.columns
        for k in range(body.columns):
            c = body.column + k
            project(work, count, inertia_times(inertia, load6(work.columns[c].S)))
            scatter_symmetric(work, count, c, M)
            M[c, c] += body.armature[k]


@entry(WORK, VECTOR, MATRIX)
def mass_matrix(work, q, M):
    """M(q), both triangles."""
    place(work, q)
    composite_inertias(work)
    fill_mass_matrix(work, M)
