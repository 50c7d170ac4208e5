"""How light each joint of a robot can feel, for springs that hold a posture."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from torqued.kernels.control.law import Array
from torqued.kernels.control.mass_inverse import configurations, mass_inverse

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Configurations that are looked at.
SAMPLES = 50
#: Of the inertias that a joint has there, the one that this share of them is below.
LIGHT = 0.1


_KNOWN: WeakKeyDictionary[Robot, Array] = WeakKeyDictionary()


def posture_inertia(robot: Robot) -> Array:
    """(nv,) what joints weigh where all others give way, kg m² or kg; rather their lightest.

    M ≥ diag(1 / (M⁻¹)ₖₖ) / n: a stiffness in proportion makes no combination of joints faster than
    each by itself by more than √n, however the robot stands. Computed once for each robot.
    """
    if robot not in _KNOWN:
        mobility = [np.diag(mass_inverse(robot, q)) for q in configurations(robot, SAMPLES)]
        inertia: Array = np.quantile(1.0 / np.array(mobility), LIGHT, axis=0)
        _KNOWN[robot] = inertia
    return _KNOWN[robot]
