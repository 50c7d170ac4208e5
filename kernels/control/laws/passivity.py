"""Passivity-based tracking of Slotine and Li: τ = M a_r + C v_r + g − D(q) s.

With e = q − q_ref the reference velocity v_r = v_ref − Λ σ(e) draws the error in, no faster than
joints may move (saturation.py), and s = v − v_r is what is left to brake. Because Ṁ = C + Cᵀ, the
storage ½ sᵀ M s falls by exactly sᵀ D(q) s, D(q) = D + r M(q); where s is zero, e decays with the
rates Λ. With r alone s decays with this rate at every pose, however light or heavy it makes the
joints. C v_r is computed without forming C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control import joint_gains, law
from torqued.kernels.control.gains import matrix
from torqued.kernels.control.laws.feed_forward import feed_forward, fit
from torqued.kernels.control.laws.pd import error_limit, whole_damping
from torqued.kernels.control.poses import Poses
from torqued.kernels.control.saturation import saturated, slope
from torqued.kernels.input_checks import known_keys

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: 1/s. With a damping rate of the same size they make a double pole.
DEFAULT_BANDWIDTH = 20.0
DEFAULT_RATE = 20.0


def gains(robot: Robot, given: law.Fields, fields: law.Fields) -> law.Gains:
    """Rates at which errors decay:

    bandwidth       Λ, 1/s: number, (nv,) or (nv, nv), positive
    damping_rate    1/s: r of D(q) = damping + r M(q)
    damping         N m s/rad: number, (nv,) or (nv, nv), positive; given alone, r is zero
    error_limit     rad, number or (nv,): errors draw as fast as this one and no faster
    """
    known_keys("gains", given, ("bandwidth", "damping", "damping_rate", "error_limit"))
    n = robot.nv
    bandwidth = matrix(given, "bandwidth", DEFAULT_BANDWIDTH, n)
    damping, rate = whole_damping(
        given, n, np.zeros((n, n)), 0.0 if "damping" in given else DEFAULT_RATE
    )
    return {
        "bandwidth": bandwidth,
        "damping": damping,
        "damping_rate": rate,
        "error_limit": error_limit(given, default_limit(robot, bandwidth), n),
    }


def default_limit(robot: Robot, bandwidth: law.Array) -> law.Array:
    """(nv,) rad that Λ makes the largest speeds of."""
    speeds = np.minimum(joint_gains.speed_bound(robot), joint_gains.UNBOUNDED)
    limit = speeds / np.diag(bandwidth)
    with np.errstate(over="ignore"):  # rates beyond all numbers leave no error at all
        limit *= min(1.0, float((speeds / (np.abs(bandwidth) @ limit)).min()))
    return np.where(np.isinf(joint_gains.speed_bound(robot)), np.inf, limit)


def linearization(
    robot: Robot, gains: law.Gains, fields: law.Fields, poses: Poses
) -> tuple[law.Array, law.Array]:
    D = gains["damping"] + gains["damping_rate"] * poses.M
    return D @ gains["bandwidth"], D + poses.M @ gains["bandwidth"]


SCALING = {"bandwidth": 1, "damping": 1, "damping_rate": 1}
REPLACES = {"damping": ("damping_rate",), "bandwidth": ("error_limit",)}


LAW = law.joint_law(
    "passivity",
    "passivity_torque",
    gains,
    linearization=linearization,
    scaling=SCALING,
    replaces=REPLACES,
)


@kernel
def sliding_references(work, sizes, data, s, v_r, a_r):
    """s = v − v_r, v_r = v_ref − Λ σ(e) and a_r = dv_r/dt; needs expand_state."""
    n = sizes.nv
    v, wanted, given = law.velocity(sizes, data), law.v_ref(sizes, data), law.a_ref(sizes, data)
    limits = data.gains[2 * n * n + 1 :]
    law.joint_error(work, sizes, data, law.q_ref(sizes, data), a_r)
    for k in range(n):
        s[k] = slope(a_r[k], limits[k]) * (v[k] - wanted[k])  # dσ/dt
        a_r[k] = saturated(a_r[k], limits[k])
    law.times(data.gains, 0, a_r, v_r)
    law.times(data.gains, 0, s, a_r)
    for k in range(n):
        v_r[k] = wanted[k] - v_r[k]
        s[k] = v[k] - v_r[k]
        a_r[k] = given[k] - a_r[k]


@law.law
def passivity_torque(handle, address):
    """Returns status bits."""
    work, _, sizes, data = law.open_control(handle, address)
    n = sizes.nv
    s, tau, r = law.port(sizes, data), data.out[:n], data.gains[2 * n * n]
    v_r, a_r, braking = data.rows[0], data.rows[1], data.rows[2]
    law.expand_state(sizes, data)
    sliding_references(work, sizes, data, s, v_r, a_r)
    for k in range(n):
        a_r[k] -= r * s[k]  # the damping r M(q) is an acceleration like the others
    motion = feed_forward(work, data, v_r, a_r, tau)
    law.times(data.gains, n * n, s, braking)
    for k in range(n):
        tau[k] -= braking[k]
    law.put_power(sizes, data, 0.5 * motion, law.inner(s, braking) + r * motion, 0.0)
    return fit(work, data, v_r, tau, a_r, braking)
