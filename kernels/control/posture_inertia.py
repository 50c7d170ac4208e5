"""What joints weigh, for constant springs and dampers that hold a posture at any configuration."""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from torqued.kernels.control.law import Array
from torqued.kernels.control.mass_inverse import configurations, mass_inverse
from torqued.kernels.control.slow_modes import slowed

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Configurations that are looked at.
SAMPLES = 24
#: How many times lighter than each joint by itself joints may be together, at most.
SPREAD = 8.0

_KNOWN: WeakKeyDictionary[Robot, Array] = WeakKeyDictionary()


def posture_inertia(robot: Robot) -> Array:
    """(nv,) κ, kg m² or kg: the mean of M's diagonal, less where joints are lighter together.

    No eigenvalue of M⁻¹ diag(κ) exceeds `SPREAD` in any of the configurations, so that a stiffness
    κ ω² makes no mode faster than √SPREAD ω. Joints pay for a mode by their part in it: a light
    hand does not make legs soft. Zero for a floating base. Computed once for each robot.
    """
    if robot not in _KNOWN:
        _KNOWN[robot] = measure(robot)
    return _KNOWN[robot]


def measure(robot: Robot) -> Array:
    first = 6 if robot.model.base == "floating" else 0
    if robot.nv == first:
        return np.zeros(robot.nv)
    poses = configurations(robot, SAMPLES)
    inverse = np.array([mass_inverse(robot, q)[first:, first:] for q in poses])
    typical = np.mean([np.diag(robot.mass_matrix(q))[first:] for q in poses], axis=0)
    found = np.zeros(robot.nv)
    found[first:] = slowed(inverse, typical, SPREAD)
    return found
