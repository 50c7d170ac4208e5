"""Friction of joints, in laws and in the observer.

    F(v) = viscous v + coulomb tanh(v / smoothing)

Laws that have a reference velocity add F(v_ref), which the robot's own friction −F(v) makes
−(F(v) − F(v_ref)): F grows with v, so that this never gives energy to v − v_ref. It is a feed-
forward and cannot chatter. Laws without one add most of the friction at the measured velocity,

    R(v) = share · viscous v + coulomb (t − t within ± (1 − share)),    t = tanh(v / smoothing)

all but a share of the viscous and the first part of the Coulomb friction. So F − R grows with v as
F does, and brakes; and near rest R has no slope but the viscous one: noise is not compensated, and
a robot with less friction than given is not set in motion by it. `impedance` moves its frame by
joint velocities w: it adds F(w) − R(w) besides, so that F − R brakes v − w. The observer takes F(v)
for the robot's own and not for a contact.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import Array
from torqued.kernels.input_checks import known_keys, number, numbers, shown
from torqued.kernels.model.friction import own_friction

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

NAMES = ("viscous", "coulomb", "smoothing", "share")
#: Of the friction at the reference velocity, and at the measured one.
REFERENCE_SHARE, MEASURED_SHARE = 1.0, 0.8
#: Most of the friction at the measured velocity that may be compensated: something has to brake.
MAX_MEASURED = 0.95
#: Speeds within which Coulomb friction changes its sign: of the velocity limit, and at most.
SMOOTHING_SHARE, MAX_SMOOTHING = 0.01, 0.05
MIN_SMOOTHING = 1e-4
#: rad/s, at least by default for a measured velocity: encoders have noise of about 1 mrad/s, and
#: four times that is then within the part of Coulomb friction that is left alone.
MIN_MEASURED = 0.02


class Friction:
    """What a session knows of its joints' friction; empty arrays where it is not to be used."""

    def __init__(self, robot: Robot, given: Any, by_reference: bool) -> None:
        self.viscous = self.coulomb = self.sharpness = np.zeros(0)
        self.share = 0.0
        if given is None:
            # A file's numbers are often what made a simulation quiet. Too much of a compensation
            # pushes a robot along: only what was measured is used without being asked for.
            measured = robot.model.friction_measured
            given = measured and any(values.any() for values in own_friction(robot.model))
        if given is False:
            return
        fields = checked_map(given)
        viscous, coulomb = own_friction(robot.model)
        self.viscous = per_joint(robot, fields, "viscous", viscous)
        self.coulomb = per_joint(robot, fields, "coulomb", coulomb)
        smoothing = per_joint(robot, fields, "smoothing", default_smoothing(robot, by_reference))
        if (smoothing < MIN_SMOOTHING).any():
            wanted, least = f"{MIN_SMOOTHING:g} rad/s or more", float(smoothing.min())
            name = "friction.smoothing"
            raise InputError(f"{name} has {least}, expected {wanted}", name, least, wanted)
        self.sharpness = 1.0 / smoothing
        self.share = share_of(fields, by_reference)
        base = 6 if robot.model.base == "floating" else 0
        self.viscous[:base] = self.coulomb[:base] = 0.0
        if not fields and not self.viscous.any() and not self.coulomb.any():
            raise InputError(
                f"friction: robot {robot.name!r} has none in its file or configuration, "
                "expected 'viscous' or 'coulomb' here",
                "friction",
                None,
                "a map with viscous or coulomb",
            )

    def as_map(self) -> dict[str, Any]:
        """What is compensated, as it could be given; an empty map where nothing is."""
        if not len(self.viscous):
            return {}
        values = (self.viscous, self.coulomb, 1.0 / self.sharpness, self.share)
        return dict(zip(NAMES, values, strict=True))


def checked_map(given: Any) -> Mapping[str, Any]:
    if given is True:
        return {}
    if not isinstance(given, Mapping):
        wanted = f"true, false, or a map with {', '.join(NAMES)}"
        raise InputError(f"friction: {shown(given)}, expected {wanted}", "friction", None, wanted)
    known_keys("friction", given, NAMES)
    return given


def per_joint(robot: Robot, fields: Mapping[str, Any], name: str, default: Array) -> Array:
    """A number for all, or (nv,), none of them negative."""
    given = fields.get(name)
    if given is None:
        return default.copy()
    values = numbers(f"friction.{name}", given, (), (robot.nv,))
    if (values < 0.0).any():
        wanted, least = "zero or positive numbers", float(values.min())
        raise InputError(
            f"friction.{name} has {least}, expected {wanted}", f"friction.{name}", least, wanted
        )
    return np.broadcast_to(values, (robot.nv,)).copy()


def default_smoothing(robot: Robot, by_reference: bool) -> Array:
    """rad/s, m/s: a hundredth of a joint's speed, at most a slow motion, no less than noise."""
    fastest = robot.limits.velocity
    usable = np.isfinite(fastest) & (fastest > 0.0)
    share = SMOOTHING_SHARE * np.where(usable, fastest, np.inf)
    least = 10.0 * MIN_SMOOTHING if by_reference else MIN_MEASURED
    return np.clip(share, least, MAX_SMOOTHING)


def share_of(fields: Mapping[str, Any], by_reference: bool) -> float:
    """How much of it is compensated."""
    most = REFERENCE_SHARE if by_reference else MAX_MEASURED
    usual = REFERENCE_SHARE if by_reference else MEASURED_SHARE
    share = number("friction.share", fields.get("share", usual))
    if not 0.0 <= share <= most:
        why = "" if by_reference else " for a law without reference velocities"
        wanted = f"0 … {most:g}{why}"
        raise InputError(
            f"friction.share is {share}, expected {wanted}", "friction.share", share, wanted
        )
    return share


@kernel
def friction_at(data, k, v):
    """F(v) of joint k."""
    return data.viscous[k] * v + data.coulomb[k] * math.tanh(data.sharpness[k] * v)


@kernel
def add_torque(control, sizes, data, k, tau):
    """Add what forces that the tree does not have take away again to the torque of joint k, and to
    the power that the law's balance has from outside."""
    data.out[k] += tau
    data.unmodelled[k] += tau
    if control.accounts:
        data.out[sizes.nv + 2] += tau * data.out[sizes.nv + 3 + k]


@kernel
def compensate_friction(control, sizes, data):
    """Add what it takes to overcome friction to the law's torque."""
    if len(data.viscous) == 0:
        return
    share = control.friction_share
    for k in range(sizes.unactuated, sizes.torques):
        if control.reference_velocity >= 0:
            tau = share * friction_at(data, k, data.state[control.reference_velocity + k])
        else:
            v = data.state[sizes.nq + k]
            tau = measured_part(data, k, share, v)
            if control.accounts:  # the port's velocity is v − w
                w = v - data.out[sizes.nv + 3 + k]
                tau += friction_at(data, k, w) - measured_part(data, k, share, w)
        add_torque(control, sizes, data, k, tau)


@kernel
def measured_part(data, k, share, v):
    """R(v) of joint k: what is compensated of the friction at a measured velocity."""
    t, left = math.tanh(data.sharpness[k] * v), 1.0 - share
    return share * data.viscous[k] * v + data.coulomb[k] * (t - min(max(t, -left), left))


@kernel
def own_torque(sizes, data, k):
    """The torque of joint k's own friction at the measured velocity, as far as it is known."""
    if len(data.viscous) == 0:
        return 0.0
    return -friction_at(data, k, data.state[sizes.nq + k])


@kernel
def unknown_torque(sizes, data, k, gain, elapsed):
    """What a joint near rest may hold by friction in either direction: no sign of a contact.

    Through the same filter as the residual that it is compared with.
    """
    if len(data.viscous) == 0:
        return 0.0
    known = abs(math.tanh(data.sharpness[k] * data.state[sizes.nq + k]))
    step = 1.0 - math.exp(-gain * elapsed)
    data.sticking[k] += step * (data.coulomb[k] * (1.0 - known) - data.sticking[k])
    return data.sticking[k]
