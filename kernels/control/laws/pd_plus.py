"""PD+ (Paden and Panja): τ = M a_ref + C v_ref + g − K e − D ė, with e = q − q_ref, ė = v − v_ref.

Tracks moving references without cancelling the robot's own dynamics. Because Ṁ = C + Cᵀ, the
storage ½ ėᵀ M ė + ½ eᵀ K e falls by exactly ėᵀ D ė: passive for any reference.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import (
    Fields,
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
    project,
    put_power,
    q_ref,
    row,
    times,
    v_ref,
    velocity,
)
from torqued.kernels.control.laws.pd import gains
from torqued.kernels.dynamics.kinematics import move, place
from torqued.kernels.dynamics.rnea import add_armature, collect_forces
from torqued.kernels.dynamics.tracking import carry_error, carry_reference, tracking_forces

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot


def prepare(robot: Robot, fields: Fields) -> Prepared:
    fixed_base(robot, "pd_plus")
    packed = gains(robot, fields.get("gains", {}), fields)
    return Prepared(packed, joint_references(robot), power_outputs(robot))


LAW = Law("pd_plus_torque", prepare, gains)


@kernel
def feed_forward(work, data, w, a, tau):
    """τ = M a + C(q, v) w + g for a reference velocity w and acceleration a; needs expand_state."""
    expand_v(data, w, data.w_free)
    expand_v(data, a, data.a_free)
    place(work, data.q_free)
    move(work, data.v_free)
    carry_reference(work, data.w_free, data.a_free)
    tracking_forces(work)
    collect_forces(work, data.tau_free)
    add_armature(work, data.a_free, data.tau_free)
    project(data, data.tau_free, tau)


@law
def pd_plus_torque(handle, address):
    """Returns status bits."""
    work, _, sizes, data = open_control(handle, address)
    n = sizes.nv
    e, rate = row(sizes, data, 0), port(sizes, data)
    spring, braking = row(sizes, data, 1), row(sizes, data, 2)
    tau, v, wanted = data.out[:n], velocity(sizes, data), v_ref(sizes, data)
    expand_state(sizes, data)
    joint_error(work, sizes, data, q_ref(sizes, data), e)
    feed_forward(work, data, wanted, a_ref(sizes, data), tau)
    for k in range(n):
        rate[k] = v[k] - wanted[k]
    times(data.gains, 0, e, spring)
    times(data.gains, n * n, rate, braking)
    for k in range(n):
        tau[k] -= spring[k] + braking[k]
    expand_v(data, rate, data.s_free)
    storage = 0.5 * carry_error(work, data.s_free) + 0.5 * inner(e, spring)
    put_power(sizes, data, storage, inner(rate, braking), 0.0)
    return 0
