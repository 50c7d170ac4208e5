"""Generalized-momentum observer: external torques without a force sensor, beside any law.

    r = K_o (p − ∫ (τ − F + Cᵀ v − g + r) dt − p_0)        p = M v

r follows the external torque like a first-order filter with the rate K_o; F is friction, as far as
it is known (friction.py). Through springs a link feels their torque in place of τ − F, which is
measured (springs.py). It needs C only as Cᵀ v, in O(N), and no accelerations. A contact is detected
where a joint's |r| exceeds its threshold, and ends where all are below their release. A model that
is wrong by the share ε of each link's mass is off by no more than

    ε (Σ_i |J_iᵀ m_i gravity| + |τ − F + Cᵀ v − g|)

per joint, of its weight and of what accelerates it: thresholds grow by that, so that a joint which
carries no weight stays sensitive. On a serial
arm a force on a link is felt by the joints before it and by no other: the last joint that feels it
moves the touched link.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control import law
from torqued.kernels.control.friction import own_torque, unknown_torque
from torqued.kernels.control.springs import spring_torque
from torqued.kernels.control.typical_inertia import configurations
from torqued.kernels.dynamics.composite import world_inertia
from torqued.kernels.dynamics.kinematics import body_poses, body_velocities
from torqued.kernels.dynamics.momentum import fill_momentum
from torqued.kernels.dynamics.rnea import rest_acceleration
from torqued.kernels.dynamics.tree import columns_of
from torqued.kernels.input_checks import known_keys, number, numbers, shown
from torqued.kernels.primitives.spatial import dot6, inertia_times
from torqued.kernels.primitives.tuples import load6

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

# In memory: blocks of nv numbers (gain, threshold, release, integral, residual), started, contact,
# uncertainty.

DEFAULT_GAIN = 50.0  # 1/s
#: Thresholds where none are given: these shares of the joint's effort limit, as far as it can be
#: believed, with unknown and with known friction; and the share of masses that may be wrong.
DEFAULT_SHARE, FRICTION_SHARE, DEFAULT_UNCERTAINTY = 0.05, 0.02, 0.1
#: rad/s²: with which joints are accelerated, for what they need.
ACCELERATION = 20.0
#: Effort limits up to this many times what the joint that needs most does are believed. Others
#: count as so many times what the joint itself needs, and, for its friction, a share of the most.
BELIEVED, NEEDED, OF_MAX = 20.0, 2.0, 0.05
NAMES = ("gain", "threshold", "release", "uncertainty")
#: N m: no threshold is zero.
TINY = 1e-6


def observer_array(robot: Robot, given: Any, knows_friction: bool = False) -> law.Array:
    """`gain` 1/s, `threshold` and `release` N m: number or (nv,), and `uncertainty` of masses,
    checked and laid out."""
    if given is None or given is False:
        return np.zeros(0)
    if given is True:
        given = {}
    if not isinstance(given, Mapping):
        raise InputError(f"observer: {shown(given)}, expected a map", "observer", None, "a map")
    known_keys("observer", given, NAMES)
    threshold = positive(robot, given, "threshold", default_threshold(robot, knows_friction))
    release = positive(robot, given, "release", 0.5 * threshold)
    if (release > threshold).any():
        raise InputError("observer.release is above observer.threshold", "observer")
    gain = positive(robot, given, "gain", DEFAULT_GAIN)
    uncertainty = 0.0 if "threshold" in given else DEFAULT_UNCERTAINTY
    uncertainty = number("observer.uncertainty", given.get("uncertainty", uncertainty))
    if not 0.0 <= uncertainty <= 1.0:
        wanted = "a share of masses, 0 … 1"
        message = f"observer.uncertainty is {uncertainty}, expected {wanted}"
        raise InputError(message, "observer.uncertainty", uncertainty, wanted)
    blank = np.zeros(2 * robot.nv + 2)
    return np.concatenate([gain, threshold, release, blank, [uncertainty]])


def default_threshold(robot: Robot, knows_friction: bool) -> law.Array:
    """(nv,) N m, by what joints can give, or need where their limits say nothing."""
    limits = robot.limits.effort
    first = 6 if robot.model.base == "floating" else 0
    needed = needed_torque(robot)
    most = float(needed[first:].max(initial=TINY))
    believed = (limits > 0.0) & (limits <= BELIEVED * most)
    share = FRICTION_SHARE if knows_friction else DEFAULT_SHARE
    found: law.Array = share * np.where(believed, limits, NEEDED * needed + OF_MAX * most)
    return found


def needed_torque(robot: Robot) -> law.Array:
    """(nv,) N m to hold the joints and to accelerate each, over some configurations."""
    poses = configurations(robot)
    held = np.abs([robot.gravity(q) for q in poses]).max(axis=0)
    inertia = np.mean([np.diag(robot.mass_matrix(q)) for q in poses], axis=0)
    needed: law.Array = np.maximum(held + ACCELERATION * inertia, TINY)
    return needed


def positive(robot: Robot, given: Mapping[str, Any], name: str, default: Any) -> law.Array:
    values = numbers(f"observer.{name}", given.get(name, default), (), (robot.nv,))
    if (values <= 0.0).any():
        worst = float(values.min())
        raise InputError(f"observer.{name} has {worst}, expected positive numbers", name, worst)
    return np.broadcast_to(values, (robot.nv,))


def observer_outputs(robot: Robot) -> dict[str, law.Shape]:
    """External torques; 1 while in contact; which joint moves the touched link, -1 for none."""
    return {"external": (robot.nv,), "contact": (), "link": ()}


@kernel
def joint_torque(sizes, data, k):
    """What acts on the link of joint k: the torque that was sent last, less what friction took; or
    the spring's, behind all friction of its motor."""
    if sizes.springs > 0:
        return spring_torque(sizes, data, k)
    return data.last[k] + own_torque(sizes, data, k)


@kernel
def fill_carried(work, sizes, data, carried_free, carried):
    """Σ_i |J_iᵀ m_i gravity| (nv,), the weights that each joint carries; needs body_poses."""
    rest = rest_acceleration(work)
    for c in range(sizes.nv_free):
        carried_free[c] = 0.0
    for i in range(len(work.bodies)):
        weight = inertia_times(world_inertia(work.bodies[i], work.states[i]), rest)
        j = i
        while j >= 0:
            for c in columns_of(work.bodies[j]):
                carried_free[c] += abs(dot6(load6(work.columns[c].S), weight))
            j = work.bodies[j].parent
    for k in range(sizes.nv):
        carried[k] = 0.0
    for c in range(sizes.nv_free):
        carried[data.v_index[c]] += abs(data.v_multiplier[c]) * carried_free[c]


@law.law
def observe(handle, address):
    """Update the observer with this tick's state and the torque that was sent last."""
    work, control, sizes, data = law.open_control(handle, address)
    n = sizes.nv
    gain, threshold, release = data.observer[:n], data.observer[n : 2 * n], data.observer[2 * n :]
    integral, residual = data.observer[3 * n : 4 * n], data.observer[4 * n : 5 * n]
    flags = data.observer[5 * n :]
    p, rate, carried = data.rows[0], data.rows[1], data.rows[2]
    law.expand_state(sizes, data)
    body_poses(work, data.q_free)
    body_velocities(work, data.v_free)
    fill_momentum(work, data.v_free, data.s_free, data.tau_free)
    law.project(data, data.s_free, p)
    law.project(data, data.tau_free, rate)
    elapsed = control[0].elapsed
    if flags[0] == 0.0:
        flags[0] = 1.0
        law.copy(p, integral)
        elapsed = 0.0  # the torque before the first one is unknown
    touched, felt, last = False, False, -1
    if flags[2] > 0.0:
        fill_carried(work, sizes, data, data.w_free, carried)
    for k in range(n):
        known = joint_torque(sizes, data, k) + rate[k]
        integral[k] += elapsed * (known + residual[k])
        residual[k] = gain[k] * (p[k] - integral[k])
        size = abs(residual[k]) - unknown_torque(sizes, data, k, gain[k], elapsed)
        if flags[2] > 0.0:
            size -= flags[2] * (carried[k] + abs(known))
        touched = touched or size > threshold[k]
        if size > release[k]:
            felt, last = True, k
    flags[1] = 1.0 if touched or (felt and flags[1] == 1.0) else 0.0
    out = data.out[len(data.out) - n - 2 :]
    law.copy(residual, out)
    out[n] = flags[1]
    out[n + 1] = float(last) if flags[1] == 1.0 else -1.0
    return 0
