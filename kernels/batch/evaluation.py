"""The quantities of dynamics/quantities.py for many states, `WIDTH` of them in each walk.

The sweeps are those of kernels/dynamics/ as they stand. Only the filling of matrices is another:
there four columns of a path lie side by side in a register, here as many states do.
"""

from __future__ import annotations

from torqued.kernels.batch.jobs import JOB, choices_of, open_job
from torqued.kernels.batch.matrices import LOWER, SUM, WHOLE, store_matrix
from torqued.kernels.batch.stores import store_mode_of
from torqued.kernels.batch.transposition import (
    is_finite,
    load,
    load_positions,
    store,
    store_numbers,
)
from torqued.kernels.batch.wide_work import open_wide
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.centroidal import (
    kinetic_energy,
    momentum_about,
    potential_energy,
    relative_com,
    total_momentum,
)
from torqued.kernels.dynamics.composite import composite_factors, composite_inertias
from torqued.kernels.dynamics.frames import (
    body_motion,
    fill_jacobian,
    fill_pose,
    frame_placement,
    represent_rate,
)
from torqued.kernels.dynamics.kinematics import bias_accelerations, body_poses
from torqued.kernels.dynamics.quantities import BIT, NEED_FACTORS, NEED_INERTIAS, NEED_VELOCITY
from torqued.kernels.dynamics.rnea import (
    body_forces,
    collect_forces,
    fill_gravity,
    rest_acceleration,
)
from torqued.kernels.primitives.atomics import fence
from torqued.kernels.primitives.spatial import (
    add,
    add6,
    add_scaled6,
    dot,
    dot6,
    factor_times,
    factor_transposed_times,
    inertia_times,
)
from torqued.kernels.primitives.tuples import load3, load6, load10, load12, store3, store6
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
    M, Mdot, C = job.M, job.Mdot, job.C
    store_mode = store_mode_of(work, M.size + Mdot.size + C.size)
    for state in range(first, last, WIDTH):
        start = min(state, last - WIDTH)
        nan_guard = load_positions(Q, start, work)
        if want & NEED_VELOCITY:
            nan_guard += load(V, start, work.v)
        sweep(work, want)
        nan_guard += store_quantities(work, want, job, start, store_mode)
        for k in range(len(frames)):
            nan_guard += store_frame(work, want, frames, k, representation, job, start)
        if not is_finite(nan_guard):
            fence()
            return start
    fence()  # what was streamed is there for other threads, and before what they write
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
def store_quantities(work, want, out, start, store_mode):
    """Those of the whole robot, for one chunk from state `start` on."""
    nan_guard = 0.0 * work.q[0]
    if want & BIT.M:
        nan_guard += store_matrix(LOWER, work.M, out.M, start, store_mode)
    if want & BIT.Mdot:
        nan_guard += store_matrix(SUM, work.C, out.Mdot, start, store_mode)
    if want & BIT.C:
        nan_guard += store_matrix(WHOLE, work.C, out.C, start, store_mode)
    if want & BIT.g:
        fill_gravity(work, work.x)
        nan_guard += store(work.x, out.g, start)
    if want & BIT.bias:
        body_forces(work)
        collect_forces(work, work.x)
        nan_guard += store(work.x, out.bias, start)
    if want & BIT.energy:
        work.small[0] = kinetic_energy(work, work.v)
        work.small[1] = potential_energy(work)
        nan_guard += store(work.small[:2], out.energy, start)
    if want & BIT.com:
        store3(work.small, add(relative_com(work), load3(work.origin)))
        nan_guard += store(work.small[:3], out.com, start)
    if want & BIT.momentum:
        store6(work.small, momentum_about(total_momentum(work), relative_com(work)))
        nan_guard += store(work.small, out.momentum, start)
    return nan_guard


@kernel
def store_frame(work, want, frames, k, representation, out, start):
    """Those of frame k."""
    nan_guard = 0.0 * work.q[0]
    if want & BIT.pose:
        fill_pose(work, frames[k], work.pose)
        nan_guard += store_of_frame(work.pose.reshape(-1), out.pose, start, k, len(frames))
    if want & BIT.J:
        fill_jacobian(work, frames[k], representation, work.jacobian)
        nan_guard += store_of_frame(work.jacobian.reshape(-1), out.J, start, k, len(frames))
    if want & BIT.Jdot_v:
        R, p = frame_placement(work, frames[k])
        twist, acceleration = body_motion(work, frames[k])
        if frames[k].body >= 0:  # bias_accelerations have gravity, a Jacobian's rate has none
            acceleration = add_scaled6(acceleration, rest_acceleration(work), -1.0)
        store6(work.small, represent_rate(work, representation, R, p, twist, acceleration))
        nan_guard += store_of_frame(work.small, out.Jdot_v, start, k, len(frames))
    return nan_guard


@kernel
def store_of_frame(x, out, start, k, frames):
    """The numbers of frame k, of an array (N, frames, …)."""
    return store_numbers(x, out, (start * frames + k) * len(x), frames * len(x))
