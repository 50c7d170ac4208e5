"""Options of laws and sessions by name, and what states may carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.control.law import Array
from torqued.kernels.control.laws import LAWS, frame_force
from torqued.kernels.control.springs import MEASURED as MEASURED_MOTORS
from torqued.kernels.input_checks import numbers

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: What every law takes beside its own options.
COMMON = ("gains", "effort_limit", "rate_limit", "observer", "payload", "friction", "integral")
#: What it takes for all that has a time in it: sessions, and `Controller.step`.
GUARDS = ("reference_limits", "walls", "low_pass", "admittance")
#: What streams take beside theirs.
OF_STREAMS = ("payload",)
#: Further options of a session: how long a torque is held and fades without a new one.
OF_FALLBACK = ("hold", "fade", "fallback", "without_states", "fallback_damping", "frozen_after")
SESSION_OPTIONS = (*OF_FALLBACK, "delay", "check")
#: All fields that some law takes.
OPTIONS = tuple(dict.fromkeys([*COMMON, *(name for law in LAWS.values() for name in law.options)]))

#: All that some law measures beside q and v.
MEASURED = (*MEASURED_MOTORS, *frame_force.MEASURED.values())

#: 1/s: torques of a session may change by so many times their limits in a second.
DEFAULT_RATE = 50.0
#: Hz, of the low-pass of torques: it takes chatter out and delays them by 0.6 ms.
DEFAULT_LOW_PASS = 250.0


def require_known(law: str, fields: Mapping[str, Any]) -> None:
    """Raise InputError for an option that the law does not take."""
    row = LAWS[law]
    allowed = (*(COMMON + GUARDS if row.is_torque else OF_STREAMS), *row.options)
    for name in fields:
        if name not in allowed:
            listed = ", ".join(allowed)
            raise InputError(f"law {law!r} does not accept {name!r}, allowed: {listed}", name)


def low_pass(fields: Mapping[str, Any]) -> float:
    """Hz; 0 for none."""
    given = fields.get("low_pass")
    return DEFAULT_LOW_PASS if given is None else float(not_negative(fields, "low_pass"))


def torque_limits(robot: Robot, fields: Mapping[str, Any]) -> tuple[Array, Array]:
    """(nv,) N m and N m/s: the robot's efforts or less, and how fast torques may change."""
    limits = robot.limits.effort
    if fields.get("effort_limit") is not None:
        limits = np.minimum(limits, not_negative(fields, "effort_limit", robot.nv))
    given = fields.get("rate_limit") is not None
    rate = not_negative(fields, "rate_limit", robot.nv) if given else DEFAULT_RATE * limits
    return limits, rate


def not_negative(fields: Mapping[str, Any], name: str, *shape: int) -> Array:
    """A field of numbers that are zero or positive."""
    values = numbers(name, fields[name], shape)
    if (values < 0.0).any():
        worst = float(values.min())
        message = f"{name} has {worst}, expected zero or a positive number"
        raise InputError(message, name, worst, "zero or a positive number")
    return values
