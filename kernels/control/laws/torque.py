"""A torque of the user's own, through all guards: τ = tau, the whole torque, with gravity in it.

It counts for the state that it comes with. A state without one gets g − D v − r M v, as `gravity`
has it, which the references in effect then have too. On a fixed base ½ vᵀ M v changes by the
reference's power vᵀ (tau − g).
"""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np

from torqued.kernels.control import law
from torqued.kernels.control.laws import gravity
from torqued.kernels.control.laws.feed_forward import feed_forward
from torqued.kernels.control.session_arrays import first_reference

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot


def prepare(robot: Robot, fields: law.Fields) -> law.Prepared:
    packed = gravity.gains(robot, fields.get("gains", {}), fields)
    return law.Prepared(packed, {"tau": np.zeros(robot.nv)}, law.power_outputs(robot))


LAW = replace(gravity.LAW, entry="given_torque", prepare=prepare)


@law.law
def given_torque(handle, address):
    """Returns status bits."""
    work, _, sizes, data = law.open_control(handle, address)
    n, is_given = sizes.nv, math.isfinite(data.command[0])
    tau, v, wanted = (
        data.out[:n],
        law.velocity(sizes, data),
        data.state[first_reference(sizes) :],
    )
    bias, braking, slowing, still = data.rows[0], data.rows[1], data.rows[2], data.rows[3]
    rate = 0.0 if is_given else data.gains[n * n]
    law.expand_state(sizes, data)
    for k in range(n):
        slowing[k], still[k] = -rate * v[k], 0.0
    energy = feed_forward(work, data, still, slowing, bias)  # g − r M v, and vᵀ M v
    law.times(data.gains, 0, v, braking)
    law.copy(v, law.port(sizes, data))
    for k in range(n):
        if not is_given:
            wanted[k] = bias[k] - braking[k]
        tau[k] = wanted[k] if k >= sizes.unactuated else 0.0
    if is_given:
        law.put_power(sizes, data, 0.5 * energy, 0.0, law.inner(v, tau) - law.inner(v, bias))
    else:
        lost = law.inner(v, braking) + rate * energy
        law.put_power(sizes, data, 0.5 * energy, lost, 0.0)
    return 0
