"""Calls: those of two threads at once are errors. Results: those that are not finite are errors,
and where they go if the caller says so.

`finite` and `finite_arithmetic` wrap every method of `Robot` and of `ChartedRobot` that computes.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable
from threading import get_ident
from typing import Any, TypeVar

import numpy as np

from torqued.common.errors import InputError, NumericalError
from torqued.common.masked import check_unmasked
from torqued.common.results import Result
from torqued.kernels.input_checks import shown
from torqued.kernels.model.description import Array
from torqued.kernels.primitives.array_checks import all_finite
from torqued.kernels.primitives.workspace import OwnershipError

FLOAT64 = np.dtype(np.float64)

Method = TypeVar("Method", bound=Callable[..., Any])


def alone(method: Method, check: Callable[[str, Any], Any] = lambda name, result: result) -> Method:
    """A method of one thread at a time: kernels release the interpreter lock, and the robot's
    workspace would be written by all threads. `users` of its object has threads that are in it.

    A thread enters its name first and looks for others then: of two threads at least one sees the
    other. An interruption at any point leaves no name behind.
    """
    name = method.__name__

    @functools.wraps(method)
    def call(owner: Any, /, *arguments: Any, **options: Any) -> Any:
        users, thread = owner.users, get_ident()
        if thread in users:  # a method that another one calls
            return check(name, method(owner, *arguments, **options))
        try:
            users.add(thread)
            if len(users) > 1:
                raise OwnershipError(
                    f"{name}: the robot is in use by another thread, expected one at a time; "
                    "give each thread its own with robot.copy()"
                )
            return check(name, method(owner, *arguments, **options))
        finally:
            users.discard(thread)

    return call  # type: ignore[return-value]


def finite(method: Method) -> Method:
    """A method of one thread at a time whose results are finite, or an error."""
    return alone(method, checked)


def finite_arithmetic(method: Method) -> Method:
    """The same for a method made of numpy's arithmetic, whose own warnings would come first."""

    @functools.wraps(method)
    def quiet(*arguments: Any, **options: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            return checked(method.__name__, method(*arguments, **options))

    return alone(quiet)  # type: ignore[return-value]


def checked(name: str, result: Any) -> Any:
    """The result of a method, if all of its numbers are finite."""
    if type(result) is np.ndarray:
        if result.dtype is FLOAT64 and result.flags.c_contiguous:
            if not all_finite(result):
                raise not_finite(name)
        elif result.dtype.kind == "f" and not np.isfinite(result).all():
            raise not_finite(name)
    elif isinstance(result, float):
        if not math.isfinite(result):
            raise not_finite(name)
    elif isinstance(result, Result):
        checked(name, result.as_dict())
    elif isinstance(result, dict):
        for part, value in result.items():
            checked(part, value)
    elif isinstance(result, tuple):
        for value in result:
            checked(name, value)
    elif dataclasses.is_dataclass(result):
        for field in dataclasses.fields(result):
            value = getattr(result, field.name)
            if isinstance(value, np.ndarray | float):
                checked(f"{name}.{field.name}", value)
    return result


def not_finite(name: str) -> NumericalError:
    return NumericalError(f"{name}: the result is not finite; the given numbers are too large")


def result_array(
    name: str, out: Any, shape: tuple[int, ...], others: Iterable[Array] = ()
) -> Array:
    """The caller's array for results, or a new one; `others` are arguments and other results."""
    if out is None:
        return np.empty(shape)
    wanted = f"a writeable float64 array {shape}, row by row, its numbers aligned"
    if (
        not isinstance(out, np.ndarray)
        or out.dtype != np.float64
        or out.shape != shape
        or not out.flags.c_contiguous
        or not out.flags.writeable
        or not out.flags.aligned
    ):
        what = f"{out.dtype} {out.shape}" if isinstance(out, np.ndarray) else shown(out)
        raise InputError(f"{name}: {what}, expected {wanted}", name, None, wanted)
    check_unmasked(name, out)
    if any(shares_memory(out, x) for x in others):
        wanted = "memory of its own"
        message = f"{name}: shares its memory with an argument or another result, expected {wanted}"
        raise InputError(message, name, None, wanted)
    return out


def require_wanted(out: Iterable[str], wanted: Iterable[str]) -> None:
    """Refuse arrays for results that are not computed, by name."""
    names = list(wanted)
    for name in out:
        if name not in names:
            some = f"some of {', '.join(names)}"
            raise InputError(f"out: {name!r} is not wanted, expected {some}", "out", name, some)


def shares_memory(out: Array, x: Array) -> bool:
    """Whether a number of one may be one of the other."""
    if out.base is None and x.base is None:  # each has memory of its own
        return out is x
    return np.may_share_memory(out, x)
