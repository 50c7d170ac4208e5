"""Gravity compensation with damping: τ = g(q) − d ∘ v.

The robot floats where it is put and slows down by itself. The stored energy ½ vᵀ M v falls by
vᵀ d v: the law cannot inject any.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from torqued.kernels import InputError, Robot
from torqued.kernels.composite import composite_inertias
from torqued.kernels.inputs import numbers
from torqued.kernels.kinematics import place
from torqued.kernels.rnea import fill_gravity
from torqued.server.compiling import kernel
from torqued.server.laws.law import Array, Law, expand_state, project_torque

GRAVITY = 1


def gains(robot: Robot, given: Mapping[str, Any]) -> Array:
    """`damping`: one number for all velocities or one for each, N m s/rad (N s/m); default 0."""
    for name in given:
        if name != "damping":
            raise InputError(f"gains: {name!r} is unknown, allowed: 'damping'", "gains", name)
    damping = numbers("gains.damping", given.get("damping", 0.0), (), (robot.nv,))
    damping = np.broadcast_to(damping, (robot.nv,)).copy()
    if (damping < 0.0).any():
        worst = float(damping.min())
        raise InputError(
            f"gains.damping is {worst}, expected zero or a positive number", "gains", worst
        )
    return damping


LAW = Law(GRAVITY, references=lambda robot: 0, gains=gains)


@kernel
def gravity_torque(work, sizes, data):
    """Returns status bits."""
    expand_state(sizes, data)
    place(work, data.q_free)
    composite_inertias(work)
    fill_gravity(work, data.out_free)
    project_torque(sizes, data)
    for k in range(sizes.nv):
        data.out[k] -= data.gains[k] * data.state[sizes.nq + k]
    return 0
