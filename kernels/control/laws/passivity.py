"""Passivity-based tracking of Slotine and Li: τ = M a_r + C v_r + g − D s.

With e = q − q_ref, ė = v − v_ref the reference velocity v_r = v_ref − Λ e draws the error in, and
s = v − v_r = ė + Λ e is what is left to brake. Because Ṁ = C + Cᵀ, the storage ½ sᵀ M s falls by
exactly sᵀ D s; where s is zero, e decays with the rates Λ. C v_r is computed without forming C.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.gains import known, matrix
from torqued.kernels.control.law import (
    Array,
    Fields,
    Gains,
    Law,
    Prepared,
    a_ref,
    expand_state,
    expand_v,
    fixed_base,
    inner,
    joint_error,
    joint_references,
    law,
    open_control,
    port,
    power_outputs,
    put_power,
    q_ref,
    row,
    times,
    v_ref,
    velocity,
)
from torqued.kernels.control.laws.pd_plus import feed_forward
from torqued.kernels.control.typical_inertia import typical_inertia
from torqued.kernels.dynamics.tracking import carry_error

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: 1/s. Together they make a double pole, and a loop that a delay of some milliseconds leaves alone.
DEFAULT_BANDWIDTH = 20.0


def gains(robot: Robot, given: Fields, fields: Fields) -> Gains:
    """`bandwidth` Λ (1/s) and `damping` D (N m s/rad): number, (nv,) or (nv, nv), positive.

    By default D suits each joint's typical inertia.
    """
    known(given, ("bandwidth", "damping"))
    bandwidth = matrix(given, "bandwidth", DEFAULT_BANDWIDTH, robot.nv)
    damping = matrix(given, "damping", default_damping(robot), robot.nv)
    return {"bandwidth": bandwidth, "damping": damping}


def default_damping(robot: Robot) -> Array:
    typical = typical_inertia(robot)
    return typical.rate(DEFAULT_BANDWIDTH) * typical.diagonal


def prepare(robot: Robot, fields: Fields) -> Prepared:
    fixed_base(robot, "passivity")
    packed = gains(robot, fields.get("gains", {}), fields)
    return Prepared(packed, joint_references(robot), power_outputs(robot))


LAW = Law("passivity_torque", prepare, gains)


@kernel
def sliding_references(work, sizes, data, s, v_r, a_r):
    """s = ė + Λ e, v_r = v_ref − Λ e and a_r = a_ref − Λ ė; needs expand_state."""
    v, wanted, given = velocity(sizes, data), v_ref(sizes, data), a_ref(sizes, data)
    joint_error(work, sizes, data, q_ref(sizes, data), s)
    times(data.gains, 0, s, v_r)
    for k in range(sizes.nv):
        s[k] = v[k] - wanted[k]
    times(data.gains, 0, s, a_r)
    for k in range(sizes.nv):
        s[k] += v_r[k]
        v_r[k] = wanted[k] - v_r[k]
        a_r[k] = given[k] - a_r[k]


@law
def passivity_torque(handle, address):
    """Returns status bits."""
    work, _, sizes, data = open_control(handle, address)
    n = sizes.nv
    s, tau = port(sizes, data), data.out[:n]
    v_r, a_r, braking = row(sizes, data, 0), row(sizes, data, 1), row(sizes, data, 2)
    expand_state(sizes, data)
    sliding_references(work, sizes, data, s, v_r, a_r)
    feed_forward(work, data, v_r, a_r, tau)
    times(data.gains, n * n, s, braking)
    for k in range(n):
        tau[k] -= braking[k]
    expand_v(data, s, data.s_free)
    put_power(sizes, data, 0.5 * carry_error(work, data.s_free), inner(s, braking), 0.0)
    return 0
