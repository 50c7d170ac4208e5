"""References as a user gives them, in this process."""

from __future__ import annotations

import math
from typing import Any

from torqued.common.errors import InputError
from torqued.kernels.input_checks import numbers
from torqued.kernels.model.description import Array

#: Values that count for the state that they come with, and are not held after it.
MOMENTARY = ("tau", "tau_ff", "wrench")
#: How far the length of a given quaternion may be from 1: four digits that are written by hand do.
TURN_TOLERANCE = 1e-3


def checked_reference(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """A reference of a law; orientations are quaternions x y z w of unit length."""
    field = f"references.{name}"
    given = numbers(field, value, shape)
    if name.rsplit(".", 1)[-1] == "orientation":
        size = math.hypot(*given)
        if not abs(size - 1.0) <= TURN_TOLERANCE:
            wanted = "1 (x y z w, unit length)"
            message = f"{field}: a quaternion has the length {size:.6g}, expected {wanted}"
            raise InputError(message, field, size, wanted)
    return given
