"""PD+ (Paden and Panja): τ = M a_ref + C v_ref + g − K σ(e) − D(q) ė, e = q − q_ref, ė = v − v_ref.

Tracks moving references without cancelling the robot's own dynamics. Because Ṁ = C + Cᵀ, the
storage ½ ėᵀ M ė + P(e), with P the potential of the spring K σ(e) (saturation.py), falls by exactly
ėᵀ D(q) ė, D(q) = D + r M(q): passive for any reference. Errors that are large, and all of a joint
whose spring is weak, are drawn in with the speed w(e) besides: v_r = v_ref − w(e) then takes the
place of v_ref and s = v − v_r that of ė, and wᵀ K σ is taken away too.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torqued.kernels.control.law import (
    Fields,
    Law,
    Prepared,
    a_ref,
    expand_state,
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
from torqued.kernels.control.laws.feed_forward import feed_forward, fit
from torqued.kernels.control.laws.pd import REPLACES, SCALING, gains, linearization
from torqued.kernels.control.saturation import bounded_spring, fill_approach

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot


def prepare(robot: Robot, fields: Fields) -> Prepared:
    fixed_base(robot, "pd_plus")
    packed = gains(robot, fields.get("gains", {}), fields)
    return Prepared(packed, joint_references(robot), power_outputs(robot))


LAW = Law(
    "pd_plus_torque",
    prepare,
    gains,
    linearization=linearization,
    scaling=SCALING,
    replaces=REPLACES,
)


@law
def pd_plus_torque(handle, address):
    """Returns status bits."""
    work, _, sizes, data = open_control(handle, address)
    n = sizes.nv
    e, v_r, a = row(sizes, data, 0), row(sizes, data, 1), row(sizes, data, 2)
    spring, braking, free = row(sizes, data, 3), row(sizes, data, 4), row(sizes, data, 5)
    tau, s, v, wanted = data.out[:n], port(sizes, data), velocity(sizes, data), v_ref(sizes, data)
    given = a_ref(sizes, data)
    r, bounds = data.gains[2 * n * n], data.gains[2 * n * n + 1 :]
    limits, speeds, rates = bounds[:n], bounds[n : 2 * n], bounds[2 * n :]
    expand_state(sizes, data)
    joint_error(work, sizes, data, q_ref(sizes, data), e)
    fill_approach(data.gains, limits, speeds, rates, e, v_r, a)
    energy = bounded_spring(data.gains, 0, limits, e, spring)
    taken = inner(v_r, spring)
    for k in range(n):
        v_r[k] = wanted[k] - v_r[k]
        s[k] = v[k] - v_r[k]
        a[k] = given[k] - a[k] * (v[k] - wanted[k]) - r * s[k]
    motion = feed_forward(work, data, v_r, a, tau)
    times(data.gains, n * n, s, braking)
    for k in range(n):
        tau[k] -= spring[k] + braking[k]
    dissipation = inner(s, braking) + r * motion + taken
    put_power(sizes, data, 0.5 * motion + energy, dissipation, 0.0)
    return fit(work, data, v_r, tau, e, free)
