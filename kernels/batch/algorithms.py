"""The recursive algorithms for many states, `WIDTH` of them in each sweep over the tree.

Each entry computes the states from first to last, and then those that it takes from a count that
threads share (sharing.py); there are WIDTH or more in all. It ends with the first chunk in which a
number that was given or a result is not finite, a quaternion is none or a mass matrix singular, and
returns the first state of that chunk; -1 where all is well.
"""

from __future__ import annotations

from torqued.kernels.batch.sharing import SHARE, next_chunk
from torqued.kernels.batch.transposition import (
    gathered,
    give,
    give_numbers,
    is_finite,
    take,
    take_positions,
)
from torqued.kernels.batch.wide_work import open_wide
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.articulated import OK, factorize, solve_in_place, solve_motion
from torqued.kernels.dynamics.frames import (
    body_motion,
    frame_placement,
    represent,
    represent_rate,
)
from torqued.kernels.dynamics.kinematics import accelerate, drift, place
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
from torqued.kernels.primitives.layout import FRAMES, INTEGER, MATRIX, TENSOR, WORK
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


@entry(WORK, MATRIX, MATRIX, MATRIX, FRAMES, TENSOR, *SHARE, MATRIX)
def batch_inverse_dynamics(handle, Q, V, A, frames, wrenches, first, last, counter, stop, tau):
    """τ for accelerations a while wrenches (N, k, 6) act on k frames."""
    work = open_wide(handle)
    rest = rest_acceleration(work)
    start, last = next_chunk(first, last, counter, stop)
    while start >= 0:
        doubt = take_positions(Q, start, work)
        doubt += take(V, start, work.v) + take(A, start, work.a)
        place(work, work.q)
        newton_euler_sweep(work, work.v, work.a, rest)
        subtract_wrenches(work, frames, wrenches, start)
        collect_forces(work, work.x)
        add_armature(work, work.a, work.x)
        if not is_finite(doubt + give(work.x, tau, start)):
            return start
        start, last = next_chunk(start + WIDTH, last, counter, stop)
    return -1


@entry(WORK, MATRIX, MATRIX, MATRIX, FRAMES, TENSOR, *SHARE, MATRIX)
def batch_forward_dynamics(handle, Q, V, tau, frames, wrenches, first, last, counter, stop, A):
    """Accelerations a under torques τ, while wrenches (N, k, 6) act on k frames."""
    work = open_wide(handle)
    rest = rest_acceleration(work)
    start, last = next_chunk(first, last, counter, stop)
    while start >= 0:
        doubt = take_positions(Q, start, work)
        doubt += take(V, start, work.v) + take(tau, start, work.a)
        place(work, work.q)
        drift(work, work.v, rest)
        body_forces(work)
        subtract_wrenches(work, frames, wrenches, start)
        status = solve_motion(work, work.a, work.x)
        if not is_finite(doubt + give(work.x, A, start)) or status != OK:
            return start
        start, last = next_chunk(start + WIDTH, last, counter, stop)
    return -1


@entry(WORK, MATRIX, TENSOR, *SHARE, TENSOR)
def batch_solve_mass(handle, Q, B, first, last, counter, stop, X):
    """X (N, k, nv), each row of it M⁻¹ that of B."""
    work = open_wide(handle)
    k, n = B.shape[1], len(work.x)
    start, last = next_chunk(first, last, counter, stop)
    while start >= 0:
        doubt = take_positions(Q, start, work)
        place(work, work.q)
        if factorize(work) != OK:
            return start
        for r in range(k):
            for c in range(n):
                work.x[c] = gathered(B, (start * k + r) * n + c, k * n)
            solve_in_place(work, work.x)
            doubt += give_numbers(work.x, X, (start * k + r) * n, k * n)
        if not is_finite(doubt):
            return start
        start, last = next_chunk(start + WIDTH, last, counter, stop)
    return -1


@entry(WORK, INTEGER, MATRIX, MATRIX, MATRIX, *SHARE, MATRIX)
def batch_product(handle, factor, Q, V, W, first, last, counter, stop, out):
    """M w, C(q, v) w or C(q, v)ᵀ w."""
    work = open_wide(handle)
    start, last = next_chunk(first, last, counter, stop)
    while start >= 0:
        doubt = take_positions(Q, start, work)
        doubt += take(W, start, work.a)
        if factor == MASS:
            fill_mass_product(work, work.q, work.a, work.x)
        else:
            doubt += take(V, start, work.v)
            if factor == CORIOLIS:
                fill_coriolis_product(work, work.q, work.v, work.a, work.x)
            else:
                fill_coriolis_transposed_product(work, work.q, work.v, work.a, work.x)
        if not is_finite(doubt + give(work.x, out, start)):
            return start
        start, last = next_chunk(start + WIDTH, last, counter, stop)
    return -1


@entry(WORK, MATRIX, MATRIX, MATRIX, FRAMES, INTEGER, *SHARE, TENSOR, TENSOR)
def batch_frame_motions(
    handle, Q, V, A, frames, representation, first, last, counter, stop, velocity, acceleration
):
    """J v and J a + J̇ v, (N, k, 6) each, of k frames."""
    work = open_wide(handle)
    n = len(frames)
    start, last = next_chunk(first, last, counter, stop)
    while start >= 0:
        doubt = take_positions(Q, start, work)
        doubt += take(V, start, work.v) + take(A, start, work.a)
        place(work, work.q)
        accelerate(work, work.v, work.a, ZERO6)
        for k in range(n):
            R, p = frame_placement(work, frames[k])
            twist, rate = body_motion(work, frames[k])
            at = (start * n + k) * 6
            store6(work.small, represent(work, representation, R, p, twist))
            doubt += give_numbers(work.small, velocity, at, n * 6)
            store6(work.small, represent_rate(work, representation, R, p, twist, rate))
            doubt += give_numbers(work.small, acceleration, at, n * 6)
        if not is_finite(doubt):
            return start
        start, last = next_chunk(start + WIDTH, last, counter, stop)
    return -1
