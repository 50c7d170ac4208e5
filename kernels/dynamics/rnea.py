"""Recursive Newton-Euler: τ = M a + C v + g − Σ Jᵀ f_ext ([F16] section 3.2; [EW21] eq. 12-13)."""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.frames import frame_placement
from torqued.kernels.dynamics.joint_turns import prepare_turns
from torqued.kernels.dynamics.kinematics import (
    anchor_position,
    bias_accelerations,
    body_accelerations,
    body_poses,
    other_pose,
    revolute_pose,
)
from torqued.kernels.dynamics.tree import column_at, columns_of
from torqued.kernels.primitives.layout import FRAMES, MATRIX, REVOLUTE, VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    IDENTITY,
    ZERO3,
    ZERO6,
    add,
    add_scaled6,
    angular,
    cross,
    cross_motion,
    dot6,
    inertia_times,
    join,
    linear,
    rotate,
    rotate_back,
    scale,
    scale6,
    sub,
    symmetric_times,
)
from torqued.kernels.primitives.tuples import (
    accumulate6,
    load3,
    load6,
    load9,
    load10,
    store3,
    store6,
    store9,
)
from torqued.kernels.primitives.workspace import open_work


@kernel
def newton_euler(body, state, v, a):
    """Force on one body at the origin: I a + v ×* I v."""
    return force_of_motion(body, load9(state.R), load3(state.p), v, a)


@kernel
def force_of_motion(body, R, p, v, a):
    """The same for a body at R, p. Taken about its center of mass: there Newton's and Euler's laws
    separate, and turning four vectors into body axes and back costs less than turning the inertia
    into world axes."""
    c = add(p, rotate(R, load3(body.com)))
    w, u = angular(v), linear(v)
    acceleration = add(add(linear(a), cross(angular(a), c)), cross(w, add(u, cross(w, c))))
    force = scale(acceleration, body.mass)
    inertia = load6(body.inertia)
    spin = rotate_back(R, w)
    moment = rotate(
        R,
        add(
            symmetric_times(inertia, rotate_back(R, angular(a))),
            cross(spin, symmetric_times(inertia, spin)),
        ),
    )
    return join(add(moment, cross(c, force)), force)


@kernel
def rest_acceleration(work):
    """Gravity as an upward acceleration of the world."""
    return join(ZERO3, sub(ZERO3, load3(work.world[0].gravity)))


@kernel
def collect_forces(work, tau):
    """Inward sweep: forces of subtrees, projected on the motion columns."""
    for i in range(len(work.bodies) - 1, -1, -1):
        body = work.bodies[i]
        f = load6(work.states[i].f)
        for c in columns_of(body):
            tau[c] = dot6(load6(work.columns[c].S), f)
        if body.parent >= 0:
            accumulate6(work.states[body.parent].f, f)


@kernel
def newton_euler_sweep(work, v, a, world_acceleration):
    """Twist, acceleration and force of every body; needs body_poses."""
    body_accelerations(work, v, a, world_acceleration)
    body_forces(work)


@kernel
def body_forces(work):
    """The force that each body's motion takes; needs body_ or bias_accelerations."""
    for i in range(len(work.bodies)):
        state = work.states[i]
        force = newton_euler(work.bodies[i], state, load6(state.v), load6(state.a))
        store6(state.f, force)


@kernel
def outward_sweep(work, q, v, a, world_acceleration):
    """body_poses, body_accelerations and body_forces for one body after the other: what they share
    stays in registers, a tenth less time than three sweeps."""
    prepare_turns(work, q)
    origin = anchor_position(work, q)
    store3(work.origin, origin)
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        if body.parent < 0:
            R, p = IDENTITY, sub(ZERO3, origin)
            twist, acceleration = ZERO6, world_acceleration
        else:
            parent = work.states[body.parent]
            R, p = load9(parent.R), load3(parent.p)
            twist, acceleration = load6(parent.v), load6(parent.a)
        p = add(p, rotate(R, load3(body.p)))
        if body.kind == REVOLUTE:  # the others' loops are kept out of its way
            c = column_at(body, 0)
            R, S = revolute_pose(work, body, q, R, p)
            twist = add_scaled6(twist, S, v[c])
            acceleration = add_scaled6(acceleration, S, a[c])
            acceleration = add_scaled6(acceleration, cross_motion(twist, S), v[c])
        else:
            R, p = other_pose(body, q, work.columns, R, p)
            for c in columns_of(body):
                S = load6(work.columns[c].S)
                twist = add_scaled6(twist, S, v[c])
                acceleration = add_scaled6(acceleration, S, a[c])
            for c in columns_of(body):
                rate = cross_motion(twist, load6(work.columns[c].S))
                acceleration = add_scaled6(acceleration, rate, v[c])
        state = work.states[i]
        store9(state.R, R)
        store3(state.p, p)
        store6(state.v, twist)
        store6(state.a, acceleration)
        store6(state.f, force_of_motion(body, R, p, twist, acceleration))


@kernel
def collect_torques(work, a, tau):
    """collect_forces and add_armature in one sweep."""
    for i in range(len(work.bodies) - 1, -1, -1):
        body = work.bodies[i]
        f = load6(work.states[i].f)
        for k in range(body.columns):
            c = column_at(body, k)
            tau[c] = dot6(load6(work.columns[c].S), f) + body.armature[k] * a[c]
        if body.parent >= 0:
            accumulate6(work.states[body.parent].f, f)


@kernel
def subtract_external(work, frames, wrenches):
    """Take wrenches that act on frames from the bodies' forces.

    A wrench is [moment; force] at the frame's origin in world axes.
    """
    for k in range(len(frames)):
        if frames[k].body >= 0:
            _, p = frame_placement(work, frames[k])
            force = (wrenches[k, 3], wrenches[k, 4], wrenches[k, 5])
            moment = add((wrenches[k, 0], wrenches[k, 1], wrenches[k, 2]), cross(p, force))
            state = work.states[frames[k].body]
            accumulate6(state.f, scale6(join(moment, force), -1.0))


@kernel
def add_armature(work, a, tau):
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        for k in range(body.columns):
            c = column_at(body, k)
            tau[c] += body.armature[k] * a[c]


@entry(WORK, VECTOR, VECTOR, VECTOR, VECTOR)
def inverse_dynamics(handle, q, v, a, tau):
    """τ for accelerations a."""
    work = open_work(handle)
    outward_sweep(work, q, v, a, rest_acceleration(work))
    collect_torques(work, a, tau)


@entry(WORK, VECTOR, VECTOR, VECTOR, FRAMES, MATRIX, VECTOR)
def inverse_dynamics_forced(handle, q, v, a, frames, wrenches, tau):
    """τ for accelerations a while wrenches (k, 6) act on k frames."""
    work = open_work(handle)
    outward_sweep(work, q, v, a, rest_acceleration(work))
    subtract_external(work, frames, wrenches)
    collect_torques(work, a, tau)


@entry(WORK, VECTOR, VECTOR, VECTOR)
def bias(handle, q, v, tau):
    """C(q, v) v + g(q)."""
    work = open_work(handle)
    body_poses(work, q)
    bias_accelerations(work, v, rest_acceleration(work))
    body_forces(work)
    collect_forces(work, tau)


@entry(WORK, VECTOR, VECTOR)
def gravity(handle, q, g):
    """g(q), from composite inertias: g_c = −S_cᵀ I^C [0; gravity]."""
    work = open_work(handle)
    body_poses(work, q)
    composite_inertias(work)
    fill_gravity(work, g)


@kernel
def fill_gravity(work, g):
    """g from composite inertias; needs body_poses and composite_inertias."""
    rest = rest_acceleration(work)
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        f = inertia_times(load10(work.states[i].I), rest)
        for c in columns_of(body):
            g[c] = dot6(load6(work.columns[c].S), f)
