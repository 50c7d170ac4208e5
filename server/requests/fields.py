"""Types of fields, and of members of maps in them: nothing is converted from one to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.input_checks import Fields
from torqued.server.requests.limits import at_most

#: Field → what it is on the wire.
TYPES = {
    **dict.fromkeys(("q", "v", "a", "jerk", "snap", "tau", "w", "b", "dt"), "numbers"),
    **dict.fromkeys(("restitution", "over", "motor_q", "motor_v"), "numbers"),
    **dict.fromkeys(("effort_limit", "rate_limit", "load_lower", "load_upper"), "numbers"),
    **dict.fromkeys(("point", "hold", "fade", "fallback_damping"), "numbers"),
    **dict.fromkeys(("low_pass", "seconds", "lease", "delay", "spin"), "numbers"),
    **dict.fromkeys(("representation", "coordinates", "solver", "operation", "law"), "text"),
    **dict.fromkeys(("frame", "axes", "level", "fallback", "without_states"), "text"),
    **dict.fromkeys(("of", "method", "transport", "clock"), "text"),
    **dict.fromkeys(("want", "frames"), "list of texts"),
    **dict.fromkeys(("f_ext", "references"), "map of numbers"),
    **dict.fromkeys(("gains", "limits", "springs", "report", "memory"), "map"),
    **dict.fromkeys(("contacts", "constraints", "tasks", "targets"), "list of maps"),
    **dict.fromkeys(("tolerance", "after", "weights"), "numbers"),
    "actuated": "numbers or list of texts",
    **dict.fromkeys(("mass", "centre", "inertia"), "numbers"),
    "observer": "map or true",
    **dict.fromkeys(("walls", "reference_limits", "friction"), "map or truth value"),
    **dict.fromkeys(("take_over", "rehearse"), "truth value"),
    "payload": "map or list of maps",
    "integral": "map, truth value or number",
    "iterations": "integer",
    "every": "integer",
    "order": "integer",
    "restarts": "integer",
    "seed": "integer",
    "session": "integer",
}

#: How each of them is spelled in a refusal.
EXPECTED = {
    "numbers": "a number, an array or a list of numbers",
    "text": "a text",
    "list of texts": "a list of texts",
    "numbers or list of texts": "a list of texts, or an array",
    "map of numbers": "a map of numbers",
    "map": "a map",
    "list of maps": "a list of maps",
    "map or true": "a map, or true",
    "truth value": "true or false",
    "map or list of maps": "a map, or a list of maps",
    "map or truth value": "a map, true or false",
    "map, truth value or number": "a number, a map, true or false",
    "integer": "a whole number",
}

#: Those that are a value of one of some types.
OF_TYPES: dict[str, tuple[type, ...]] = {
    "truth value": (bool,),
    "map or truth value": (dict, bool),
    "map, truth value or number": (dict, bool, int, float),
}


def typed(name: str, value: Any) -> Any:
    """A field as what it should be, numbers as arrays; refused where it is something else."""
    expected = TYPES[name]
    if expected == "numbers" or (expected == "numbers or list of texts" and is_numbers(value)):
        return numbers(name, name, value)
    if expected == "map of numbers" and isinstance(value, dict):
        return {key: numbers(name, f"{name}[{key!r}]", item) for key, item in value.items()}
    if not _is(expected, value):
        wanted = EXPECTED[expected]
        raise InputError(f"{name}: {kind_of(value)}, expected {wanted}", name, None, wanted)
    return value


def _is(expected: str, value: Any) -> bool:
    if expected == "text":
        return isinstance(value, str)
    if expected == "integer":
        return type(value) is int
    if expected == "map":
        return isinstance(value, dict)
    if expected == "map or true":
        return isinstance(value, dict) or value is True
    if expected in OF_TYPES:
        return type(value) in OF_TYPES[expected]
    if expected == "map or list of maps":
        return isinstance(value, dict) or _is("list of maps", value)
    member = {"list of maps": dict}.get(expected, str if expected.endswith("texts") else None)
    return member is not None and type(value) is list and all(type(x) is member for x in value)


def numbers(field: str, name: str, value: Any) -> Any:
    """A number as it is, a list as an array; refused where something else is in it."""
    kind = type(value)
    if kind is np.ndarray or kind is float or kind is int:
        return value
    if kind is list and is_numbers(value):
        try:
            return np.asarray(value, np.float64)
        except ValueError:
            value = "lists of different lengths"
    wanted = EXPECTED["numbers"]
    what = value if value == "lists of different lengths" else kind_of(value)
    raise InputError(f"{name}: {what}, expected {wanted}", field, None, wanted)


def is_numbers(value: Any) -> bool:
    """Whether a value is a number, an array, or lists of numbers."""
    kind = type(value)
    if kind is list:
        return all(map(is_numbers, value))
    return kind is np.ndarray or kind is float or kind is int


def kind_of(value: Any) -> str:
    """A value's type in the words of the protocol."""
    names = {
        str: "a text",
        bool: "a boolean",
        int: "a whole number",
        float: "a number",
        dict: "a map",
        bytes: "bytes",
        list: "a list of other things",
        np.ndarray: "an array",
    }
    return names.get(type(value), type(value).__name__)


def wrenches(fields: Fields) -> Mapping[str, Any] | None:
    """The field f_ext: a map from frame names to wrenches."""
    value: Mapping[str, Any] | None = fields.get("f_ext")
    if value is not None:
        at_most("f_ext", len(value))
    return value


#: What a member of a map may be, and how that is spelled in a refusal.
MEMBER_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "text": (lambda x: isinstance(x, str), "a text"),
    "texts": (lambda x: _is("list of texts", x), "a list of texts"),
    "number": (lambda x: type(x) in (int, float), "a number"),
    "integer": (lambda x: type(x) is int, "a whole number"),
    "numbers": (lambda x: is_numbers(x), "numbers"),
}


def members(
    field: str, name: str, item: Mapping[Any, Any], types: Mapping[str, str], *required: str
) -> dict[str, Any]:
    """Members of a map, `name` in `field`, but those that are nil; refused where one is missing,
    unknown, or something else than `types` says."""
    for key in item:
        if key not in types:
            listed = ", ".join(types)
            message = f"{name}: {key!r} is unknown, allowed: {listed}"
            raise InputError(message, field, key, f"one of {listed}")
    given = {key: value for key, value in item.items() if value is not None}
    for key in required:
        if key not in given:
            expected = MEMBER_TYPES[types[key]][1]
            raise InputError(f"{name}: {key!r} is missing", field, None, expected)
    for key, value in given.items():
        is_right, expected = MEMBER_TYPES[types[key]]
        if not is_right(value):
            message = f"{name}.{key} is {kind_of(value)}, expected {expected}"
            raise InputError(message, field, None, expected)
    return given
