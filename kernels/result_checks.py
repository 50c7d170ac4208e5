"""Results: those that are not finite are errors, and where they go if the caller says so.

`finite` and `finite_arithmetic` wrap every method of `Robot` and of `ChartedRobot` that computes.
"""

from __future__ import annotations

import dataclasses
import functools
import math
from collections.abc import Callable, Iterable
from typing import Any, TypeVar

import numpy as np

from torqued.common.errors import InputError, NumericalError
from torqued.common.results import Result
from torqued.kernels.input_checks import shown
from torqued.kernels.model.description import Array
from torqued.kernels.primitives.array_checks import all_finite

FLOAT64 = np.dtype(np.float64)

Method = TypeVar("Method", bound=Callable[..., Any])


def finite(method: Method) -> Method:
    """A method whose results are finite, or an error."""
    name = method.__name__

    @functools.wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        return checked(name, method(*arguments, **options))

    return call  # type: ignore[return-value]


def finite_arithmetic(method: Method) -> Method:
    """The same for a method made of numpy's arithmetic, whose own warnings would come first."""
    name = method.__name__

    @functools.wraps(method)
    def call(*arguments: Any, **options: Any) -> Any:
        with np.errstate(over="ignore", invalid="ignore"):
            return checked(name, method(*arguments, **options))

    return call  # type: ignore[return-value]


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
    if any(shares_memory(out, x) for x in others):
        wanted = "memory of its own"
        message = f"{name}: shares its memory with an argument or another result, expected {wanted}"
        raise InputError(message, name, None, wanted)
    return out


def shares_memory(out: Array, x: Array) -> bool:
    """Whether a number of one may be one of the other."""
    if out.base is None and x.base is None:  # each has memory of its own
        return out is x
    return np.may_share_memory(out, x)
