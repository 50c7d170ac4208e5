"""The recursive algorithms for many states, `WIDTH` of them in each sweep over the tree.

Each entry computes the states of a job (jobs.py) from first to last, in chunks of WIDTH; the last
chunk ends with them, and may begin before `first`. It ends with the first chunk in which a number
that was given or a result is not finite, a quaternion is not one or a mass matrix is singular, and
returns the first state of that chunk; -1 where all is well.
"""

from torqued.kernels.batch.jobs import JOB, choices_of, open_job
from torqued.kernels.batch.transposition import (
    gathered,
    is_finite,
    load,
    load_positions,
    store,
    store_numbers,
)
from torqued.kernels.batch.wide_work import open_wide
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.articulated import OK, factorize, solve_in_place, solve_motion
from torqued.kernels.dynamics.frames import body_motion, frame_placement, represent, represent_rate
from torqued.kernels.dynamics.kinematics import bias_accelerations, body_accelerations, body_poses
from torqued.kernels.dynamics.products import (
    fill_coriolis_product,
    fill_coriolis_transposed_product,
    fill_mass_product,
)
from torqued.kernels.dynamics.rnea import (
    add_armature,
    body_forces,
    collect_forces,
    newton_euler_sweep,
    rest_acceleration,
    subtract_external,
)
from torqued.kernels.primitives.spatial import ZERO6
from torqued.kernels.primitives.tuples import store6
from torqued.kernels.primitives.wide import WIDTH

#: What `batch_product` multiplies with.
MASS, CORIOLIS, CORIOLIS_TRANSPOSED = 0, 1, 2


@kernel
def subtract_wrenches(work, frames, wrenches, start):
    """Take wrenches (N, k, 6) that act on k frames from the bodies' forces."""
    k = len(frames)
    for f in range(k):
        for r in range(6):
            work.wrench[0, r] = gathered(wrenches, (start * k + f) * 6 + r, k * 6)
        subtract_external(work, frames[f : f + 1], work.wrench)


@entry(*JOB)
def batch_inverse_dynamics(handle, address, first, last):
    """τ for accelerations a while wrenches (N, k, 6) act on k frames."""
    work, job = open_wide(handle), open_job(address)
    Q, V, A, frames, wrenches = job.Q, job.V, job.A, job.frames, job.wrenches
    rest = rest_acceleration(work)
    for state in range(first, last, WIDTH):
        start = min(state, last - WIDTH)
        nan_guard = load_positions(Q, start, work)
        nan_guard += load(V, start, work.v) + load(A, start, work.a)
        body_poses(work, work.q)
        newton_euler_sweep(work, work.v, work.a, rest)
        subtract_wrenches(work, frames, wrenches, start)
        collect_forces(work, work.x)
        add_armature(work, work.a, work.x)
        if not is_finite(nan_guard + store(work.x, job.vectors, start)):
            return start
    return -1


@entry(*JOB)
def batch_forward_dynamics(handle, address, first, last):
    """Accelerations a under torques τ, while wrenches (N, k, 6) act on k frames."""
    work, job = open_wide(handle), open_job(address)
    Q, V, tau, frames, wrenches = job.Q, job.V, job.tau, job.frames, job.wrenches
    rest = rest_acceleration(work)
    for state in range(first, last, WIDTH):
        start = min(state, last - WIDTH)
        nan_guard = load_positions(Q, start, work)
        nan_guard += load(V, start, work.v) + load(tau, start, work.a)
        body_poses(work, work.q)
        bias_accelerations(work, work.v, rest)
        body_forces(work)
        subtract_wrenches(work, frames, wrenches, start)
        status = solve_motion(work, work.a, work.x)
        if not is_finite(nan_guard + store(work.x, job.vectors, start)) or status != OK:
            return start
    return -1


@entry(*JOB)
def batch_solve_mass(handle, address, first, last):
    """Solutions (N, k, nv), each row of them M⁻¹ that of B."""
    work, job = open_wide(handle), open_job(address)
    Q, B = job.Q, job.B
    k, n = B.shape[1], len(work.x)
    for state in range(first, last, WIDTH):
        start = min(state, last - WIDTH)
        nan_guard = load_positions(Q, start, work)
        body_poses(work, work.q)
        if factorize(work) != OK:
            return start
        for r in range(k):
            for c in range(n):
                work.x[c] = gathered(B, (start * k + r) * n + c, k * n)
            solve_in_place(work, work.x)
            nan_guard += store_numbers(work.x, job.solutions, (start * k + r) * n, k * n)
        if not is_finite(nan_guard):
            return start
    return -1


@entry(*JOB)
def batch_product(handle, address, first, last):
    """M w, C(q, v) w or C(q, v)ᵀ w."""
    work, job, factor = open_wide(handle), open_job(address), choices_of(address).factor
    Q, V, W = job.Q, job.V, job.W
    for state in range(first, last, WIDTH):
        start = min(state, last - WIDTH)
        nan_guard = load_positions(Q, start, work)
        nan_guard += load(W, start, work.a)
        if factor == MASS:
            fill_mass_product(work, work.q, work.a, work.x)
        else:
            nan_guard += load(V, start, work.v)
            if factor == CORIOLIS:
                fill_coriolis_product(work, work.q, work.v, work.a, work.x)
            else:
                fill_coriolis_transposed_product(work, work.q, work.v, work.a, work.x)
        if not is_finite(nan_guard + store(work.x, job.vectors, start)):
            return start
    return -1


@entry(*JOB)
def batch_frame_motions(handle, address, first, last):
    """J v and J a + J̇ v, (N, k, 6) each, of k frames."""
    work, job = open_wide(handle), open_job(address)
    representation = choices_of(address).representation
    Q, V, A, frames = job.Q, job.V, job.A, job.frames
    n = len(frames)
    for state in range(first, last, WIDTH):
        start = min(state, last - WIDTH)
        nan_guard = load_positions(Q, start, work)
        nan_guard += load(V, start, work.v) + load(A, start, work.a)
        body_poses(work, work.q)
        body_accelerations(work, work.v, work.a, ZERO6)
        for k in range(n):
            R, p = frame_placement(work, frames[k])
            twist, rate = body_motion(work, frames[k])
            at = (start * n + k) * 6
            store6(work.small, represent(work, representation, R, p, twist))
            nan_guard += store_numbers(work.small, job.velocities, at, n * 6)
            store6(work.small, represent_rate(work, representation, R, p, twist, rate))
            nan_guard += store_numbers(work.small, job.accelerations, at, n * 6)
        if not is_finite(nan_guard):
            return start
    return -1
