"""Results that are not finite are errors: numbers that overflow are no dynamics.

`in_any_coordinates` and `finite` wrap every method of `Robot` and of `ChartedRobot` that computes,
so that this is told in one place, as are the coordinates.
"""

from __future__ import annotations

import dataclasses
import functools
import inspect
import math
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from torqued.common.errors import NumericalError
from torqued.kernels.primitives.array_checks import all_finite

FLOAT64 = np.dtype(np.float64)
NATIVE = "native"

Method = TypeVar("Method", bound=Callable[..., Any])


#: A method that computes natively, as a face on all coordinates. Written out with the method's own
#: parameters, since passing on any number of arguments takes as long as a small kernel.
FACE = """
def {name}({parameters}):
    if coordinates is NATIVE or (isinstance(coordinates, str) and coordinates == NATIVE):
        return checked({name!r}, natively({arguments}))
    return self.in_coordinates(coordinates).{name}({own_arguments})
"""


def in_any_coordinates(method: Method) -> Method:
    """A method of `Robot` that computes natively, with `coordinates=` for other charts.

    Sugar: robot.method(…, coordinates=c) is robot.in_coordinates(c).method(…).
    """
    parameters = inspect.signature(method).parameters
    defaults = {name: p.default for name, p in parameters.items() if p.default is not p.empty}
    positional = [name for name in parameters if name != "coordinates"]
    listed = [f"{name}=defaults[{name!r}]" if name in defaults else name for name in positional]
    source = FACE.format(
        name=method.__name__,
        parameters=", ".join([*listed, "*", "coordinates=NATIVE"]),
        arguments=", ".join(positional),
        own_arguments=", ".join(positional[1:]),
    )
    scope = {"NATIVE": NATIVE, "checked": checked, "natively": method, "defaults": defaults}
    exec(compile(source, __file__, "exec"), scope)
    face: Any = scope[method.__name__]
    return functools.wraps(method)(face)  # type: ignore[return-value]


def finite(method: Method) -> Method:
    """A method whose results are finite, or an error; made of numpy's arithmetic."""
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
