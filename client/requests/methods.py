"""The operations as methods: one table, two clients.

`Methods` declares each operation once, with its types. A client that inherits it has a function
for each: `Client` calls wait, `AsyncClient` calls are awaited.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Generic, ParamSpec, TypeVar, overload

from torqued.client.requests import constrained_operations, operations
from torqued.client.requests.request_parts import Request

if TYPE_CHECKING:
    from torqued.client.async_client import AsyncClient
    from torqued.client.client import Client

P = ParamSpec("P")
T = TypeVar("T")


class Method(Generic[P, T]):
    """An operation as its users see it.

    A client's class gets a plain function in its place when the method is first looked up: most
    programs use few of them.
    """

    def __init__(self, make: Callable[P, Request[T]]) -> None:
        self.make = make

    if TYPE_CHECKING:

        @overload
        def __get__(self, client: Client, kind: type) -> Callable[P, T]: ...

        @overload
        def __get__(
            self, client: AsyncClient, kind: type
        ) -> Callable[P, Coroutine[Any, Any, T]]: ...

    def __get__(self, client: Any, kind: type) -> Any:
        function = _function(self.make, kind)
        setattr(kind, self.make.__name__, function)
        return getattr(kind if client is None else client, self.make.__name__)


class Methods:
    """A method for every operation."""

    hello = Method(operations.hello)
    dynamics = Method(operations.dynamics)
    inverse_dynamics = Method(operations.inverse_dynamics)
    forward_dynamics = Method(operations.forward_dynamics)
    solve_mass = Method(operations.solve_mass)
    coriolis_product = Method(operations.coriolis_product)
    kinematics = Method(operations.kinematics)
    contact_dynamics = Method(constrained_operations.contact_dynamics)
    impact = Method(constrained_operations.impact)
    constraint_terms = Method(constrained_operations.constraint_terms)
    assemble = Method(constrained_operations.assemble)
    constrained_inverse_dynamics = Method(constrained_operations.constrained_inverse_dynamics)
    derivatives = Method(operations.derivatives)
    integrate = Method(operations.integrate)
    inverse_kinematics = Method(operations.inverse_kinematics)
    control = Method(operations.control)
    payload = Method(operations.payload)
    batch = Method(operations.batch)
    take = Method(operations.take)
    give = Method(operations.give)
    hold = Method(operations.hold)
    move = Method(operations.move)
    command = Method(operations.command)
    resume = Method(operations.resume)
    look = Method(operations.look)
    stop = Method(operations.stop)
    recover = Method(operations.recover)
    simulate = Method(operations.simulate)
    ping = Method(operations.ping)
    stats = Method(operations.stats)
    sessions = Method(operations.sessions)
    reload = Method(operations.reload)
    log_level = Method(operations.log_level)
    recorder = Method(operations.recorder)
    shutdown = Method(operations.shutdown)

    def perform(self, request: Request[Any]) -> Any:
        """Ask the daemon, and give what the request makes of the reply."""
        raise NotImplementedError


def _function(make: Callable[..., Request[Any]], owner: type[Methods]) -> Callable[..., Any]:
    import inspect

    @functools.wraps(make)
    def function(self: Methods, *args: Any, **fields: Any) -> Any:
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
