"""Methods of `Robot` in a chart: the same signatures and docstrings, other arguments and results.

`like` is for what a chart computes in its own way, `natively` for methods of which each argument
and the result change by themselves.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Sequence
from typing import Any, Concatenate

import numpy as np

from torqued.common.results import Result
from torqued.kernels import signatures
from torqued.kernels.input_checks import map_or_none
from torqued.kernels.result_checks import finite_arithmetic, result_array
from torqued.kernels.robot.dynamics import put_into
from torqued.kernels.signatures import P, T


def like(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[[Callable[..., Any]], Callable[Concatenate[Any, P], T]]:
    """The signature of a method of `Robot` for one that takes all of its arguments in order, but
    for `out`, which is filled here."""
    has_out = "out" in inspect.signature(method).parameters

    def decorate(function: Callable[..., Any]) -> Callable[Concatenate[Any, P], T]:
        compute = finite_arithmetic(function)

        def with_out(self: Any, *values: Any) -> Any:
            found, out = compute(self, *values[:-1]), values[-1]
            return found if out is None else into(out, found, values[:-1])

        return signatures.like(method)(with_out if has_out else compute)

    return decorate


def into(out: Any, found: Any, arguments: Sequence[Any]) -> Any:
    """A result in the caller's array, several in arrays by name."""
    others = [x for x in arguments if isinstance(x, np.ndarray)]
    if isinstance(found, Result):
        fields = found.as_dict()
        put_into(map_or_none("out", out), fields, others)
        return type(found)(fields)
    array = result_array("out", out, found.shape, others)
    array[...] = found
    return array


def natively(
    method: Callable[Concatenate[Any, P], T], result: str = "same"
) -> Callable[Concatenate[Any, P], T]:
    """A method of `Robot` with q, and perhaps v, a or w, of a chart. Its result is the "same" in
    every chart, a "torque" Aᵀ τ, or has "rows" J A."""
    names = list(inspect.signature(method).parameters)[1:]
    name, moving = method.__name__, [x for x in names if x in ("v", "a", "w")]

    def compute(self: Any, q: Any, *args: Any) -> Any:
        q = self.chart.to_native(q)
        native = getattr(self.robot, name)
        if not moving and result == "same":
            return native(q, *args)
        A, own = self.chart.A(q), [self._velocity(*x) for x in zip(moving, args, strict=False)]
        changed = [A @ x for x in own]
        if "a" in moving:
            changed[-1] = changed[-1] + self.chart.A_rate(q, own[0]) @ own[0]
        found = native(q, *changed, *args[len(own) :])
        return A.T @ found if result == "torque" else found @ A if result == "rows" else found

    compute.__name__ = name
    return like(method)(compute)


def quantity(
    method: Callable[Concatenate[Any, P], T], word: str
) -> Callable[Concatenate[Any, P], T]:
    """A method of `Robot` for one of the quantities of `dynamics`."""

    def compute(self: Any, q: Any, v: Any = None) -> Any:
        return self.dynamics(q, v, (word,))[word]

    compute.__name__ = method.__name__
    return like(method)(compute)
