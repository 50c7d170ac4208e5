"""Limits of references: of joints, as the robot has them or as a session asks for, and of frames.

Of a frame passes what joints at their speed limits make of it in its fastest pose. A jump is
closed with the speed that the frame has straight ahead in most poses, which is far less: all joints
together rarely move it along one line.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.control.joint_limits import ACCELERATION_TIME, SPEED_TIME, joint_limits
from torqued.kernels.control.law import Array
from torqued.kernels.control.poses import poses_of
from torqued.kernels.control.references.motions import COM, JOINTS
from torqued.kernels.control.references.pace import LOAD_SHARE
from torqued.kernels.dynamics.frames import HYBRID
from torqued.kernels.input_checks import known_keys, numbers

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: rad/s and m/s on a floating base, where joints do not say how fast the robot may go, and of
#: rotations or translations that a frame does not have.
FLOATING = np.array([2.5, 1.0])
#: rad/s or m/s: files have more for joints whose speed they do not know.
MAX_JOINT_SPEED = 10.0
NAMES = ("velocity", "acceleration", "jerk", "load", "angular", "linear")


def fill_reference_limits(robot: Robot, given: Any, data: Any) -> None:
    """Limits of references: the robot's, or `reference_limits`, a map of some of them; false for
    none on what is given, as of a program with its own limits.

    velocity, acceleration, jerk: number or (nv,); load: share of the efforts that weight may take
    in poses that are moved to; angular (rad/s) and linear (m/s): speeds of frames, of their jumps
    too.
    """
    own = joint_limits(robot)
    data.lower[:], data.upper[:] = own.lower, own.upper
    data.coordinate[:], data.wraps[:] = own.coordinate, own.wraps
    data.own_speed[:] = own.speed
    data.speed[:], data.acceleration[:], data.jerk[:] = own.speed, own.acceleration, own.jerk
    limits = given if given is not None and not isinstance(given, bool) else {}
    if not isinstance(limits, Mapping):
        wanted = "a map, true or false"
        raise InputError(f"reference_limits: expected {wanted}", "reference_limits", None, wanted)
    known_keys("reference_limits", limits, NAMES)

    def of(name: str, default: Any, *shapes: tuple[int, ...]) -> Array:
        value = numbers(f"reference_limits.{name}", limits.get(name, default), *shapes)
        if not (value > 0.0).all():
            worst = float(value.min())
            field = f"reference_limits.{name}"
            raise InputError(f"{field} is {worst}, expected positive numbers", field, worst)
        return value

    n = robot.nv
    if "velocity" in limits:
        data.speed[:] = np.minimum(own.speed, of("velocity", 0.0, (), (n,)))
    if "acceleration" in limits:
        data.acceleration[:] = of("acceleration", 0.0, (), (n,))
        data.jerk[:] = data.acceleration / ACCELERATION_TIME
    if "jerk" in limits:
        data.jerk[:] = of("jerk", 0.0, (), (n,))
    data.load_share[:] = of("load", LOAD_SHARE, ())
    speeds = [of(x, 0.0, ()) if x in limits else math.nan for x in ("angular", "linear")]
    for motion in data.motions:
        if motion.kind != JOINTS:
            frame = None if motion.kind == COM else motion.frame
            motion.limits = frame_limits(robot, frame, np.array(speeds))
    for plane in data.planes:
        plane.speed = frame_limits(robot, plane.frame, np.array(speeds))[1]


def frame_limits(robot: Robot, frame: Any, given: Array) -> Array:
    """(6,) largest speeds, angular (rad/s) and linear (m/s), those with which jumps are closed, and
    the rates 1/s and 1/s² at which they change, in units of the speeds. `frame` is a record of
    `FRAME`, None for the center of mass; `given` (2,) replaces speeds, NaN: not given."""
    most, typical, rate = FLOATING, FLOATING, 1.0 / SPEED_TIME
    if robot.model.base != "floating":
        own = joint_limits(robot)
        speed = np.minimum(own.speed, MAX_JOINT_SPEED)
        J = np.array([jacobian(robot, q, frame) for q in poses_of(robot).q])
        most = np.array([fastest(part * speed) for part in (J[:, :3], J[:, 3:])])
        moves, rate = most > 1e-6, float(np.median(own.acceleration / own.speed))
        taken = np.abs(np.linalg.pinv(J, 1e-3)) / speed[:, None]  # of joints, by each axis
        straight = 1.0 / np.maximum(taken.max(axis=1), 1e-12)
        typical = np.median(straight.reshape(-1, 2, 3), axis=(0, 2))
        most, typical = (np.where(moves, x, FLOATING) for x in (most, np.minimum(typical, most)))
    most, typical = (np.where(np.isfinite(given), given, x) for x in (most, typical))
    return np.array([*most, *typical, rate, rate / ACCELERATION_TIME])


def jacobian(robot: Robot, q: Array, frame: Any) -> Array:
    """(6, nv) of a frame, or of the center of mass, which does not turn."""
    if frame is None:
        return np.vstack([np.zeros((3, robot.nv)), robot.center_of_mass_jacobian(q)])
    tree = robot.tree
    J = np.empty((1, 6, tree.nv_free))
    records = np.array([frame], frame.dtype).view(np.recarray)
    COMPILED.frame_jacobians(tree.handle, tree.q(q), records, HYBRID, J)
    return np.asarray(tree.projected("rows", J[0], None))


def fastest(A: Array) -> float:
    """The largest ‖A x‖ with |x| ≤ 1 element by element, over matrices (N, 3, nv): for a direction
    u that is x = sign(Aᵀ u), for x the direction of A x, in turn."""
    u = np.linalg.svd(A)[0][:, :, 0]
    for _ in range(4):
        reached = np.einsum("nij,nj->ni", A, np.sign(np.einsum("nij,ni->nj", A, u)))
        size = np.linalg.norm(reached, axis=1)
        u = reached / np.maximum(size, 1e-300)[:, None]
    return float(size.max())
