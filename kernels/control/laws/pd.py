"""PD control with gravity compensation: τ = g(q) − K e − D (v − v_ref), e = q − q_ref.

The simplest law that holds a position. For a reference at rest it is passive with storage
½ vᵀ M v + ½ eᵀ K e, and stable for any positive K and D; a moving reference is followed late.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torqued.kernels.control.gains import known, matrix
from torqued.kernels.control.law import (
    Fields,
    Gains,
    Law,
    Prepared,
    copy,
    expand_state,
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
from torqued.kernels.control.typical_inertia import typical_inertia
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.kinematics import place
from torqued.kernels.dynamics.rnea import fill_gravity
from torqued.kernels.dynamics.tracking import carry_error

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: rad/s and ratio: a single joint with these swings once in about 0.4 s and hardly overshoots.
DEFAULT_FREQUENCY = 15.0
DEFAULT_RATIO = 0.8


def gains(robot: Robot, given: Fields, fields: Fields) -> Gains:
    """`stiffness` (N m/rad) and `damping` (N m s/rad): number, (nv,) or (nv, nv), positive.

    By default they suit each joint's typical inertia.
    """
    known(given, ("stiffness", "damping"))
    typical = typical_inertia(robot)
    inertia = typical.diagonal
    frequency = typical.rate(2 * DEFAULT_RATIO * DEFAULT_FREQUENCY) / (2 * DEFAULT_RATIO)
    stiffness = matrix(given, "stiffness", frequency**2 * inertia, robot.nv)
    damping = matrix(
        given, "damping", 2 * DEFAULT_RATIO * np.sqrt(np.diag(stiffness) * inertia), robot.nv
    )
    return {"stiffness": stiffness, "damping": damping}


def prepare(robot: Robot, fields: Fields) -> Prepared:
    fixed_base(robot, "pd")
    references = joint_references(robot)
    del references["a_ref"]
    packed = gains(robot, fields.get("gains", {}), fields)
    return Prepared(packed, references, power_outputs(robot))


LAW = Law("pd_torque", prepare, gains)


@law
def pd_torque(handle, address):
    """Returns status bits."""
    work, _, sizes, data = open_control(handle, address)
    n = sizes.nv
    e, rate = row(sizes, data, 0), row(sizes, data, 1)
    spring, braking = row(sizes, data, 2), row(sizes, data, 3)
    tau, v, wanted = data.out[:n], velocity(sizes, data), v_ref(sizes, data)
    expand_state(sizes, data)
    joint_error(work, sizes, data, q_ref(sizes, data), e)
    place(work, data.q_free)
    composite_inertias(work)
    fill_gravity(work, data.tau_free)
    project(data, data.tau_free, tau)
    for k in range(n):
        rate[k] = v[k] - wanted[k]
    times(data.gains, 0, e, spring)
    times(data.gains, n * n, rate, braking)
    for k in range(n):
        tau[k] -= spring[k] + braking[k]
    storage = 0.5 * carry_error(work, data.v_free) + 0.5 * inner(e, spring)
    # dV/dt = −vᵀ D (v − v_ref) − v_refᵀ K e: what is not vᵀ D v is the moving reference's work.
    lost = inner(v, braking)
    times(data.gains, n * n, v, rate)
    dissipation = inner(v, rate)
    copy(v, port(sizes, data))
    put_power(sizes, data, storage, dissipation, dissipation - lost - inner(wanted, spring))
    return 0
