"""Of the robot as a whole: energy, center of mass, centroidal momentum, their matrices and bias."""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.composite import composite_inertias, world_inertia
from torqued.kernels.dynamics.kinematics import body_poses, body_velocities
from torqued.kernels.dynamics.rnea import newton_euler_sweep
from torqued.kernels.primitives.layout import MATRIX, VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    ZERO3,
    ZERO6,
    add,
    add6,
    angular,
    cross,
    dot,
    dot6,
    inertia_times,
    join,
    linear,
    rotate,
    scale,
    sub,
)
from torqued.kernels.primitives.tuples import load3, load6, load9, load10, store3, store6
from torqued.kernels.primitives.workspace import open_work


@kernel
def kinetic_energy(work, v):
    """½ vᵀ M v; needs body_velocities."""
    energy = 0.0
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        state = work.states[i]
        twist = load6(state.v)
        energy += 0.5 * dot6(twist, inertia_times(world_inertia(body, state), twist))
        for k in range(body.columns):
            energy += 0.5 * body.armature[k] * v[body.column + k] * v[body.column + k]
    return energy


@kernel
def mass_and_moment(work):
    """Total mass and Σ m c relative to the origin; needs body_poses."""
    mass, moment = 0.0, ZERO3
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        state = work.states[i]
        c = add(load3(state.p), rotate(load9(state.R), load3(body.com)))
        mass += body.mass
        moment = add(moment, scale(c, body.mass))
    return mass, moment


@kernel
def potential_energy(work):
    """−Σ m g·c with c in the world; zero for masses at the world's origin; needs body_poses."""
    mass, moment = mass_and_moment(work)
    g = load3(work.world[0].gravity)
    return -dot(g, add(moment, scale(load3(work.origin), mass)))


@entry(WORK, VECTOR, VECTOR, VECTOR)
def energy(handle, q, v, out):
    """out = (kinetic, potential)."""
    work = open_work(handle)
    body_poses(work, q)
    body_velocities(work, v)
    out[0] = kinetic_energy(work, v)
    out[1] = potential_energy(work)


@kernel
def relative_com(work):
    """Center of mass relative to the origin (the origin itself for a robot without mass)."""
    mass, moment = mass_and_moment(work)
    return scale(moment, 1.0 / mass if mass > 0.0 else 0.0)


@entry(WORK, VECTOR, VECTOR)
def center_of_mass(handle, q, com):
    """com (3,) in the world."""
    work = open_work(handle)
    body_poses(work, q)
    store3(com, add(relative_com(work), load3(work.origin)))


@kernel
def momentum_about(f, c):
    """A force or momentum at the origin, taken about the point c."""
    return join(sub(angular(f), cross(c, linear(f))), linear(f))


@kernel
def fill_momentum_matrix(work, c, A):
    """A (6, nv): [angular about c; linear] momentum = A v; needs body_poses, composite_inertias."""
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        inertia = load10(work.states[i].I)
        for k in range(body.column, body.column + body.columns):
            column = momentum_about(inertia_times(inertia, load6(work.columns[k].S)), c)
            for r in range(6):
                A[r, k] = column[r]


@entry(WORK, VECTOR, MATRIX)
def centroidal_matrix(handle, q, A):
    """A_G (6, nv): centroidal momentum [angular about the center of mass; linear] = A_G v."""
    work = open_work(handle)
    body_poses(work, q)
    composite_inertias(work)
    fill_momentum_matrix(work, relative_com(work), A)


@entry(WORK, VECTOR, VECTOR, VECTOR)
def centroidal_momentum(handle, q, v, h):
    """h (6,) = A_G v, in one sweep."""
    work = open_work(handle)
    body_poses(work, q)
    body_velocities(work, v)
    store6(h, momentum_about(total_momentum(work), relative_com(work)))


@kernel
def total_momentum(work):
    """Σ I v at the origin; needs body_velocities."""
    momentum = ZERO6
    for i in range(len(work.bodies)):
        state = work.states[i]
        inertia = world_inertia(work.bodies[i], state)
        momentum = add6(momentum, inertia_times(inertia, load6(state.v)))
    return momentum


@entry(WORK, VECTOR, VECTOR, VECTOR, VECTOR)
def centroidal_rate(handle, q, v, a, out):
    """Rate of the centroidal momentum at accelerations a; with a = 0 it is Ȧ_G v."""
    work = open_work(handle)
    body_poses(work, q)
    newton_euler_sweep(work, v, a, ZERO6)
    total = ZERO6
    for i in range(len(work.bodies)):
        total = add6(total, load6(work.states[i].f))
    store6(out, momentum_about(total, relative_com(work)))
