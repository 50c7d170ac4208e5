"""Gravity compensation with damping: τ = g(q) − D v.

The robot floats where it is put and slows down by itself. The stored energy ½ vᵀ M v falls by
vᵀ D v: the law cannot inject any.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torqued.kernels.control.gains import known, matrix
from torqued.kernels.control.law import (
    Array,
    Fields,
    Gains,
    Law,
    Prepared,
    copy,
    expand_state,
    inner,
    law,
    open_control,
    port,
    power_outputs,
    project,
    put_power,
    row,
    times,
    velocity,
)
from torqued.kernels.control.poses import Poses
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.kinematics import place
from torqued.kernels.dynamics.rnea import fill_gravity
from torqued.kernels.dynamics.tracking import carry_error

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot


def gains(robot: Robot, given: Fields, fields: Fields) -> Gains:
    """`damping`: number, (nv,) or (nv, nv), N m s/rad (N s/m), zero or positive; default 0."""
    known(given, ("damping",))
    return {"damping": matrix(given, "damping", 0.0, robot.nv, definite=False)}


def prepare(robot: Robot, fields: Fields) -> Prepared:
    return Prepared(gains(robot, fields.get("gains", {}), fields), outputs=power_outputs(robot))


def linearization(robot: Robot, gains: Gains, fields: Fields, poses: Poses) -> tuple[Array, Array]:
    return np.zeros_like(poses.M), np.broadcast_to(gains["damping"], poses.M.shape)


LAW = Law("gravity_torque", prepare, gains, linearization=linearization, scaling={"damping": 1})


@law
def gravity_torque(handle, address):
    """Returns status bits."""
    work, _, sizes, data = open_control(handle, address)
    expand_state(sizes, data)
    place(work, data.q_free)
    composite_inertias(work)
    fill_gravity(work, data.tau_free)
    tau, v, braking = data.out[: sizes.nv], velocity(sizes, data), row(sizes, data, 0)
    project(data, data.tau_free, tau)
    times(data.gains, 0, v, braking)
    copy(v, port(sizes, data))
    for k in range(sizes.nv):
        tau[k] -= braking[k]
    put_power(sizes, data, 0.5 * carry_error(work, data.v_free), inner(v, braking), 0.0)
    return 0
