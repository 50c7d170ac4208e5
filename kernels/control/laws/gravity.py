"""Gravity compensation with damping: τ = g(q) − D v − r M(q) v.

The robot floats where it is put and slows down by itself. The stored energy ½ vᵀ M v falls by
vᵀ D v + r vᵀ M v: the law cannot inject any. A little damping has to be: gravity that is
compensated t seconds late pushes what falls, by t times the eigenvalues of M⁻¹ ∂g/∂q. That is up to
2/s on arms, and 12/s where much hangs on little inertia, as a head on its neck.
"""

from __future__ import annotations

from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.control import law
from torqued.kernels.control.gains import matrix
from torqued.kernels.control.laws.feed_forward import feed_forward
from torqued.kernels.control.poses import Poses, poses_of
from torqued.kernels.input_checks import known_keys, numbers

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: 1/s, of damping where none is given, at least.
RATE = 5.0
#: s, by which gravity may be compensated late: two periods of delay, one of holding and filtering
#: a torque, and one to spare.
LATE = 4e-3

_STEEPEST: WeakKeyDictionary[Robot, float] = WeakKeyDictionary()


def default_rate(robot: Robot) -> float:
    """1/s: more than gravity pushes that comes late."""
    if robot not in _STEEPEST:
        poses = poses_of(robot)
        slopes = np.array([gravity_slope(robot, q) for q in poses.q])
        _STEEPEST[robot] = float(np.abs(np.linalg.eigvals(np.linalg.solve(poses.M, slopes))).max())
    return max(RATE, LATE * _STEEPEST[robot])


def gravity_slope(robot: Robot, q: law.Array) -> law.Array:
    """∂g/∂q (nv, nv)."""
    still = np.zeros(robot.nv)
    return np.asarray(robot.inverse_dynamics_derivatives(q, still, still)[0])


def gains(robot: Robot, given: law.Fields, fields: law.Fields) -> law.Gains:
    """`damping`: number, (nv,) or (nv, nv), N m s/rad (N s/m), zero or positive; default 0.

    `damping_rate` r, 1/s, zero or positive: at which speeds decay, whatever the pose. Where no
    damping is given it is 5, or more where gravity that comes late pushes more. A floating base has
    none: nothing is known of what it stands on.
    """
    known_keys("gains", given, ("damping", "damping_rate"))
    has_own = "damping" in given or robot.model.base == "floating"
    default = 0.0 if has_own or "damping_rate" in given else default_rate(robot)
    rate = numbers("gains.damping_rate", given.get("damping_rate", default), ())
    if rate < 0.0:
        raise InputError(
            f"gains.damping_rate is {rate}, expected zero or a positive number", "gains"
        )
    damping = matrix(given, "damping", 0.0, robot.nv, definite=False)
    return {"damping": damping, "damping_rate": rate}


def prepare(robot: Robot, fields: law.Fields) -> law.Prepared:
    return law.Prepared(
        gains(robot, fields.get("gains", {}), fields), outputs=law.power_outputs(robot)
    )


def linearization(
    robot: Robot, gains: law.Gains, fields: law.Fields, poses: Poses
) -> tuple[law.Array, law.Array]:
    return np.zeros_like(poses.M), gains["damping"] + gains["damping_rate"] * poses.M


LAW = law.Law(
    "gravity_torque",
    prepare,
    gains,
    linearization=linearization,
    scaling={"damping": 1, "damping_rate": 1},
)


@law.law
def gravity_torque(handle, address):
    """Returns status bits."""
    work, _, sizes, data = law.open_control(handle, address)
    tau, v, braking = data.out[: sizes.nv], law.velocity(sizes, data), data.rows[0]
    slowing, still = data.rows[1], data.rows[2]
    rate = data.gains[sizes.nv * sizes.nv]
    law.expand_state(sizes, data)
    for k in range(sizes.nv):
        slowing[k], still[k] = -rate * v[k], 0.0
    energy = feed_forward(work, data, still, slowing, tau)  # g − r M v, and vᵀ M v
    law.times(data.gains, 0, v, braking)
    law.copy(v, law.port(sizes, data))
    for k in range(sizes.nv):
        tau[k] -= braking[k]
    law.put_power(sizes, data, 0.5 * energy, law.inner(v, braking) + rate * energy, 0.0)
    return 0
