"""Parts of requests: numbers, maps, and the reply's type."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Generic, NamedTuple, TypeVar

import numpy as np

from torqued.client.requests.results import Array
from torqued.common.errors import RequestError, error
from torqued.common.masked import check_unmasked

T = TypeVar("T")


class Request(NamedTuple, Generic[T]):
    """An operation, its fields, and the function that makes a result of the reply's fields."""

    operation: str
    fields: dict[str, Any]
    result: Callable[[dict[str, Any]], T]
    timeout: float | None = None  # s; None: the client's


def as_array(x: Any, name: str) -> Array:
    """Numbers as they go over the wire; the error for anything else names the field."""
    check_unmasked(name, x)
    try:
        return np.ascontiguousarray(x, dtype=np.float64)
    except (TypeError, ValueError) as problem:
        raise _refused(name, problem, "numbers, in rows of equal length") from None


def as_number(x: Any, name: str) -> float:
    """One number, likewise."""
    try:
        return float(x)
    except (TypeError, ValueError) as problem:
        raise _refused(name, problem, "a number") from None


def _refused(name: str, problem: Exception, expected: str) -> RequestError:
    message = f"{name}: {problem}; expected {expected}"
    return error("bad_field", message, field=name, expected=expected)


def numbers(**given: Any) -> dict[str, Any]:
    """Fields that are numbers; None is left out."""
    return {name: as_array(x, name) for name, x in given.items() if x is not None}


def options(**given: Any) -> dict[str, Any]:
    """Fields as they are; what is None keeps the daemon's default."""
    return {name: x for name, x in given.items() if x is not None}


def only(name: str) -> Callable[[dict[str, Any]], Any]:
    """The one field of a reply."""

    def only(fields: dict[str, Any]) -> Any:
        return fields[name]

    return only


def several(*names: str) -> Callable[[dict[str, Any]], Any]:
    """Some fields of a reply, in order."""
    return lambda fields: tuple(fields[name] for name in names)


def arrays_of(field: str, given: Mapping[str, Any]) -> dict[str, Array]:
    """Numbers by name, in one field."""
    return {name: as_array(x, f"{field}[{name!r}]") for name, x in given.items()}


def arrays(wrenches: Mapping[str, Any] | None) -> dict[str, Array] | None:
    if wrenches is None:
        return None
    return arrays_of("f_ext", wrenches)


def names(names: Sequence[str]) -> Sequence[str]:
    """A list of names; a single text is one name."""
    return [names] if isinstance(names, str) else names


def constraints_of(contacts: Sequence[Any]) -> list[Any]:
    """Maps as they are; `torqued.kernels.Contact`, `Loop` and other data classes as maps."""
    return [constraint_of(as_map(contact)) for contact in contacts]


def constraint_of(given: Any) -> Any:
    """The terms of `torqued.kernels.Rows` by their names; a function of q cannot be sent."""
    if not isinstance(given, Mapping) or "of" not in given:
        return given
    terms = given["of"]
    if callable(terms):
        raise TypeError("Rows: a function cannot be sent, give G and gamma of this state")
    arrays = numbers(**dict(zip(("G", "gamma", "position"), terms, strict=False)))
    return arrays | {key: value for key, value in given.items() if key != "of"}


def target_of(target: Any) -> Any:
    """A map as it is, `torqued.kernels.Target` and the like as one; its numbers as arrays."""
    given = as_map(target)
    if not isinstance(given, Mapping):
        return given
    return {**given, **numbers(**{key: given[key] for key in ("value", "point") if key in given})}


def as_map(contact: Any) -> Any:
    if hasattr(type(contact), "__dataclass_fields__"):
        import dataclasses  # here alone, and those who have one have it already

        given = dataclasses.asdict(contact)
        return {key: value for key, value in given.items() if value is not None}
    return contact
