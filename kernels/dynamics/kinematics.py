"""The outward sweeps that every algorithm starts with: where bodies are and how they move.

Everything is expressed in one world-aligned frame whose origin is the anchor body's position:
composite quantities simply add, and numbers stay small however far the robot has travelled.
Sweeps are named for what they fill in; velocities and accelerations need body_poses.
"""

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.dynamics.joint_turns import prepare_turns, turn_of
from torqued.kernels.dynamics.tree import column_at, columns_of
from torqued.kernels.primitives.layout import FLOATING, HELICAL, PRISMATIC, REVOLUTE
from torqued.kernels.primitives.spatial import (
    IDENTITY,
    ZERO3,
    ZERO6,
    add,
    add_scaled6,
    column,
    compose,
    cross,
    cross_motion,
    join,
    quaternion_rotation,
    rotate,
    scale,
    sub,
    turn_about_z,
)
from torqued.kernels.primitives.trigonometry import cos_sin
from torqued.kernels.primitives.tuples import load3, load6, load9, store3, store6, store9


@kernel
def joint_rotation(body, q, R):
    """Rotation of the body, given that of its joint frame at q = 0."""
    k = body.q
    if body.kind == REVOLUTE or body.kind == HELICAL:
        return turn_about_z(R, *cos_sin(q[k]))
    if body.kind == PRISMATIC:
        return R
    if body.kind == FLOATING:
        k += 3
    return compose(R, quaternion_rotation(q[k], q[k + 1], q[k + 2], q[k + 3]))


@kernel
def joint_position(body, q, R, p):
    """Position of the body, given rotation and position of its joint frame at q = 0."""
    k = body.q
    if body.kind == PRISMATIC:
        return add(p, scale(column(R, 2), q[k]))
    if body.kind == HELICAL:
        return add(p, scale(column(R, 2), body.pitch * q[k]))
    if body.kind == FLOATING:
        return add(p, rotate(R, (q[k], q[k + 1], q[k + 2])))
    return p


@kernel
def anchor_position(work, q):
    """World position of the anchor. Bodies before it are massless and all its ancestors."""
    if len(work.bodies) == 0:
        return ZERO3
    body = work.bodies[0]
    if work.world[0].anchor == 0:
        return joint_position(body, q, load9(body.R), load3(body.p))
    R, p = IDENTITY, ZERO3
    for i in range(work.world[0].anchor + 1):
        body = work.bodies[i]
        p = add(p, rotate(R, load3(body.p)))
        R = compose(R, load9(body.R))
        p = joint_position(body, q, R, p)
        R = joint_rotation(body, q, R)
    return p


@kernel
def revolute_pose(work, body, q, R, p):
    """Rotation and motion column of a revolute body whose parent has R; stores the column.

    The joint's turn meets the body's own rotation first, which waits for no parent. Needs
    prepare_turns.
    """
    R = compose(R, turn_about_z(load9(body.R), *turn_of(work, q, body.q)))
    z = column(R, 2)
    S = join(z, cross(p, z))
    store6(work.columns[column_at(body, 0)].S, S)
    return R, S


@kernel
def other_pose(body, q, columns, R, p):
    """Rotation and position of a body of any other kind; stores its motion columns."""
    R = compose(R, load9(body.R))
    p = joint_position(body, q, R, p)
    R = joint_rotation(body, q, R)
    c = body.column
    z = column(R, 2)
    if body.kind == PRISMATIC:
        store6(columns[c].S, join(ZERO3, z))
    elif body.kind == HELICAL:
        store6(columns[c].S, join(z, add(cross(p, z), scale(z, body.pitch))))
    else:
        for k in range(3):
            axis = column(R, k)
            store6(columns[c + k].S, join(axis, cross(p, axis)))
            if body.kind == FLOATING:
                store6(columns[c + 3 + k].S, join(ZERO3, axis))
    return R, p


@kernel
def body_poses(work, q):
    """Rotation, position and motion columns of every body."""
    prepare_turns(work, q)
    origin = anchor_position(work, q)
    store3(work.origin, origin)
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        if body.parent < 0:
            R, p = IDENTITY, sub(ZERO3, origin)
        else:
            parent = work.states[body.parent]
            R, p = load9(parent.R), load3(parent.p)
        p = add(p, rotate(R, load3(body.p)))
        # Nearly all joints are revolute: their path is kept free of the others' branches.
        if body.kind == REVOLUTE:
            R, _ = revolute_pose(work, body, q, R, p)
        else:
            R, p = other_pose(body, q, work.columns, R, p)
        state = work.states[i]
        store9(state.R, R)
        store3(state.p, p)


@kernel
def parent_twist(work, body):
    if body.parent < 0:
        return ZERO6
    return load6(work.states[body.parent].v)


@kernel
def parent_acceleration(work, body, world_acceleration):
    if body.parent < 0:
        return world_acceleration
    return load6(work.states[body.parent].a)


@kernel
def body_velocities(work, v):
    """Twist of every body and rate of every column: [EW21] eq. 5 and Φ̇ = v × Φ."""
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        twist = parent_twist(work, body)
        for c in columns_of(body):
            twist = add_scaled6(twist, load6(work.columns[c].S), v[c])
        store6(work.states[i].v, twist)
        # Axes are fixed in their own body (Euler joints are chains of bodies), so S̊ = 0.
        for c in columns_of(body):
            store6(work.columns[c].Sdot, cross_motion(twist, load6(work.columns[c].S)))


@kernel
def bias_accelerations(work, v, world_acceleration):
    """body_velocities, and the acceleration of every body when v stays constant."""
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        twist = parent_twist(work, body)
        acceleration = parent_acceleration(work, body, world_acceleration)
        for c in columns_of(body):
            twist = add_scaled6(twist, load6(work.columns[c].S), v[c])
        for c in columns_of(body):
            rate = cross_motion(twist, load6(work.columns[c].S))
            acceleration = add_scaled6(acceleration, rate, v[c])
            store6(work.columns[c].Sdot, rate)
        store6(work.states[i].v, twist)
        store6(work.states[i].a, acceleration)


@kernel
def body_accelerations(work, v, a, world_acceleration):
    """Twist and spatial acceleration of every body ([EW21] eq. 12)."""
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        twist = parent_twist(work, body)
        acceleration = parent_acceleration(work, body, world_acceleration)
        for c in columns_of(body):
            S = load6(work.columns[c].S)
            twist = add_scaled6(twist, S, v[c])
            acceleration = add_scaled6(acceleration, S, a[c])
        for c in columns_of(body):
            rate = cross_motion(twist, load6(work.columns[c].S))
            acceleration = add_scaled6(acceleration, rate, v[c])
        store6(work.states[i].v, twist)
        store6(work.states[i].a, acceleration)
