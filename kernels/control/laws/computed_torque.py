"""Computed torque: τ = M (a_ref − K σ(e) − D ė) + C v + g.

What it leaves is ë + D ė + K σ(e) = M⁻¹ τ_ext with e = q − q_ref and ė = v − v_ref: every joint
behaves like the same mass on a spring, as far as the model is right. The price is that inertia is
cancelled: an external torque meets M⁻¹, so that storage ½ ėᵀ ė + P(e), with P the potential of the
spring K σ(e) (saturation.py), is passive at the port M⁻¹ ė, not at the velocity that people push
with.

Where motors are too weak, the acceleration is scaled down as a whole: torques that are cut joint by
joint turn it into another direction, and an arm that is cut for long spins up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torqued.kernels.control import joint_gains, law
from torqued.kernels.control.gains import matrix
from torqued.kernels.control.laws.feed_forward import feed_forward, scale_into
from torqued.kernels.control.laws.pd import error_limit
from torqued.kernels.control.poses import Poses
from torqued.kernels.control.saturation import bounded_spring
from torqued.kernels.dynamics.articulated import OK
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.crba import fill_mass_matrix
from torqued.kernels.input_checks import known_keys
from torqued.kernels.primitives.dense import cholesky, cholesky_solve

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Of every joint, at every pose.
DEFAULT_RATIO = 1.0


def gains(robot: Robot, given: law.Fields, fields: law.Fields) -> law.Gains:
    """`stiffness` (1/s²) and `damping` (1/s): number, (nv,) or (nv, nv), positive; `error_limit`
    rad, number or (nv,): errors pull as much as this one and no more."""
    known_keys("gains", given, ("stiffness", "damping", "error_limit"))
    n = robot.nv
    stiffness = matrix(given, "stiffness", joint_gains.FREQUENCY**2, n)
    damping = matrix(given, "damping", 2 * DEFAULT_RATIO * np.sqrt(np.diag(stiffness)), n)
    with np.errstate(over="ignore"):  # of a limit that is beyond all errors
        limit = joint_gains.speed_bound(robot) * np.diag(damping) / np.diag(stiffness)
    return {
        "stiffness": stiffness,
        "damping": damping,
        "error_limit": error_limit(given, limit, n),
    }


def linearization(
    robot: Robot, gains: law.Gains, fields: law.Fields, poses: Poses
) -> tuple[law.Array, law.Array]:
    return poses.M @ gains["stiffness"], poses.M @ gains["damping"]


LAW = law.joint_law(
    "computed_torque",
    "computed_torque",
    gains,
    linearization=linearization,
    scaling={"stiffness": 2, "damping": 1},
    replaces={"damping": ("error_limit",)},
)


@law.law
def computed_torque(handle, address):
    """Returns status bits."""
    work, _, sizes, data = law.open_control(handle, address)
    n = sizes.nv
    e, rate, a = data.rows[0], data.rows[1], data.rows[2]
    spring, braking, force = data.rows[3], data.rows[4], data.rows[5]
    v, wanted, given = law.velocity(sizes, data), law.v_ref(sizes, data), law.a_ref(sizes, data)
    tau, y = data.out[:n], law.port(sizes, data)
    law.expand_state(sizes, data)
    law.joint_error(work, sizes, data, law.q_ref(sizes, data), e)
    for k in range(n):
        rate[k] = v[k] - wanted[k]
    energy = bounded_spring(data.gains, 0, data.gains[2 * n * n :], e, spring)
    law.times(data.gains, n * n, rate, braking)
    for k in range(n):
        a[k] = given[k] - spring[k] - braking[k]
    feed_forward(work, data, v, a, tau)
    composite_inertias(work)
    M_free, M = law.square(data, 0, sizes.nv_free), law.square(data, 1, n)
    fill_mass_matrix(work, M_free)
    law.project_square(data, M_free, M)
    for i in range(n):
        force[i] = law.inner(M[i], a)
    status = scale_into(data.effort, force, tau)
    law.copy(rate, y)
    if cholesky(M) == OK:
        cholesky_solve(M, y)
    law.put_power(sizes, data, 0.5 * law.inner(rate, rate) + energy, law.inner(rate, braking), 0.0)
    return status
