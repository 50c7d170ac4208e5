"""What makes an operation a method: one declaration, two clients.

A class declares each operation as a static function that makes its request, with all types:

    class Computations:
        @Method
        @staticmethod
        def integrate(q, v, dt) -> Request[Array]: ...

A `Waiting` client that inherits it has methods that give an `Array`, an `Awaited` one methods that
are awaited for it.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, Self, TypeVar, overload

from torqued.client.requests.request_parts import Request

P = ParamSpec("P")
T = TypeVar("T")


class Performing:
    """What can ask a daemon."""

    def perform(self, request: Request[Any]) -> Any:
        """Ask the daemon, and give what the request makes of the reply."""
        raise NotImplementedError


class Waiting(Performing):
    """Its methods wait for the reply."""


class Awaited(Performing):
    """Its methods are awaited."""


class Method(Generic[P, T]):
    """An operation as its users see it.

    A client's class gets a plain function in its place when the method is first looked up: most
    programs use few of them.
    """

    def __init__(self, make: Callable[P, Request[T]]) -> None:
        self.make = make

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    if TYPE_CHECKING:

        @overload
        def __get__(self, client: None, kind: type) -> Self: ...

        @overload
        def __get__(self, client: Waiting, kind: type) -> Callable[P, T]: ...

        @overload
        def __get__(self, client: Awaited, kind: type) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, client: Any, kind: type) -> Any:
        if not issubclass(kind, Performing):
            return self
        setattr(kind, self.name, _function(self.make, kind))
        return getattr(kind if client is None else client, self.name)


def _function(make: Callable[..., Request[Any]], owner: type) -> Callable[..., Any]:
    import inspect

    @functools.wraps(make)
    def function(self: Performing, *args: Any, **fields: Any) -> Any:
        return self.perform(make(*args, **fields))

    function.__qualname__ = f"{owner.__qualname__}.{make.__name__}"
    taken = inspect.signature(make)
    me = inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD)
    given = str(taken.return_annotation).removeprefix("Request[").removesuffix("]")
    function.__dict__["__signature__"] = taken.replace(
        parameters=[me, *taken.parameters.values()], return_annotation=given
    )
    del function.__dict__["__wrapped__"]  # its signature lacks self
    return function
