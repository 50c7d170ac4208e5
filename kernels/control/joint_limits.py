"""How fast the joints of a robot may be asked to move, and what they weigh at the least.

A URDF knows speeds and efforts. Accelerations follow from the efforts and the inertia that joints
have where they are heaviest, so that a reference within its limits is one that torques can follow.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from torqued.kernels.control.references.motions import Array

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


def turns(robot: Robot) -> Array:
    """(nv,) 2π for joints that turn on and on, 0 for all others and those that others follow."""
    mimics, dofs = robot.model.mimics, robot.model.dofs
    found = np.zeros(robot.nv_free)
    for joint in robot.model.joints:
        endless = joint.type == "revolute" and np.isinf([dofs.lower[joint.q], dofs.upper[joint.q]])
        if joint.type == "continuous" or np.all(endless):
            found[joint.v] = 2.0 * np.pi
    alone = np.bincount(mimics.v_index, minlength=robot.nv) == 1
    return np.where(alone, found[mimics.leaders_v], 0.0)
