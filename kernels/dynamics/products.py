"""Products with M, C and Cᵀ in O(N), without forming a matrix.

C(q, v) w is a Newton-Euler sweep with the bilinear factor B of [EW21] eq. 10:

    f_i = I_i Σ Ṡ_j w_j + B(v_i, I_i) Σ S_j w_j,     (C w)_j = S_jᵀ Σ f
    p_i = I_i Σ S_j w_j,                            (Cᵀ w)_j = Ṡ_jᵀ Σ p + S_jᵀ Σ Bᵀ S w
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.composite import world_inertia
from torqued.kernels.dynamics.kinematics import body_poses, body_velocities
from torqued.kernels.dynamics.rnea import add_armature, collect_forces
from torqued.kernels.dynamics.tree import columns_of
from torqued.kernels.primitives.layout import VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    ZERO3,
    ZERO6,
    add6,
    add_scaled6,
    coriolis_factor,
    dot6,
    factor_times,
    factor_transposed_times,
    inertia_times,
    join,
)
from torqued.kernels.primitives.tuples import accumulate6, load6, store6
from torqued.kernels.primitives.workspace import open_work


@kernel
def carry(work, w):
    """Auxiliary.w = Σ S_j w_j over each body's path; needs body_poses."""
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        twist = ZERO6
        if body.parent >= 0:
            twist = load6(work.auxiliary[body.parent].w)
        for c in columns_of(body):
            twist = add_scaled6(twist, load6(work.columns[c].S), w[c])
        store6(work.auxiliary[i].w, twist)


@entry(WORK, VECTOR, VECTOR, VECTOR)
def mass_product(handle, q, w, out):
    """out = M(q) w."""
    fill_mass_product(open_work(handle), q, w, out)


@kernel
def fill_mass_product(work, q, w, out):
    """The same for kernels."""
    body_poses(work, q)
    carry(work, w)
    for i in range(len(work.bodies)):
        state = work.states[i]
        store6(
            state.f, inertia_times(world_inertia(work.bodies[i], state), load6(work.auxiliary[i].w))
        )
    collect_forces(work, out)
    add_armature(work, w, out)


@entry(WORK, VECTOR, VECTOR, VECTOR, VECTOR)
def coriolis_product(handle, q, v, w, out):
    """out = C(q, v) w with the Christoffel-consistent C."""
    fill_coriolis_product(open_work(handle), q, v, w, out)


@kernel
def fill_coriolis_product(work, q, v, w, out):
    """The same for kernels."""
    body_poses(work, q)
    body_velocities(work, v)
    carry(work, w)
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        state = work.states[i]
        rate = ZERO6
        if body.parent >= 0:
            rate = load6(work.auxiliary[body.parent].wdot)
        for c in columns_of(body):
            rate = add_scaled6(rate, load6(work.columns[c].Sdot), w[c])
        store6(work.auxiliary[i].wdot, rate)
        inertia = world_inertia(body, state)
        factor = coriolis_factor(inertia, load6(state.v))
        store6(
            state.f,
            add6(inertia_times(inertia, rate), factor_times(factor, load6(work.auxiliary[i].w))),
        )
    collect_forces(work, out)


@entry(WORK, VECTOR, VECTOR, VECTOR, VECTOR)
def coriolis_transposed_product(handle, q, v, w, out):
    """out = C(q, v)ᵀ w; with w = v it is the term that a momentum observer needs."""
    fill_coriolis_transposed_product(open_work(handle), q, v, w, out)


@kernel
def fill_coriolis_transposed_product(work, q, v, w, out):
    """The same for kernels."""
    body_poses(work, q)
    body_velocities(work, v)
    carry(work, w)
    for i in range(len(work.bodies)):
        state = work.states[i]
        inertia = world_inertia(work.bodies[i], state)
        twist = load6(work.auxiliary[i].w)
        factor = coriolis_factor(inertia, load6(state.v))
        store6(state.f, join(factor_transposed_times(factor, twist), ZERO3))
        store6(work.auxiliary[i].h, inertia_times(inertia, twist))
    for i in range(len(work.bodies) - 1, -1, -1):
        body = work.bodies[i]
        f, momentum = load6(work.states[i].f), load6(work.auxiliary[i].h)
        for c in columns_of(body):
            column = work.columns[c]
            out[c] = dot6(load6(column.S), f) + dot6(load6(column.Sdot), momentum)
        if body.parent >= 0:
            accumulate6(work.states[body.parent].f, f)
            accumulate6(work.auxiliary[body.parent].h, momentum)
