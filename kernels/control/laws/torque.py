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
    tau, v, g = data.out[: sizes.nv], law.velocity(sizes, data), data.rows[0]
    wanted = data.state[law.first_reference(sizes) :]
    if not math.isfinite(data.command[0]):
        gravity.fill_torque(work, sizes, data)
        law.copy(tau, wanted)
        return 0
    still = data.rows[1]
    still[:] = 0.0
    law.expand_state(sizes, data)
    energy = feed_forward(work, data, still, still, g)  # g, and vᵀ M v
    for k in range(sizes.nv):
        if k < sizes.unactuated:
            wanted[k] = 0.0
        tau[k] = wanted[k]
    law.copy(v, law.port(sizes, data))
    law.put_power(sizes, data, 0.5 * energy, 0.0, law.inner(v, tau) - law.inner(v, g))
    return 0
