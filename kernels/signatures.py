"""One signature for one method: that of `Robot`, also for many states and in a chart."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any, Concatenate, ParamSpec, TypeVar

P = ParamSpec("P")
T = TypeVar("T")


def like(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[[Callable[..., Any]], Callable[Concatenate[Any, P], T]]:
    """Signature and docstring of a method for another one, which takes all arguments in order."""
    signature = inspect.signature(method)
    parameters = list(signature.parameters.values())[1:]
    defaults = tuple(parameter.default for parameter in parameters)
    required = defaults.count(inspect.Parameter.empty)
    positional = sum(parameter.kind != parameter.KEYWORD_ONLY for parameter in parameters)

    def decorate(function: Callable[..., Any]) -> Callable[Concatenate[Any, P], T]:
        @functools.wraps(method)
        def call(self: Any, /, *args: P.args, **options: P.kwargs) -> T:
            if not options and required <= len(args) <= positional:  # without the time of `bind`
                return function(self, *args, *defaults[len(args) :])  # type: ignore[no-any-return]
            given = signature.bind(self, *args, **options)
            given.apply_defaults()
            return function(*given.arguments.values())  # type: ignore[no-any-return]

        return call

    return decorate
