"""Checks of what users pass in: shapes, finite numbers, unit quaternions, names, texts, maps."""

from __future__ import annotations

import difflib
import inspect
import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.common.masked import check_unmasked
from torqued.kernels.model.description import Array
from torqued.kernels.primitives.array_checks import all_finite

Fields = Mapping[str, Any]

#: How far a quaternion's norm may be from 1. Kernels scale to unit length, so this only catches
#: quaternions that were never normalised or have their parts in the wrong places.
QUATERNION_TOLERANCE = 1e-5

FLOAT64 = np.dtype(np.float64)

#: What a value is, by the kind of its numpy type.
_KINDS = {
    "b": "true or false",
    "c": "complex",
    "U": "a text",
    "S": "bytes",
    "O": "not purely numeric",
}

#: Characters of a value in an error message.
MAX_SHOWN = 80
#: Names in an error message about an unknown one: near ones, or the first of all.
MAX_SUGGESTED, MAX_LISTED = 3, 5
#: Similarity of a suggested name, 0 to 1.
NEAR = 0.75


def numbers(name: str, value: Any, *shapes: tuple[int, ...]) -> Array:
    """`value` as a contiguous float64 array of one of the shapes (-1: any length), all finite."""
    if (
        type(value) is np.ndarray
        and value.dtype is FLOAT64
        and value.shape == shapes[0]
        and value.flags.c_contiguous
        and all_finite(value)
    ):
        return value  # the common case
    array = _converted(name, value, shapes)
    if array.shape != shapes[0] and not any(_matches(array.shape, shape) for shape in shapes):
        wanted = f"shape {_spell(shapes)}"
        message = f"{name}: shape {array.shape}, expected {_spell(shapes)}"
        raise InputError(message, name, list(array.shape), wanted)
    if not all_finite(array):
        place = tuple(int(i) for i in np.argwhere(~np.isfinite(array))[0])
        where = f"[{', '.join(map(str, place))}]" if place else ""
        value, wanted = float(array[place]), "a finite number"
        raise InputError(f"{name}{where} is {value}, expected {wanted}", name, str(value), wanted)
    return array


def number(name: str, value: Any) -> float:
    """One finite number."""
    return float(numbers(name, value, ()))


def seconds_within(name: str, value: Any, least: float, most: float) -> float:
    """A number of seconds within limits."""
    seconds = number(name, value)
    if not least <= seconds <= most:
        wanted = f"{least:g} … {most:g} s"
        raise InputError(f"{name} is {seconds}, expected {wanted}", name, seconds, wanted)
    return seconds


def whole_number(name: str, value: Any, least: int, most: int) -> int:
    """A whole number within limits."""
    if (
        isinstance(value, bool)
        or not isinstance(value, int | np.integer)
        or not least <= value <= most
    ):
        wanted = f"a whole number from {least} to {most}"
        raise InputError(f"{name} is {shown(value)}, expected {wanted}", name, None, wanted)
    return int(value)


def nonnegative(name: str, value: Any, shape: tuple[int, ...] = ()) -> Any:
    """A number, or several, none of them negative."""
    values = numbers(name, value, shape)
    if (values < 0.0).any():
        wanted, worst = "zero or a positive number", float(values.min())
        raise InputError(f"{name} is {worst}, expected {wanted}", name, worst, wanted)
    return values if shape else float(values)


def sequence(name: str, value: Any, of_what: str) -> Sequence[Any]:
    """A sequence, but not a text or bytes."""
    if not isinstance(value, Sequence) or isinstance(value, str | bytes | bytearray):
        wanted = f"a list of {of_what}"
        raise InputError(f"{name}: {shown(value)}, expected {wanted}", name, None, wanted)
    return value


def function_of(name: str, value: Any, *arguments: str) -> Any:
    """A function that can be called with so many arguments in order."""
    wanted = f"a function of {', '.join(arguments)}"
    refused = InputError(f"{name}: {shown(value)}, expected {wanted}", name, None, wanted)
    if not callable(value):
        raise refused
    try:
        inspect.signature(value).bind(*arguments)
    except TypeError as problem:  # too few parameters, or too many
        raise InputError(f"{refused}: {problem}", name, None, wanted) from None
    except ValueError:  # compiled functions have no signature; types that have none are no function
        if isinstance(value, type):
            raise refused from None
    return value


def _converted(name: str, value: Any, shapes: tuple[tuple[int, ...], ...]) -> Array:
    """Numbers of any kind as float64; texts, truth values and masked numbers are refused."""
    check_unmasked(name, value)
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "iuf":
            raise TypeError(f"{shown(value)} is {_KINDS.get(array.dtype.kind, 'something else')}")
        with np.errstate(over="ignore"):  # infinite values are reported below
            return np.asarray(array, dtype=np.float64, order="C")
    except (TypeError, ValueError, OverflowError, RecursionError) as error:
        wanted = f"numbers of shape {_spell(shapes)}"
        raise InputError(f"{name}: expected {wanted}: {error}", name, None, wanted) from None


def shown(value: Any) -> str:
    """A value in an error message, shortened."""
    try:
        text = repr(value)
    except Exception:  # more digits than Python writes, nested too deeply, or of somebody's class
        text = f"a {type(value).__name__}"
    return text if len(text) <= MAX_SHOWN else f"{text[: MAX_SHOWN - 1]}…"


def unit_quaternions(name: str, q: Array, starts: Iterable[tuple[str, int]]) -> None:
    """Quaternions x y z w of the named joints at the given places of q have norm 1."""
    for joint, k in starts:
        x, y, z, w = q[k : k + 4].tolist()
        norm = math.hypot(x, y, z, w)
        if abs(norm - 1.0) > QUATERNION_TOLERANCE:
            raise InputError(
                f"{name}[{k}:{k + 4}]: quaternion of joint {joint!r} has norm {norm:.9g}, "
                "expected 1 (x y z w, unit length)",
                name,
                norm,
                "a quaternion x y z w of unit length",
            )


def choice(name: str, value: Any, allowed: Iterable[str]) -> str:
    """`value` if it is one of the allowed words."""
    words = list(allowed)
    if not isinstance(value, str) or value not in words:
        allowed_words = ", ".join(map(repr, words))
        message = f"{name}: {shown(value)} is unknown, allowed: {allowed_words}"
        raise InputError(message, name, shown(value), f"one of {allowed_words}")
    return value


def known_keys(field: str, given: Iterable[Any], allowed: Collection[str]) -> None:
    """Refuse keys of a map that are not among the allowed ones."""
    for key in given:
        if key not in allowed:
            listed = ", ".join(allowed) or "none"
            raise InputError(f"{field}: {key!r} is unknown, allowed: {listed}", field, str(key))


def known_name(field: str, kind: str, name: Any, known: Collection[str]) -> str:
    """`name`, if it is known; otherwise the error suggests similar names."""
    if isinstance(name, str) and name in known:
        return name
    if not isinstance(name, str):
        message = f"{field}: {shown(name)} is not a {kind}'s name"
        raise InputError(message, field, shown(name), f"a {kind}'s name")
    advice = similar(name, known) or f"; there is no {kind}"
    where = "" if field in (kind, f"{kind}s") else f"{field}: "
    message = f"{where}{kind} {shown(name)} is unknown{advice}"
    raise InputError(message, field, shown(name), f"a {kind}'s name")


def similar(name: str, known: Collection[str]) -> str:
    """Advice after an unknown name: near ones, those that contain it, or else the first of all."""
    close = difflib.get_close_matches(name, known, MAX_SUGGESTED, NEAR)
    longer = [other for other in known if name and name.lower() in other.lower()]
    close = list(dict.fromkeys([*close, *longer]))[:MAX_SUGGESTED]
    if close:
        return f"; did you mean {' or '.join(map(repr, close))}?"
    some = ", ".join(repr(other) for other in list(known)[:MAX_LISTED])
    more = f", … ({len(known)} in all)" if len(known) > MAX_LISTED else ""
    return f"; known: {some}{more}" if known else ""


def _matches(shape: tuple[int, ...], allowed: tuple[int, ...]) -> bool:
    return len(shape) == len(allowed) and all(
        want in (-1, got) for want, got in zip(allowed, shape, strict=True)
    )


def _spell(shapes: tuple[tuple[int, ...], ...]) -> str:
    """As in "(3,) or (3, any)"."""
    return " or ".join(str(shape).replace("-1", "any") for shape in shapes)


def names_of(name: str, value: Any) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, list | tuple) or not all(isinstance(item, str) for item in value):
        raise InputError(f"{name}: {shown(value)}, expected a list of texts", name, None, "texts")
    return tuple(value)


def texts(fields: Fields, name: str, default: tuple[str, ...]) -> tuple[str, ...]:
    """A field that is a list of texts."""
    return names_of(name, fields.get(name, default))


def text(fields: Fields, name: str, default: str) -> str:
    """A field that is a text."""
    value = fields.get(name, default)
    if not isinstance(value, str):
        raise InputError(f"{name}: {shown(value)}, expected a text", name, None, "a text")
    return value


def map_or_none(name: str, value: Any) -> Mapping[str, Any]:
    """A map, or None for an empty one."""
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InputError(f"{name}: {shown(value)}, expected a map", name, None, "a map")
    return value


def mapping(fields: Fields, name: str) -> Mapping[str, Any]:
    """A field that is a map, empty where it is absent."""
    value = fields.get(name, {})
    if not isinstance(value, dict):
        raise InputError(f"{name}: {shown(value)}, expected a map", name, None, "a map")
    return value


def at_most(name: str, count: int, most: int) -> None:
    """Refuse lists that are longer than what can be computed in time."""
    if count > most:
        raise InputError(
            f"{name} has {count} items, at most {most} are allowed", name, count, f"at most {most}"
        )
