"""The quantities of dynamics/quantities.py for many states, `WIDTH` of them in each walk.

The sweeps are those of kernels/dynamics/ as they stand, and so are most quantities. Only matrices
are filled in another way: there four columns of a path lie side by side in a register, here as many
states do.
"""

from torqued.kernels.batch.jobs import JOB, choices_of, open_job
from torqued.kernels.batch.matrices import LOWER, SUM, WHOLE, store_matrix
from torqued.kernels.batch.transposition import is_finite, load, load_positions
from torqued.kernels.batch.wide_work import open_wide
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.composite import composite_factors, composite_inertias
from torqued.kernels.dynamics.kinematics import bias_accelerations, body_poses
from torqued.kernels.dynamics.quantities import BIT, NEED_FACTORS, NEED_INERTIAS, NEED_VELOCITY
from torqued.kernels.dynamics.rnea import rest_acceleration
from torqued.kernels.dynamics.selected_quantities import fill_of_frame, fill_of_robot
from torqued.kernels.primitives.spatial import (
    add6,
    dot,
    dot6,
    factor_times,
    factor_transposed_times,
    inertia_times,
)
from torqued.kernels.primitives.tuples import load6, load10, load12
from torqued.kernels.primitives.wide import WIDTH


@kernel
def fill_wide_mass_matrix(work):
    """The lower triangle of work.M; needs composite_inertias. As `fill_mass_matrix`."""
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        inertia = load10(work.states[b].I)
        for k in range(body.columns):
            c = body.column + k
            F = inertia_times(inertia, load6(work.columns[c].S))
            above = b
            while above >= 0:
                part = work.bodies[above]
                for i in range(part.run, min(c + 1, part.column + part.columns)):
                    work.M[c, i] = dot6(load6(work.columns[i].S), F)
                above = part.above
            work.M[c, c] += body.armature[k]


@kernel
def fill_wide_coriolis(work):
    """The lower triangle of work.M, and work.C; needs body_velocities and composite_factors.

    As `fill_coriolis`: [EW21] Algorithm 1, lines 9-19. Ṁ is C + Cᵀ, taken when it is written out.
    """
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        inertia, factor = load10(work.states[b].I), load12(work.states[b].B)
        for k in range(body.columns):
            c = body.column + k
            S = load6(work.columns[c].S)
            F1 = add6(inertia_times(inertia, load6(work.columns[c].Sdot)), factor_times(factor, S))
            F2 = inertia_times(inertia, S)
            F3 = factor_transposed_times(factor, S)
            above = b
            while above >= 0:
                part = work.bodies[above]
                for i in range(part.run, min(c + 1, part.column + part.columns)):
                    Si = load6(work.columns[i].S)
                    work.M[c, i] = dot6(Si, F2)
                    work.C[c, i] = dot6(load6(work.columns[i].Sdot), F2) + dot(Si, F3)
                    work.C[i, c] = dot6(Si, F1)
                above = part.above
            work.M[c, c] += body.armature[k]


@entry(*JOB)
def batch_quantities(handle, address, first, last):
    """Fill the arrays of wanted quantities, as algorithms.py."""
    work, job, choices = open_wide(handle), open_job(address), choices_of(address)
    want, representation = choices.want, choices.representation
    Q, V, frames = job.Q, job.V, job.frames
    for state in range(first, last, WIDTH):
        start = min(state, last - WIDTH)
        nan_guard = load_positions(Q, start, work)
        if want & NEED_VELOCITY:
            nan_guard += load(V, start, work.v)
        sweep(work, want)
        nan_guard += store_matrices(work, want, job, start)
        nan_guard += fill_of_robot(work, work.v, want, work, job, start)
        for k in range(len(frames)):
            nan_guard += fill_of_frame(
                work, want, frames, k, representation, rest_acceleration(work), work, 0, job, start
            )
        if not is_finite(nan_guard):
            return start
    return -1


@kernel
def sweep(work, want):
    """What has to be known of the bodies, and matrices. As `fill_quantities`."""
    body_poses(work, work.q)
    if want & NEED_VELOCITY:
        bias_accelerations(work, work.v, rest_acceleration(work))
    if want & NEED_FACTORS:
        composite_factors(work)
        fill_wide_coriolis(work)
    elif want & NEED_INERTIAS:
        composite_inertias(work)
        if want & BIT.M:
            fill_wide_mass_matrix(work)


@kernel
def store_matrices(work, want, out, start):
    """Those of one chunk, from state `start` on."""
    nan_guard = 0.0 * work.q[0]
    if want & BIT.M:
        nan_guard += store_matrix(LOWER, work.M, out.M, start)
    if want & BIT.Mdot:
        nan_guard += store_matrix(SUM, work.C, out.Mdot, start)
    if want & BIT.C:
        nan_guard += store_matrix(WHOLE, work.C, out.C, start)
    return nan_guard
