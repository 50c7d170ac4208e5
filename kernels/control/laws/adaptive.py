"""Adaptive passivity-based tracking: `passivity` that learns what the robot carries.

τ = M a_r + C v_r + g + Y π̂ − D(q) s,     dπ̂/dt = −Γ Yᵀ s  among loads that are possible

π̂ are ten inertial parameters (m, m c, Ī) of a load that is fixed to a frame, on top of the model;
Y is their part of the regressor, for the reference's velocity and acceleration. With the storage
½ sᵀ M s + ½ π̂ᵀ Γ⁻¹ π̂ the load is an external torque like any other: the law stays passive while it
learns. Yᵀ s is found without forming Y.

The load moves as the reference does (Sadegh and Horowitz 1990): what is only believed in adds
no feedback, which on a light wrist would be too fast for the loop after the load has gone. Instead
D(q) has room for a load from the start. With s as bounded as errors are, learning goes on however
far the load has pulled the arm away.

A load is possible where its pseudo-inertia has no negative eigenvalue, and none beyond the heaviest
load (pseudo_inertia.py): what is not possible is replaced by the nearest load that is, which takes
energy away and never adds any. While torques are cut to efforts a load only becomes smaller: an
error that motors are too weak for says nothing of the load.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numba import carray

from torqued.common.errors import InputError
from torqued.common.status import CLAMPED
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control import joint_gains, law
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
from torqued.kernels.dynamics.frames import frame_placement
from torqued.kernels.dynamics.kinematics import body_poses, body_velocities
from torqued.kernels.dynamics.rnea import add_armature, collect_forces
from torqued.kernels.dynamics.tracking import (
    PARAMETERS,
    carry_error,
    carry_reference,
    parameter_force,
    parameter_gradient,
    tracking_forces,
)
from torqued.kernels.input_checks import numbers
from torqued.kernels.primitives.layout import FRAME
from torqued.kernels.primitives.tuples import accumulate6
from torqued.kernels.primitives.workspace import pointer

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: A load's size, relative to how far the frame is from the robot's base at most.
RELATIVE_REACH = 0.1
#: Heaviest load, relative to what moves the frame.
RELATIVE_MASS = 1.0
#: 1/s at which a mass that the model lacks is learned, at rest and at a typical pose.
DEFAULT_ADAPTATION = 5.0
#: Of that rate, at which m c is learned: wrists, which it loads, are what a model knows worst.
MOMENT_SHARE = 0.3
#: 1/s: damping for a load makes no joint faster than that at any pose, without the load.
FASTEST = 200.0
#: Second moments, as parameters have them.
PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))
#: m/s².
WEIGHT = 9.81
#: m and kg, the least for reach and for masses, so that nothing is divided by zero.
TINY = 1e-3

# In memory: load, then lower and upper bounds, gradient, P and its eigenvectors, whether the last
# torque had to be scaled down, reach, heaviest.
LOWER, UPPER, GRADIENT = PARAMETERS, 2 * PARAMETERS, 3 * PARAMETERS
MATRICES = 4 * PARAMETERS
SCALED = MATRICES + SCRATCH
REACH, HEAVIEST = SCALED + 1, SCALED + 2
WORDS = HEAVIEST + 1


@dataclass(frozen=True)
class Carrier:
    """What carries a load: the sizes that default gains and bounds go by."""

    reach: float  # m, of a load from the frame
    heaviest: float  # kg, of a load
    felt: law.Array  # (nv,) kg m² that half of the heaviest load adds to joints, typically
    holding: law.Array  # (N, nv, 4) joint torques that hold m, N m/kg, and m c, N m/(kg m)


_KNOWN: WeakKeyDictionary[Robot, dict[str, Carrier]] = WeakKeyDictionary()


def carrier(robot: Robot, name: str) -> Carrier:
    """Of a frame, computed once."""
    known = _KNOWN.setdefault(robot, {})
    if name not in known:
        poses = few(robot)[0]
        J = np.array([robot.frame_jacobian(q, name) for q in poses])
        place = np.array([robot.frame_pose(q, name)[:3] for q in poses])
        reach = max(RELATIVE_REACH * float(np.linalg.norm(place[:, :, 3], axis=1).max()), TINY)
        path, body = 0.0, int(robot.frame_table.records([name])[0].body)
        while body >= 0:
            path += float(robot.model.bodies[body].mass)
            body = int(robot.model.bodies[body].parent)
        heaviest = max(RELATIVE_MASS * path, TINY)
        square = (J[:, 3:] ** 2).sum(axis=1) + reach**2 * (J[:, :3] ** 2).sum(axis=1)
        up = np.array([0.0, 0.0, WEIGHT])
        moments = np.cross(place[:, :, :3].transpose(0, 2, 1), up)  # of each of the frame's axes
        lifting = np.einsum("nik,i->nk", J[:, 3:], up)[:, :, None]
        turning = np.einsum("nik,nji->nkj", J[:, :3], moments)
        known[name] = Carrier(
            reach,
            heaviest,
            0.5 * heaviest * np.median(square, axis=0),
            np.concatenate([lifting, turning], axis=2),
        )
    return known[name]


def few(robot: Robot) -> tuple[law.Array, law.Array]:
    poses = poses_of(robot)
    return poses.q[:64], poses.M[:64]


def gains(robot: Robot, given: law.Fields, fields: law.Fields) -> law.Gains:
    """Those of `passivity`, and `adaptation` Γ: number or (10,), zero or positive.

    A number is a rate, 1/s, at which a missing mass is learned. Ten are Γ itself, of m, m c and the
    second moments Σ = ½ tr(Ī) 1 − Ī (xx xy xz yy yz zz). Without `damping` joints have what suits
    half of the heaviest load.
    """
    own = {name: value for name, value in given.items() if name != "adaptation"}
    taken = passivity.gains(robot, own, fields)
    carries = carrier(robot, checked_frame(robot, fields))
    if "damping" not in given:
        taken["damping"] = np.diag(load_damping(robot, carries, float(taken["damping_rate"])))
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
        rates = float(rates) * default_rates(
            carries, taken["damping"] + taken["damping_rate"] * few(robot)[1]
        )
    return {**taken, "adaptation": rates}


def load_damping(robot: Robot, carries: Carrier, rate: float) -> law.Array:
    """(nv,) N m s/rad that bring what a load adds to joints to the rate of D(q); less where that
    would be too fast without the load."""
    fastest = np.full(robot.nv, joint_gains.FASTEST)
    lightest = joint_gains.stiffness_for(robot, fastest) / fastest**2  # diag(lightest) ≤ M(q)
    return np.asarray(np.minimum(rate * carries.felt, FASTEST * lightest))


def default_rates(carries: Carrier, D: law.Array) -> law.Array:
    """(10,) Γ with which a mass is learned with 1/s, where D (N, nv, nv) damps."""
    # A load π̃ that is missing makes D s = Y π̃ at rest, so that dπ̂/dt = Γ Yᵀ D⁻¹ Y π̃.
    answer = (carries.holding * np.linalg.solve(D, carries.holding)).sum(axis=1)
    m, *h = 1.0 / np.maximum(np.median(answer, axis=0), TINY)
    h = [MOMENT_SHARE * x for x in h]
    # With lengths l_i of which h_i = Γ_m l_i² / 2, all of P are learned with equal rates; mixed
    # moments are in it two times.
    second = [4.0 * h[i] * h[j] / m * (1.0 if i == j else 0.5) for i, j in PAIRS]
    return np.array([m, *h, *second])


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
    outputs = {**law.power_outputs(robot), "load": (PARAMETERS,)}
    packed = gains(robot, fields.get("gains", {}), fields)
    memory[REACH], memory[HEAVIEST] = carries.reach, max(carries.heaviest, float(upper[0]))
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
    sliding_references(work, sizes, data, s, v_r, a_r)
    law.expand_v(data, s, data.s_free)
    body_poses(work, data.q_free)
    body_velocities(work, data.v_free)
    motion = carry_error(work, data.s_free)
    R, p = frame_placement(work, frame)
    law.expand_v(data, law.v_ref(sizes, data), data.w_free)
    law.expand_v(data, law.a_ref(sizes, data), data.a_free)
    carry_reference(work, data.w_free, data.a_free)
    parameter_gradient(work, frame.body, R, p, gradient)
    rates = data.gains[2 * n * n + 1 + n :]
    cut = control[0].cut & CLAMPED != 0 or data.memory[SCALED] != 0.0
    energy = learn(data.memory, rates, control[0].elapsed, cut)
    f = parameter_force(work, frame.body, R, p, load)
    for k in range(n):
        a_r[k] -= r * s[k]
    law.expand_v(data, v_r, data.w_free)
    law.expand_v(data, a_r, data.a_free)
    carry_reference(work, data.w_free, data.a_free)
    tracking_forces(work)
    accumulate6(work.states[frame.body].f, f)
    collect_forces(work, data.tau_free)
    add_armature(work, data.a_free, data.tau_free)
    law.project(data, data.tau_free, tau)
    law.times(data.gains, n * n, s, braking)
    for k in range(n):
        tau[k] -= braking[k]
    dissipation = law.inner(s, braking) + r * motion
    law.put_power(sizes, data, 0.5 * motion + energy, dissipation, 0.0)
    law.copy(load, data.out[2 * n + 3 :])
    scaled = fit(work, data, v_r, tau, a_r, braking)
    data.memory[SCALED] = float(scaled)
    return scaled


@kernel
def learn(memory, rates, elapsed, cut):
    """One step of dπ̂/dt = −Γ Yᵀ s among possible loads. Returns ½ π̂ᵀ Γ⁻¹ π̂."""
    load, reach = memory[:PARAMETERS], memory[REACH]
    P = memory[MATRICES : MATRICES + 16].reshape(4, 4)
    G = memory[MATRICES + 16 : MATRICES + 32].reshape(4, 4)
    fill_pseudo_inertia(load, reach, P)
    if elapsed <= 0.0:
        return believed_energy(P, rates, reach)
    held = believed_energy(P, rates, reach)
    gradient_of(memory[GRADIENT:MATRICES], reach, G)
    for i in range(4):
        for j in range(4):
            P[i, j] -= elapsed * entry_rate(rates, reach, i, j) * G[i, j]
    before = believed_energy(P, rates, reach)
    if cut and before > held:
        return held
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
