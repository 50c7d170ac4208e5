"""The minimum time of a movement, by the limits of references.

SPEED, ACCELERATION and JERK are the maxima of a polynomial of the fifth degree from rest to rest,
for a distance of 1 in a time of 1.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from torqued.kernels.control.references.limiter import CATCHING_UP
from torqued.kernels.control.references.motions import JOINTS

if TYPE_CHECKING:
    from torqued.kernels.control.controller import Controller

SPEED, ACCELERATION, JERK = 15 / 8 / CATCHING_UP, 10 / math.sqrt(3), 60.0

Array = NDArray[np.float64]


def min_seconds(controller: Controller, target: Array) -> float:
    """s, of the movement to a target (NaN: not given) from the references in effect."""
    data, robot = controller.data, controller.robot
    now = data.state[controller.first_reference :]
    minimum = 0.0
    for motion in data.motions:
        if motion.kind == JOINTS:
            part = slice(motion.position, motion.position + robot.nq)
            way = target[part] - now[part]
            for k, i in enumerate(data.coordinate):
                if i >= 0 and math.isfinite(way[i]):
                    x = abs(math.remainder(way[i], math.tau) if data.wraps[k] else way[i])
                    by_joint = seconds(x, data.speed[k], data.acceleration[k], data.jerk[k])
                    minimum = max(minimum, by_joint)
        else:
            _, _, angular, linear, rate, bend = motion.limits
            turn = shift = 0.0
            if motion.orientation >= 0 and math.isfinite(target[motion.orientation]):
                part = slice(motion.orientation, motion.orientation + 4)
                a, b = target[part], now[part]
                c = abs(float(a @ b)) / float(np.linalg.norm(a) * np.linalg.norm(b))
                turn = 2.0 * math.acos(min(1.0, c))
            if motion.position >= 0 and math.isfinite(target[motion.position]):
                part = slice(motion.position, motion.position + 3)
                shift = float(np.linalg.norm(target[part] - now[part]))
            if turn > 0.0:  # along a screw: the arc, not its chord
                shift *= 0.5 * turn / math.sin(0.5 * turn)
            arc = max(turn / angular, shift / linear)
            minimum = max(minimum, seconds(arc, 1.0, rate, bend))
    return minimum


def seconds(way: float, speed: float, acceleration: float, jerk: float) -> float:
    """s for a distance by itself."""
    by_speed, by_force = SPEED * way / speed, math.sqrt(ACCELERATION * way / acceleration)
    return float(max(by_speed, by_force, math.cbrt(JERK * way / jerk)))
