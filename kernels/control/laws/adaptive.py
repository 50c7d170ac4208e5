"""Adaptive passivity-based tracking: `passivity` that learns what the robot carries.

τ = M a_r + C v_r + g + Y π̂ − D s,     dπ̂/dt = −Γ Yᵀ s  within bounds

π̂ are ten inertial parameters (m, m c, Ī) of a load that is fixed to a frame, on top of the model;
Y is their part of the regressor. With the storage ½ sᵀ M s + ½ π̂ᵀ Γ⁻¹ π̂ the load is an external
torque like any other: the law stays passive while it learns. Yᵀ s is found without forming Y.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from numba import carray

from torqued.common.errors import InputError
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import (
    Array,
    Fields,
    Gains,
    Law,
    Prepared,
    copy,
    expand_state,
    expand_v,
    fixed_base,
    inner,
    joint_references,
    law,
    open_control,
    port,
    power_outputs,
    project,
    put_power,
    row,
    times,
)
from torqued.kernels.control.laws import passivity
from torqued.kernels.control.laws.passivity import sliding_references
from torqued.kernels.dynamics.frames import frame_placement
from torqued.kernels.dynamics.kinematics import move, place
from torqued.kernels.dynamics.rnea import add_armature, collect_forces
from torqued.kernels.dynamics.tracking import (
    PARAMETERS,
    add_parameter_force,
    carry_error,
    carry_reference,
    parameter_gradient,
    tracking_forces,
)
from torqued.kernels.input_checks import numbers
from torqued.kernels.primitives.layout import FRAME
from torqued.kernels.primitives.workspace import pointer

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: m of a load from the frame that carries it: for the sizes of default gains and bounds.
REACH = 0.2


def gains(robot: Robot, given: Fields, fields: Fields) -> Gains:
    """Those of `passivity`, and `adaptation` Γ: number or (10,), zero or positive.

    A number g stands for g m_0² (m), and with the reach r of a load g m_0² r² (m c) and
    g m_0² r⁴ (Ī), m_0 = 1 kg: the units differ.
    """
    own = {name: value for name, value in given.items() if name != "adaptation"}
    rates = numbers("gains.adaptation", given.get("adaptation", 0.5), (), (PARAMETERS,))
    if (rates < 0.0).any():
        raise InputError(
            f"gains.adaptation has {float(rates.min())}, expected zero or positive numbers",
            "gains",
            float(rates.min()),
        )
    if rates.ndim == 0:
        rates = rates * np.array([1.0] + 3 * [REACH**2] + 6 * [REACH**4])
    return {**passivity.gains(robot, own, fields), "adaptation": rates}


def bounds(robot: Robot, fields: Fields, body_mass: float) -> tuple[Array, Array]:
    """Smallest and largest parameters of a load; `load_lower` and `load_upper` (10,)."""
    heaviest = 0.5 * robot.total_mass
    spread = np.array(3 * [heaviest * REACH] + 6 * [heaviest * REACH**2])
    lower = np.concatenate([[-0.5 * body_mass], -spread])
    upper = np.concatenate([[heaviest], spread])
    if fields.get("load_lower") is not None:
        lower = numbers("load_lower", fields["load_lower"], (PARAMETERS,))
    if fields.get("load_upper") is not None:
        upper = numbers("load_upper", fields["load_upper"], (PARAMETERS,))
    if (lower > 0.0).any() or (upper < 0.0).any():
        raise InputError("load_lower … load_upper: zero, no load, must be allowed", "load_lower")
    return lower, upper


def prepare(robot: Robot, fields: Fields) -> Prepared:
    fixed_base(robot, "adaptive")
    name = fields.get("frame")
    if not isinstance(name, str):
        raise InputError("frame: the frame that carries the load is missing", "frame", name)
    frames = robot.frame_table.records([name])
    if frames[0].body < 0:
        raise InputError(f"frame: {name!r} does not move", "frame", name)
    lower, upper = bounds(robot, fields, float(robot.model.bodies[frames[0].body].mass))
    memory = np.concatenate([np.zeros(PARAMETERS), lower, upper, np.zeros(PARAMETERS)])
    outputs = {**power_outputs(robot), "load": (PARAMETERS,)}
    packed = gains(robot, fields.get("gains", {}), fields)
    return Prepared(packed, joint_references(robot), outputs, memory, PARAMETERS, frames)


LAW = Law("adaptive_torque", prepare, gains, options=("frame", "load_lower", "load_upper"))


@law
def adaptive_torque(handle, address):
    """Returns status bits."""
    work, control, sizes, data = open_control(handle, address)
    n = sizes.nv
    s, tau = port(sizes, data), data.out[:n]
    v_r, a_r, braking = row(sizes, data, 0), row(sizes, data, 1), row(sizes, data, 2)
    load, gradient = data.memory[:PARAMETERS], data.memory[3 * PARAMETERS :]
    frame = carray(pointer(control[0].frames), 1, FRAME)[0]
    expand_state(sizes, data)
    sliding_references(work, sizes, data, s, v_r, a_r)
    expand_v(data, v_r, data.w_free)
    expand_v(data, a_r, data.a_free)
    expand_v(data, s, data.s_free)
    place(work, data.q_free)
    move(work, data.v_free)
    carry_reference(work, data.w_free, data.a_free)
    storage = 0.5 * carry_error(work, data.s_free)
    R, p = frame_placement(work, frame)
    parameter_gradient(work, frame.body, R, p, gradient)
    storage += learn(data, control[0].elapsed, 2 * n * n, load, gradient)
    tracking_forces(work)
    add_parameter_force(work, frame.body, R, p, load)
    collect_forces(work, data.tau_free)
    add_armature(work, data.a_free, data.tau_free)
    project(data, data.tau_free, tau)
    times(data.gains, n * n, s, braking)
    for k in range(n):
        tau[k] -= braking[k]
    put_power(sizes, data, storage, inner(s, braking), 0.0)
    copy(load, data.out[2 * n + 3 :])
    return 0


@kernel
def learn(data, elapsed, start, load, gradient):
    """One step of dπ̂/dt = −Γ Yᵀ s, kept within bounds. Returns ½ π̂ᵀ Γ⁻¹ π̂."""
    lower = data.memory[PARAMETERS : 2 * PARAMETERS]
    upper = data.memory[2 * PARAMETERS : 3 * PARAMETERS]
    storage = 0.0
    for k in range(PARAMETERS):
        rate = data.gains[start + k]
        load[k] = min(max(load[k] - elapsed * rate * gradient[k], lower[k]), upper[k])
        if rate > 0.0:
            storage += 0.5 * load[k] * load[k] / rate
    return storage
