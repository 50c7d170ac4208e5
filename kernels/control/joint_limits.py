"""How fast the joints of a robot may be asked to move, and what they weigh at the least.

A URDF knows speeds and efforts. Accelerations follow from the efforts and the inertia that joints
have where they are heaviest, so that a reference within its limits is one that torques can follow.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from torqued.common.errors import InputError
from torqued.kernels.control.references.motions import Array
from torqued.kernels.control.references.pace import LOAD_SHARE
from torqued.kernels.input_checks import known_keys, numbers

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Configurations within limits that are looked at; always the same ones.
SAMPLES = 32
#: rad/s or m/s, of joints whose description knows no speed.
SPEED = 3.0
#: s in which a joint may reach its largest speed, and its largest acceleration.
SPEED_TIME, ACCELERATION_TIME = 0.2, 0.05
#: Share of the effort that a reference's acceleration may take.
EFFORT_SHARE = 0.5
#: Angular and linear speed of frames, rad/s and m/s.
FRAME_SPEEDS = (2.5, 1.0)
NAMES = ("velocity", "acceleration", "jerk", "load", "angular", "linear")


@dataclass(frozen=True)
class JointLimits:
    """Each (nv,), of single joints; infinite or zero where a velocity belongs to none."""

    lower: Array  # rad or m
    upper: Array
    coordinate: NDArray[np.int64]  # place in q, -1 where a velocity has none
    wraps: NDArray[np.int64]  # 1 for joints that turn without end
    speed: Array
    acceleration: Array
    jerk: Array
    inertia: Array  # kg m² or kg, the least that a joint shows while all others are free


_KNOWN: WeakKeyDictionary[Robot, JointLimits] = WeakKeyDictionary()


def joint_limits(robot: Robot) -> JointLimits:
    """Computed once for each robot."""
    if robot not in _KNOWN:
        _KNOWN[robot] = _joint_limits(robot)
    return _KNOWN[robot]


def _joint_limits(robot: Robot) -> JointLimits:
    nv = robot.nv
    lower, upper = np.full(nv, -np.inf), np.full(nv, np.inf)
    coordinate, wraps = np.full(nv, -1, np.int64), np.zeros(nv, np.int64)
    mimics, limits = robot.model.mimics, robot.limits
    leaders_q, leaders_v = mimics.leaders_q.tolist(), mimics.leaders_v.tolist()
    for joint in robot.model.joints:
        if joint.nq == joint.nv == 1 and joint.v in leaders_v:
            i, j = leaders_v.index(joint.v), leaders_q.index(joint.q)
            lower[i], upper[i], coordinate[i] = limits.lower[j], limits.upper[j], j
            wraps[i] = joint.type == "continuous"
    speed = limits.velocity.copy()
    speed[~(np.isfinite(speed) & (speed > 0.0))] = SPEED
    heaviest, lightest = inertias(robot)
    effort = limits.effort
    able = np.where(np.isfinite(effort) & (effort > 0.0), EFFORT_SHARE * effort, np.inf)
    acceleration = np.minimum(speed / SPEED_TIME, able / np.maximum(heaviest, 1e-12))
    return JointLimits(
        lower,
        upper,
        coordinate,
        wraps,
        speed,
        acceleration,
        acceleration / ACCELERATION_TIME,
        lightest,
    )


def inertias(robot: Robot) -> tuple[Array, Array]:
    """(nv,) the most that joints weigh while all others are held, the least while all are free."""
    rng = np.random.default_rng(0)
    heaviest, lightest = np.zeros(robot.nv), np.full(robot.nv, np.inf)
    for _ in range(SAMPLES):
        q = robot.random_state(rng)[0]
        M = robot.mass_matrix(q)
        heaviest = np.maximum(heaviest, np.diag(M))
        lightest = np.minimum(lightest, 1.0 / np.diag(np.linalg.inv(M)))
    return heaviest, lightest


def fill_reference_limits(robot: Robot, given: Any, data: Any) -> None:
    """Limits of references: the robot's, or `reference_limits`, a map of some of them; false for
    none on what is given, as of a program with its own limits.

    velocity, acceleration, jerk: number or (nv,); load: share of the efforts that weight may take
    in poses that are moved to; angular (rad/s) and linear (m/s): speeds of frames.
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
    angular, linear = of("angular", FRAME_SPEEDS[0], ()), of("linear", FRAME_SPEEDS[1], ())
    rate = 1.0 / SPEED_TIME
    data.frame_limits[:] = angular, linear, rate, rate / ACCELERATION_TIME
