"""Types of fields and of members of their maps. Nothing is converted from one type to another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.client.requests.operation_table import FIELD_TYPES
from torqued.common.errors import InputError
from torqued.kernels.input_checks import Fields, text
from torqued.server.requests.limits import at_most

if TYPE_CHECKING:
    from torqued.kernels import Robot
    from torqued.kernels.charts.charted_robot import ChartedRobot


def one_of(*kinds: type) -> Callable[[Any], bool]:
    """Whether a value is of one of some types."""
    return lambda value: type(value) in kinds


def list_of(kind: type) -> Callable[[Any], bool]:
    """Whether a value is a list of values of one type."""
    return lambda value: type(value) is list and {kind}.issuperset(map(type, value))


def is_numbers(value: Any) -> bool:
    """Whether a value is a number, an array, or lists of numbers."""
    kind = type(value)
    if kind is list:
        return all(map(is_numbers, value))
    return kind is np.ndarray or kind is float or kind is int


#: Type of a field, as in `FIELD_TYPES` → whether a value is of it, and its name in a refusal.
TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "numbers": (is_numbers, "a number, an array or a list of numbers"),
    "text": (one_of(str), "a text"),
    "list of texts": (list_of(str), "a list of texts"),
    "numbers or list of texts": (list_of(str), "a list of texts, or an array"),
    "map of numbers": (one_of(), "a map of numbers"),
    "map": (one_of(dict), "a map"),
    "list of maps": (list_of(dict), "a list of maps"),
    "map or true": (lambda value: type(value) is dict or value is True, "a map, or true"),
    "truth value": (one_of(bool), "true or false"),
    "map or list of maps": (
        lambda value: type(value) is dict or list_of(dict)(value),
        "a map, or a list of maps",
    ),
    "map or truth value": (one_of(dict, bool), "a map, true or false"),
    "map, truth value or number": (
        one_of(dict, bool, int, float),
        "a number, a map, true or false",
    ),
    "integer": (one_of(int), "a whole number"),
}


def typed(name: str, value: Any) -> Any:
    """A field of its type, numbers as arrays; refused if it is of another."""
    expected = FIELD_TYPES[name]
    if expected == "numbers" or (expected == "numbers or list of texts" and is_numbers(value)):
        return numbers(name, name, value)
    if expected == "map of numbers" and type(value) is dict:
        return {key: numbers(name, f"{name}[{key!r}]", item) for key, item in value.items()}
    is_right, wanted = TYPES[expected]
    if not is_right(value):
        raise InputError(f"{name}: {kind_of(value)}, expected {wanted}", name, None, wanted)
    return value


def numbers(field: str, name: str, value: Any) -> Any:
    """A number as it is, a list as an array; refused if there is something else in it."""
    kind = type(value)
    if kind is np.ndarray or kind is float or kind is int:
        return value
    if kind is list and is_numbers(value):
        try:
            return np.asarray(value, np.float64)
        except ValueError:
            value = "lists of different lengths"
    _, wanted = TYPES["numbers"]
    what = value if value == "lists of different lengths" else kind_of(value)
    raise InputError(f"{name}: {what}, expected {wanted}", field, None, wanted)


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


def in_coordinates(robot: Robot, fields: Fields) -> Robot | ChartedRobot:
    """The robot in the coordinates that a request names."""
    return robot.in_coordinates(text(fields, "coordinates", "native"))


def wrenches(fields: Fields) -> Mapping[str, Any] | None:
    """The field f_ext: a map from frame names to wrenches."""
    value: Mapping[str, Any] | None = fields.get("f_ext")
    if value is not None:
        at_most("f_ext", len(value))
    return value


#: What a member of a map may be, and how that is spelled in a refusal.
MEMBER_TYPES: dict[str, tuple[Callable[[Any], bool], str]] = {
    "text": TYPES["text"],
    "texts": TYPES["list of texts"],
    "number": (one_of(int, float), "a number"),
    "integer": TYPES["integer"],
    "numbers": (is_numbers, "numbers"),
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
