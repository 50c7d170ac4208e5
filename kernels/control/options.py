"""Options of laws and sessions by name, and what states may carry."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torqued.common.errors import InputError
from torqued.kernels.control.law import Array
from torqued.kernels.control.laws import LAWS, frame_force
from torqued.kernels.control.springs import MEASURED as MEASURED_MOTORS
from torqued.kernels.input_checks import numbers

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


def not_negative(fields: Mapping[str, Any], name: str, *shape: int) -> Array:
    """A field of numbers that are zero or positive."""
    values = numbers(name, fields[name], shape)
    if (values < 0.0).any():
        worst = float(values.min())
        message = f"{name} has {worst}, expected zero or a positive number"
        raise InputError(message, name, worst, "zero or a positive number")
    return values
