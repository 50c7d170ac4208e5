"""Adaptive passivity-based tracking: `passivity` that learns what the robot carries.

τ = M a_r + C v_r + g + Y π̂ − D(q) s,     dπ̂/dt = −Γ Yᵀ s  among loads that are possible

π̂ are ten inertial parameters (m, m c, Ī) of a load that is fixed to a frame, on top of the model;
Y is their part of the regressor. With the storage ½ sᵀ M s + ½ π̂ᵀ Γ⁻¹ π̂ the load is an external
torque like any other: the law stays passive while it learns. Yᵀ s is found without forming Y.

A load is possible where its pseudo-inertia has no negative eigenvalue, and none beyond the heaviest
load (pseudo_inertia.py). Γ is chosen so that ½ π̂ᵀ Γ⁻¹ π̂ is the size of that matrix: what is not
possible is then replaced by the nearest load that is, which takes energy away and never adds any.
While torques are cut or errors so large that they are bounded nothing is learned: an error that
motors are too weak for says nothing of the load. What was learned is then forgotten slowly.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numba import carray

from torqued.common.errors import InputError
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control import law
from torqued.kernels.control.laws import passivity
from torqued.kernels.control.laws.feed_forward import fit
from torqued.kernels.control.laws.passivity import sliding_references
from torqued.kernels.control.laws.pseudo_inertia import (
    SCRATCH,
    fill_parameters,
    fill_pseudo_inertia,
    gradient_of,
    project_on_possible,
    scale_within,
)
from torqued.kernels.control.poses import poses_of
from torqued.kernels.dynamics.composite import world_inertia
from torqued.kernels.dynamics.frames import frame_placement
from torqued.kernels.dynamics.kinematics import body_poses, body_velocities
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
from torqued.kernels.primitives.spatial import inertia_times, scale6
from torqued.kernels.primitives.tuples import accumulate6, load6
from torqued.kernels.primitives.workspace import pointer

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: A load's size, relative to how far the frame is from the robot's base at most.
RELATIVE_REACH = 0.1
#: Heaviest load, relative to what moves the frame.
RELATIVE_MASS = 0.5
#: 1/s at which a mass that the model lacks is learned, at rest and at a typical pose.
DEFAULT_ADAPTATION = 1.0
#: 1/s at which a load is forgotten while torques are cut.
FORGETTING = 5.0
#: m/s².
WEIGHT = 9.81
#: m and kg, the least for reach and for masses, so that nothing is divided by zero.
TINY = 1e-3

# In memory: load, then lower and upper bounds, gradient, P and its eigenvectors, reach, heaviest.
LOWER, UPPER, GRADIENT = PARAMETERS, 2 * PARAMETERS, 3 * PARAMETERS
MATRICES = 4 * PARAMETERS
REACH, HEAVIEST = MATRICES + SCRATCH, MATRICES + SCRATCH + 1
WORDS = HEAVIEST + 1


@dataclass(frozen=True)
class Carrier:
    """What carries a load: the sizes that default gains and bounds go by."""

    reach: float  # m, of a load from the frame
    heaviest: float  # kg, of a load
    inertia: float  # kg that the frame weighs when it is lifted, typically


_KNOWN: WeakKeyDictionary[Robot, dict[str, Carrier]] = WeakKeyDictionary()


def carrier(robot: Robot, name: str) -> Carrier:
    """Of a frame, computed once."""
    known = _KNOWN.setdefault(robot, {})
    if name not in known:
        distances, weights = [], []
        for q, M in zip(*few(robot), strict=True):
            J = robot.frame_jacobian(q, name)[5]
            distances.append(np.linalg.norm(robot.frame_pose(q, name)[:3, 3]))
            weights.append(1.0 / max(J @ np.linalg.solve(M, J), 1e-9))
        path, body = 0.0, int(robot.frame_table.records([name])[0].body)
        while body >= 0:
            path += float(robot.model.bodies[body].mass)
            body = int(robot.model.bodies[body].parent)
        known[name] = Carrier(
            max(RELATIVE_REACH * float(np.max(distances)), TINY),
            max(RELATIVE_MASS * path, TINY),
            max(float(np.median(weights)), TINY),
        )
    return known[name]


def few(robot: Robot) -> tuple[law.Array, law.Array]:
    poses = poses_of(robot)
    return poses.q[:64], poses.M[:64]


def gains(robot: Robot, given: law.Fields, fields: law.Fields) -> law.Gains:
    """Those of `passivity`, and `adaptation` Γ: number or (10,), zero or positive.

    A number is a rate, 1/s, at which a missing mass is learned. Ten are Γ itself, of m, m c and the
    second moments Σ = ½ tr(Ī) 1 − Ī (xx xy xz yy yz zz).
    """
    own = {name: value for name, value in given.items() if name != "adaptation"}
    taken = passivity.gains(robot, own, fields)
    rates = numbers(
        "gains.adaptation", given.get("adaptation", DEFAULT_ADAPTATION), (), (PARAMETERS,)
    )
    if (rates < 0.0).any():
        raise InputError(
            f"gains.adaptation has {float(rates.min())}, expected zero or positive numbers",
            "gains",
            float(rates.min()),
        )
    if rates.ndim == 0:
        # A mass m̃ that is missing makes M ṡ + r M s = Y m̃, so that dm̂/dt = Γ Y² / (r M) m̃; with
        # Y = WEIGHT J and M/J² the inertia of the frame.
        carries = carrier(robot, checked_frame(robot, fields))
        rate = float(taken["damping_rate"]) or passivity.DEFAULT_RATE
        mass = float(rates) * rate * carries.inertia / WEIGHT**2
        r = carries.reach
        twice = np.array([1.0, 0.5, 0.5, 1.0, 0.5, 1.0])  # mixed moments are in P two times
        rates = mass * np.concatenate([[1.0], np.full(3, 0.5 * r**2), r**4 * twice])
    return {**taken, "adaptation": rates}


def bounds(fields: law.Fields, carries: Carrier) -> tuple[law.Array, law.Array]:
    """Smallest and largest parameters of a load; `load_lower` and `load_upper` (10,)."""
    m, r = carries.heaviest, carries.reach
    upper = m * np.array([1.0] + 3 * [r] + 6 * [2.0 * r**2])
    lower = -upper
    lower[0] = 0.0
    if fields.get("load_lower") is not None:
        lower = numbers("load_lower", fields["load_lower"], (PARAMETERS,))
    if fields.get("load_upper") is not None:
        upper = numbers("load_upper", fields["load_upper"], (PARAMETERS,))
    if (lower > 0.0).any() or (upper < 0.0).any():
        raise InputError("load_lower … load_upper must include zero (no load)", "load_lower")
    return lower, upper


def checked_frame(robot: Robot, fields: law.Fields) -> str:
    """The frame that carries the load."""
    name = fields.get("frame")
    if not isinstance(name, str):
        raise InputError("frame is missing: name the frame that carries the load", "frame", name)
    if robot.frame_table.records([name])[0].body < 0:
        raise InputError(f"frame: {name!r} does not move", "frame", name)
    return name


def prepare(robot: Robot, fields: law.Fields) -> law.Prepared:
    law.fixed_base(robot, "adaptive")
    name = checked_frame(robot, fields)
    carries = carrier(robot, name)
    lower, upper = bounds(fields, carries)
    memory = np.zeros(WORDS)
    memory[LOWER:UPPER], memory[UPPER:GRADIENT] = lower, upper
    memory[REACH], memory[HEAVIEST] = carries.reach, max(carries.heaviest, float(upper[0]))
    outputs = {**law.power_outputs(robot), "load": (PARAMETERS,)}
    packed = gains(robot, fields.get("gains", {}), fields)
    frames = robot.frame_table.records([name])
    return law.Prepared(packed, law.joint_references(robot), outputs, memory, PARAMETERS, frames)


LAW = law.Law(
    "adaptive_torque",
    prepare,
    gains,
    options=("frame", "load_lower", "load_upper"),
    linearization=passivity.linearization,
    scaling=passivity.SCALING,
    replaces=passivity.REPLACES,
)


@law.law
def adaptive_torque(handle, address):
    """Returns status bits."""
    work, control, sizes, data = law.open_control(handle, address)
    n = sizes.nv
    s, tau, r = law.port(sizes, data), data.out[:n], data.gains[2 * n * n]
    v_r, a_r, braking = data.rows[0], data.rows[1], data.rows[2]
    load, gradient = data.memory[:PARAMETERS], data.memory[GRADIENT:MATRICES]
    frame = carray(pointer(control[0].frames), 1, FRAME)[0]
    law.expand_state(sizes, data)
    large = sliding_references(work, sizes, data, s, v_r, a_r)
    law.expand_v(data, v_r, data.w_free)
    law.expand_v(data, a_r, data.a_free)
    law.expand_v(data, s, data.s_free)
    body_poses(work, data.q_free)
    body_velocities(work, data.v_free)
    carry_reference(work, data.w_free, data.a_free)
    motion = carry_error(work, data.s_free)
    R, p = frame_placement(work, frame)
    parameter_gradient(work, frame.body, R, p, gradient)
    elapsed = 0.0 if large or control[0].cut else control[0].elapsed
    if control[0].cut:
        forget(load, control[0].elapsed)
    energy = learn(data.memory, data.gains[2 * n * n + 1 + n :], elapsed)
    tracking_forces(work)
    add_parameter_force(work, frame.body, R, p, load)
    # Damping by what the model knows: a load that is only believed in must not make the loop fast.
    add_damping(work, r)
    collect_forces(work, data.tau_free)
    for k in range(sizes.nv_free):
        data.a_free[k] -= r * data.s_free[k]
    add_armature(work, data.a_free, data.tau_free)
    law.project(data, data.tau_free, tau)
    law.times(data.gains, n * n, s, braking)
    for k in range(n):
        tau[k] -= braking[k]
    dissipation = law.inner(s, braking) + r * motion
    law.put_power(sizes, data, 0.5 * motion + energy, dissipation, 0.0)
    law.copy(load, data.out[2 * n + 3 :])
    return fit(work, data, v_r, tau, a_r, braking)


@kernel
def add_damping(work, r):
    """Add −r M s to the forces of all bodies, rotors left out; needs carry_error."""
    for i in range(len(work.bodies)):
        state = work.states[i]
        momentum = inertia_times(world_inertia(work.bodies[i], state), load6(work.auxiliary[i].s))
        accumulate6(state.f, scale6(momentum, -r))


@kernel
def forget(load, elapsed):
    """Believe less in a load while torques are cut: it may be why they are."""
    share = max(0.0, 1.0 - FORGETTING * elapsed)
    for k in range(PARAMETERS):
        load[k] *= share


@kernel
def learn(memory, rates, elapsed):
    """One step of dπ̂/dt = −Γ Yᵀ s among possible loads. Returns ½ π̂ᵀ Γ⁻¹ π̂."""
    load, reach = memory[:PARAMETERS], memory[REACH]
    P = memory[MATRICES : MATRICES + 16].reshape(4, 4)
    G = memory[MATRICES + 16 : MATRICES + 32].reshape(4, 4)
    fill_pseudo_inertia(load, reach, P)
    if elapsed <= 0.0:
        return believed_energy(P, rates, reach)
    gradient_of(memory[GRADIENT:MATRICES], reach, G)
    for i in range(4):
        for j in range(4):
            P[i, j] -= elapsed * entry_rate(rates, reach, i, j) * G[i, j]
    before = believed_energy(P, rates, reach)
    project_on_possible(P, G, memory[HEAVIEST])
    fill_parameters(P, reach, load)
    scale_within(load, memory[LOWER:UPPER], memory[UPPER:GRADIENT])
    fill_pseudo_inertia(load, reach, P)
    after = believed_energy(P, rates, reach)
    # The nearest possible load by another measure than Γ's may hold more energy.
    if after > before:
        share = math.sqrt(before / after)
        for k in range(PARAMETERS):
            load[k] *= share
        after = before
    return after


@kernel
def entry_rate(rates, reach, i, j):
    """Γ of an entry of P, in which mixed ones are two times."""
    if i == 3 and j == 3:
        return rates[0]
    if i == 3 or j == 3:
        return 2.0 * rates[1 + min(i, j)] / reach**2
    low, high = min(i, j), max(i, j)
    k = 4 + 3 * low - low * (low - 1) // 2 + high - low
    return (1.0 if i == j else 2.0) * rates[k] / reach**4


@kernel
def believed_energy(P, rates, reach):
    """½ π̂ᵀ Γ⁻¹ π̂; parameters that are not learned have none."""
    total = 0.0
    for i in range(4):
        for j in range(4):
            rate = entry_rate(rates, reach, i, j)
            if rate > 0.0:
                total += 0.5 * P[i, j] * P[i, j] / rate
    return total
