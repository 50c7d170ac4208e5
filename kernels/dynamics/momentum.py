"""Generalized momentum and what changes it without torques: what a disturbance observer needs.

p = M v,     ṗ = τ + τ_ext + β,     β = Cᵀ v − g        (Ṁ = C + Cᵀ)
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.composite import world_inertia
from torqued.kernels.dynamics.kinematics import body_poses, body_velocities
from torqued.kernels.dynamics.rnea import add_armature, rest_acceleration
from torqued.kernels.dynamics.tree import columns_of
from torqued.kernels.primitives.layout import VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    ZERO3,
    add_scaled6,
    coriolis_factor,
    dot6,
    factor_transposed_times,
    inertia_times,
    join,
)
from torqued.kernels.primitives.tuples import accumulate6, load6, store6
from torqued.kernels.primitives.workspace import open_work


@kernel
def fill_momentum(work, v, p, rate):
    """p = M v and rate = β; needs body_velocities."""
    rest = rest_acceleration(work)
    for i in range(len(work.bodies)):
        state = work.states[i]
        twist, inertia = load6(state.v), world_inertia(work.bodies[i], state)
        factor = coriolis_factor(inertia, twist)
        f = join(factor_transposed_times(factor, twist), ZERO3)
        store6(state.f, add_scaled6(f, inertia_times(inertia, rest), -1.0))
        store6(work.auxiliary[i].h, inertia_times(inertia, twist))
    for i in range(len(work.bodies) - 1, -1, -1):
        body = work.bodies[i]
        f, momentum = load6(work.states[i].f), load6(work.auxiliary[i].h)
        for c in columns_of(body):
            S = load6(work.columns[c].S)
            p[c] = dot6(S, momentum)
            rate[c] = dot6(S, f) + dot6(load6(work.columns[c].Sdot), momentum)
        if body.parent >= 0:
            accumulate6(work.states[body.parent].f, f)
            accumulate6(work.auxiliary[body.parent].h, momentum)
    add_armature(work, v, p)


@entry(WORK, VECTOR, VECTOR, VECTOR, VECTOR)
def generalized_momentum(handle, q, v, p, rate):
    """p = M v and rate = Cᵀ v − g."""
    work = open_work(handle)
    body_poses(work, q)
    body_velocities(work, v)
    fill_momentum(work, v, p, rate)
