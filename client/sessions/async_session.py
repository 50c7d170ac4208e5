"""`AsyncSession`: a session for programs that run in asyncio.

async with AsyncClient("panda") as client:
    async with client.session("gravity") as session:
        tau = (await session.step(q, v)).tau

asyncio keeps no deadlines: a torque controller has its own process and `Session`. This is for
programs that watch or command a robot among other things.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar, cast

from torqued.client.context_manager import AsyncContextManager
from torqued.client.errors import AccessError, FieldError, TimeoutError
from torqued.client.sessions.base_session import BaseSession, no_output, pause_before_sending_again
from torqued.client.sessions.session_frames import NO_STATE, Output
from torqued.client.sessions.transports import SocketTransport

T = TypeVar("T")

#: s that a thread waits for shared memory: its task may have been cancelled.
POLL_INTERVAL = 0.05


class AsyncSession(
    BaseSession[Coroutine[Any, Any, None], Coroutine[Any, Any, float]], AsyncContextManager
):
    """An open session; closes itself at the end of an `async with` block."""

    def _at_once(self, call: Any) -> Any:
        return at_once(call)

    def _leave(self) -> None:
        """Stay connected until `close`: other tasks may be waiting for this socket."""

    async def close(self) -> None:
        """Close the session; the daemon's last frame has zero torque.

        A daemon that has ended or was restarted has no such session: nothing to do.
        """
        if self.closed:
            return
        self.closed = True
        try:
            if self._last is None:
                with contextlib.suppress(TimeoutError, FieldError, AccessError):
                    await self._call("close", session=self.number)
        finally:
            self._transport.close()

    async def _order(self, operation: str, take: Callable[[Any], Any], **fields: Any) -> Any:
        return take(await self._call(operation, session=self.number, **fields))

    async def receive(self, timeout: float | None = None, sequence: int = NO_STATE) -> Output:
        """The next output that is fresh, within `timeout` s, by default `self.timeout`.

        With `sequence`, which `send` has returned last, the next one that has seen that state.
        """
        return await self._next(sequence, timeout)

    async def step(
        self,
        q: Any,
        v: Any = None,
        *references: Any,
        timeout: float | None = None,
        at: float | None = None,
        **named: Any,
    ) -> Output:
        """Send a state and wait for the output that has seen it, or a newer one.

        If none comes within `timeout` s, by default `self.timeout`, TimeoutError: do what is safe
        without the daemon, as `examples/session.py` shows. If the state was refused, or the session
        has ended, the output says so.
        """
        return await self._next(self.send(q, v, *references, at=at, **named), timeout)

    async def _next(self, sequence: int, timeout: float | None) -> Output:
        """The next fresh output that has seen that state, or the one that ended the session."""
        timeout = self.timeout if timeout is None else timeout
        if self._last is not None:
            return self._last
        pause = timeout if sequence == NO_STATE else pause_before_sending_again(timeout)
        clock = asyncio.get_running_loop().time
        again, deadline = clock() + pause, clock() + timeout
        while True:
            try:
                async with asyncio.timeout_at(min(again, deadline)):
                    while (output := self._accept(await self._arrival(), sequence)) is None:
                        pass
                    return output
            except builtins.TimeoutError:
                if clock() >= deadline:
                    raise no_output(timeout, sequence) from None
                self._transport.send(self._frame)
                again = clock() + pause

    async def _arrival(self) -> bytes:
        """The next output, of any age."""
        transport = self._transport
        if isinstance(transport, SocketTransport):
            return cast(bytes, await transport.socket.recv())
        while (data := transport.newest()) is None:
            await asyncio.to_thread(transport.wait, POLL_INTERVAL)
        return data


def at_once(call: Awaitable[T]) -> T:
    """The result of a call with DONTWAIT: a future that is done when the call returns."""
    return cast("asyncio.Future[T]", call).result()
