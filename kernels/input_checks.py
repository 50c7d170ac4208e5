"""Checks of what users pass in: shapes, finite numbers, unit quaternions, names, texts, maps."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.model.description import Array

Fields = Mapping[str, Any]

#: How far a quaternion's norm may be from 1. Kernels scale to unit length, so this only catches
#: quaternions that were never normalised or have their parts in the wrong places.
QUATERNION_TOLERANCE = 1e-5


def numbers(name: str, value: Any, *shapes: tuple[int, ...]) -> Array:
    """`value` as a contiguous float64 array of one of the shapes (-1: any length), all finite."""
    try:
        array = np.asarray(value, dtype=np.float64, order="C")
    except (TypeError, ValueError) as error:
        wanted = f"numbers of shape {_spell(shapes)}"
        raise InputError(f"{name}: expected {wanted}: {error}", name, None, wanted) from None
    if array.shape != shapes[0] and not any(_matches(array.shape, shape) for shape in shapes):
        wanted = f"shape {_spell(shapes)}"
        message = f"{name}: shape {array.shape}, expected {_spell(shapes)}"
        raise InputError(message, name, list(array.shape), wanted)
    if not _all_finite(array):
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        where = f"[{', '.join(map(str, place))}]" if place else ""
        value, wanted = float(array[place]), "a finite number"
        raise InputError(f"{name}{where} is {value}, expected {wanted}", name, str(value), wanted)
    return array


def _all_finite(array: Array) -> bool:
    """The sum is finite for all but huge numbers, and several times faster to get.

    Python's sum: numpy's would warn of numbers that overflow or cancel.
    """
    return math.isfinite(sum(array.ravel().tolist())) or bool(np.isfinite(array).all())


def unit_quaternions(name: str, q: Array, starts: Iterable[tuple[str, int]]) -> None:
    """Quaternions x y z w of the named joints at the given places of q have norm 1."""
    for joint, k in starts:
        norm = math.hypot(*q[k : k + 4].tolist())
        if abs(norm - 1.0) > QUATERNION_TOLERANCE:
            raise InputError(
                f"{name}[{k}:{k + 4}]: quaternion of joint {joint!r} has norm {norm:.9g}, "
                "expected 1 (x y z w, unit length)",
                name,
                norm,
                "a quaternion x y z w of unit length",
            )


def choice(name: str, value: str, allowed: Iterable[str]) -> str:
    """`value` if it is one of the allowed words."""
    words = list(allowed)
    if not isinstance(value, str) or value not in words:
        allowed_words = ", ".join(map(repr, words))
        message = f"{name}: {value!r} is unknown, allowed: {allowed_words}"
        raise InputError(message, name, value, f"one of {allowed_words}")
    return value


def _matches(shape: tuple[int, ...], allowed: tuple[int, ...]) -> bool:
    return len(shape) == len(allowed) and all(
        want in (-1, got) for want, got in zip(allowed, shape, strict=True)
    )


def _spell(shapes: tuple[tuple[int, ...], ...]) -> str:
    """As in "(3,) or (3, any)"."""
    return " or ".join(str(shape).replace("-1", "any") for shape in shapes)


def texts(fields: Fields, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """A field that is a list of texts."""
    value = fields.get(name, default)
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise InputError(f"{name}: {value!r}, expected a list of texts", name, None, "texts")
    return tuple(value)


def text(fields: Fields, name: str, default: str) -> str:
    """A field that is a text."""
    value = fields.get(name, default)
    if not isinstance(value, str):
        raise InputError(f"{name}: {value!r}, expected a text", name, None, "a text")
    return value


def mapping(fields: Fields, name: str) -> Mapping[str, Any]:
    """A field that is a map, empty where it is absent."""
    value = fields.get(name, {})
    if not isinstance(value, dict):
        raise InputError(f"{name}: {value!r}, expected a map", name, None, "a map")
    return value
