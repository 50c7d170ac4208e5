"""Pose, velocity, acceleration, Jacobian and J̇ v of frames, in the four representations of [M18].

J̇, J̈ and jerks are in kernels/screws/rates.py.

hybrid    angular in world axes; velocity of the frame's origin in world axes
body      both in the frame's own axes
spatial   the twist at the world's origin, world axes
mixed     angular in the frame's axes; velocity of its origin in world axes
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.kinematics import body_accelerations, body_poses
from torqued.kernels.primitives.layout import FRAMES, INTEGER, MATRIX, TENSOR, VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    ZERO6,
    add,
    angular,
    compose,
    cross,
    join,
    linear,
    rotate,
    rotate_back,
    sub,
)
from torqued.kernels.primitives.tuples import load3, load6, load9
from torqued.kernels.primitives.workspace import open_work

HYBRID, BODY, SPATIAL, MIXED = 0, 1, 2, 3
REPRESENTATIONS = {"hybrid": HYBRID, "body": BODY, "spatial": SPATIAL, "mixed": MIXED}


@kernel
def frame_placement(work, frame):
    """Rotation and position of a frame relative to the origin; needs body_poses."""
    if frame.body < 0:
        return load9(frame.R), sub(load3(frame.p), load3(work.origin))
    state = work.states[frame.body]
    R = load9(state.R)
    return compose(R, load9(frame.R)), add(load3(state.p), rotate(R, load3(frame.p)))


@kernel
def represent(work, representation, R, p, x):
    """A motion vector at the origin as the twist of a frame at R, p."""
    w = angular(x)
    if representation == SPATIAL:
        return join(w, sub(linear(x), cross(w, load3(work.origin))))
    u = add(linear(x), cross(w, p))
    if representation == BODY:
        return join(rotate_back(R, w), rotate_back(R, u))
    if representation == MIXED:
        return join(rotate_back(R, w), u)
    return join(w, u)


@kernel
def represent_rate(work, representation, R, p, v, a):
    """The rate of a represented twist, from spatial velocity and acceleration at the origin."""
    if representation in (SPATIAL, BODY):
        return represent(work, representation, R, p, a)
    # The velocity u + ω × p belongs to a point that itself moves.
    turn = cross(angular(v), add(linear(v), cross(angular(v), p)))
    x = represent(work, representation, R, p, a)
    return join(angular(x), add(linear(x), turn))


@kernel
def fill_pose(work, frame, pose):
    """4x4 pose in the world; needs body_poses."""
    R, p = frame_placement(work, frame)
    p = add(p, load3(work.origin))
    for r in range(3):
        for k in range(3):
            pose[r, k] = R[3 * r + k]
        pose[r, 3] = p[r]
        pose[3, r] = 0.0
    pose[3, 3] = 1.0


@kernel
def fill_jacobian(work, frame, representation, J):
    """J (6, nv), zero for columns that do not move the frame; needs body_poses."""
    J[:, :] = 0.0
    R, p = frame_placement(work, frame)
    b = frame.body
    while b >= 0:
        body = work.bodies[b]
        for c in range(body.run, body.column + body.columns):
            x = represent(work, representation, R, p, load6(work.columns[c].S))
            for r in range(6):
                J[r, c] = x[r]
        b = body.above


@kernel
def body_motion(work, frame):
    """Twist and spatial acceleration at the origin of the body that carries a frame."""
    if frame.body < 0:
        return ZERO6, ZERO6
    state = work.states[frame.body]
    return load6(state.v), load6(state.a)


@entry(WORK, VECTOR, FRAMES, TENSOR)
def frame_poses(handle, q, frames, poses):
    """poses (k, 4, 4) of k frames."""
    work = open_work(handle)
    body_poses(work, q)
    for k in range(len(frames)):
        fill_pose(work, frames[k], poses[k])


@entry(WORK, VECTOR, FRAMES, INTEGER, TENSOR)
def frame_jacobians(handle, q, frames, representation, J):
    """J (k, 6, nv) of k frames."""
    work = open_work(handle)
    body_poses(work, q)
    for k in range(len(frames)):
        fill_jacobian(work, frames[k], representation, J[k])


@entry(WORK, VECTOR, VECTOR, VECTOR, FRAMES, INTEGER, MATRIX, MATRIX)
def frame_motions(handle, q, v, a, frames, representation, velocity, acceleration):
    """velocity = J v and acceleration = J a + J̇ v, (k, 6) each; with a = 0 the latter is J̇ v."""
    work = open_work(handle)
    body_poses(work, q)
    body_accelerations(work, v, a, ZERO6)
    for k in range(len(frames)):
        R, p = frame_placement(work, frames[k])
        twist, rate = body_motion(work, frames[k])
        x = represent(work, representation, R, p, twist)
        y = represent_rate(work, representation, R, p, twist, rate)
        for r in range(6):
            velocity[k, r] = x[r]
            acceleration[k, r] = y[r]
