"""Computed torque: τ = M (a_ref − K e − D ė) + C v + g, which leaves ë + D ė + K e = M⁻¹ τ_ext.

Every joint behaves like the same mass on a spring, as far as the model is right. The price is
that inertia is cancelled: an external torque meets M⁻¹, so that storage ½ ėᵀ ė + ½ eᵀ K e is
passive at the port M⁻¹ ė, not at the velocity that people push with.
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
    a_ref,
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
    project_square,
    put_power,
    q_ref,
    row,
    square,
    times,
    v_ref,
    velocity,
)
from torqued.kernels.control.laws.pd import DEFAULT_FREQUENCY, DEFAULT_RATIO
from torqued.kernels.control.laws.pd_plus import feed_forward
from torqued.kernels.dynamics.articulated import OK
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.crba import fill_mass_matrix
from torqued.kernels.primitives.dense import cholesky, cholesky_solve

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot


def gains(robot: Robot, given: Fields, fields: Fields) -> Gains:
    """`stiffness` (1/s²) and `damping` (1/s): number, (nv,) or (nv, nv), positive."""
    known(given, ("stiffness", "damping"))
    stiffness = matrix(given, "stiffness", DEFAULT_FREQUENCY**2, robot.nv)
    damping = matrix(given, "damping", 2 * DEFAULT_RATIO * np.sqrt(np.diag(stiffness)), robot.nv)
    return {"stiffness": stiffness, "damping": damping}


def prepare(robot: Robot, fields: Fields) -> Prepared:
    fixed_base(robot, "computed_torque")
    packed = gains(robot, fields.get("gains", {}), fields)
    return Prepared(packed, joint_references(robot), power_outputs(robot))


LAW = Law("computed_torque", prepare, gains)


@law
def computed_torque(handle, address):
    """Returns status bits."""
    work, _, sizes, data = open_control(handle, address)
    n = sizes.nv
    e, rate, a = row(sizes, data, 0), row(sizes, data, 1), row(sizes, data, 2)
    spring, braking = row(sizes, data, 3), row(sizes, data, 4)
    v, wanted, given = velocity(sizes, data), v_ref(sizes, data), a_ref(sizes, data)
    expand_state(sizes, data)
    joint_error(work, sizes, data, q_ref(sizes, data), e)
    for k in range(n):
        rate[k] = v[k] - wanted[k]
    times(data.gains, 0, e, spring)
    times(data.gains, n * n, rate, braking)
    for k in range(n):
        a[k] = given[k] - spring[k] - braking[k]
    feed_forward(work, data, v, a, data.out[:n])
    storage = 0.5 * inner(rate, rate) + 0.5 * inner(e, spring)
    y = port(sizes, data)
    copy(rate, y)
    composite_inertias(work)
    M_free, M = square(sizes, data, 0, sizes.nv_free), square(sizes, data, 1, n)
    fill_mass_matrix(work, M_free)
    project_square(data, M_free, M)
    if cholesky(M) == OK:
        cholesky_solve(M, y)
    put_power(sizes, data, storage, inner(rate, braking), 0.0)
    return 0
