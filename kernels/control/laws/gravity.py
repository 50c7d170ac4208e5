"""Gravity compensation with damping: τ = g(q) − D v − r M(q) v.

The robot floats where it is put and slows down by itself. The stored energy ½ vᵀ M v falls by
vᵀ D v + r vᵀ M v: the law cannot inject any. A little damping has to be: gravity that is
compensated some milliseconds late pushes what moves, by up to 2/s on arms.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torqued.common.errors import InputError
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
    put_power,
    row,
    times,
    velocity,
)
from torqued.kernels.control.laws.feed_forward import feed_forward
from torqued.kernels.control.poses import Poses
from torqued.kernels.dynamics.tracking import carry_error
from torqued.kernels.input_checks import numbers

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: 1/s, of damping where none is given.
RATE = 5.0


def gains(robot: Robot, given: Fields, fields: Fields) -> Gains:
    """`damping`: number, (nv,) or (nv, nv), N m s/rad (N s/m), zero or positive; default 0.

    `damping_rate` r, 1/s, zero or positive: at which speeds decay, whatever the pose; default 5
    where no damping is given. A floating base has none: nothing is known of what it stands on.
    """
    known(given, ("damping", "damping_rate"))
    has_own = "damping" in given or robot.model.base == "floating"
    rate = numbers("gains.damping_rate", given.get("damping_rate", 0.0 if has_own else RATE), ())
    if rate < 0.0:
        raise InputError(f"gains.damping_rate is {rate}, expected no negative number", "gains")
    damping = matrix(given, "damping", 0.0, robot.nv, definite=False)
    return {"damping": damping, "damping_rate": rate}


def prepare(robot: Robot, fields: Fields) -> Prepared:
    return Prepared(gains(robot, fields.get("gains", {}), fields), outputs=power_outputs(robot))


def linearization(robot: Robot, gains: Gains, fields: Fields, poses: Poses) -> tuple[Array, Array]:
    return np.zeros_like(poses.M), gains["damping"] + gains["damping_rate"] * poses.M


LAW = Law(
    "gravity_torque",
    prepare,
    gains,
    linearization=linearization,
    scaling={"damping": 1, "damping_rate": 1},
)


@law
def gravity_torque(handle, address):
    """Returns status bits."""
    work, _, sizes, data = open_control(handle, address)
    tau, v, braking = data.out[: sizes.nv], velocity(sizes, data), row(sizes, data, 0)
    slowing, still = row(sizes, data, 1), row(sizes, data, 2)
    rate = data.gains[sizes.nv * sizes.nv]
    expand_state(sizes, data)
    for k in range(sizes.nv):
        slowing[k], still[k] = -rate * v[k], 0.0
    feed_forward(work, data, still, slowing, tau)  # g − r M v
    times(data.gains, 0, v, braking)
    copy(v, port(sizes, data))
    for k in range(sizes.nv):
        tau[k] -= braking[k]
    energy = carry_error(work, data.v_free)  # vᵀ M v
    put_power(sizes, data, 0.5 * energy, inner(v, braking) + rate * energy, 0.0)
    return 0
