"""`AsyncSession`: a session for programs that run in asyncio.

async with AsyncClient("panda") as client:
    async with client.session("gravity") as session:
        tau = (await session.step(q, v)).tau

asyncio keeps no deadlines: a torque controller has its own process and `Session`. This is for
programs that watch or command a robot beside other things.
"""

from __future__ import annotations

import asyncio
import builtins
import contextlib
from collections.abc import Awaitable, Callable, Mapping
from types import TracebackType
from typing import Any, Self, TypeVar, cast

import zmq
import zmq.asyncio

from torqued.client.endpoints import reachable
from torqued.client.errors import AccessError, FieldError, TimeoutError
from torqued.client.keys import Keys, connect
from torqued.client.session import no_output, not_taken
from torqued.client.session_frames import Output, SessionFrames

T = TypeVar("T")


class AsyncSession(SessionFrames):
    """An open session; closes itself at the end of an `async with` block."""

    def __init__(
        self,
        context: zmq.asyncio.Context,
        opened: Mapping[str, Any],
        nq: int,
        nv: int,
        call: Callable[..., Awaitable[Any]],
        request: str = "",
        keys: Keys | None = None,
    ) -> None:
        super().__init__(opened, nq, nv)
        self._call = call
        self.closed = False
        self._socket = context.socket(zmq.PAIR)
        self._socket.linger = 0
        endpoint = reachable(opened["endpoint"], request)
        connect(self._socket, endpoint, keys, opened.get("server_key"))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the session; the daemon's last frame has zero torque.

        A daemon that is gone, or has been started anew, has no such session: nothing to do.
        """
        if self.closed:
            return
        self.closed = True
        try:
            with contextlib.suppress(TimeoutError, FieldError, AccessError):
                await self._call("close", session=self.number)
        finally:
            self._socket.close(linger=0)

    async def tune(self, gains: Mapping[str, Any], over: float = 0.1) -> None:
        """Change gains, gradually over so many seconds; those not given stay as they are."""
        await self._call("tune", session=self.number, gains=dict(gains), over=over)

    def send(self, q: Any, v: Any, *references: Any, at: float | None = None, **named: Any) -> int:
        """Send a state without waiting; returns its sequence number.

        References follow in their order, or by name; those not given stay as they were. `at` is
        the time of measurement in s, for laws that learn and for observers; by default now.
        """
        frame = self._pack(q, v, references, named, at)
        try:
            at_once(self._socket.send(frame, zmq.DONTWAIT))
        except zmq.Again:
            raise not_taken() from None
        return self._sequence

    def latest(self) -> Output | None:
        """The newest output that has come, or None."""
        newest = None
        with contextlib.suppress(zmq.Again):
            while True:
                newest = at_once(self._socket.recv(zmq.DONTWAIT))
        return self._parse(newest) if newest is not None else None

    async def receive(self, timeout: float = 1.0) -> Output:
        """The next output."""
        try:
            async with asyncio.timeout(timeout):
                return self._parse(await self._socket.recv())
        except builtins.TimeoutError:
            raise no_output(timeout) from None

    async def step(
        self,
        q: Any,
        v: Any,
        *references: Any,
        timeout: float = 1.0,
        at: float | None = None,
        **named: Any,
    ) -> Output:
        """Send a state and wait for the output that used it (or a newer one)."""
        sequence = self.send(q, v, *references, at=at, **named)
        try:
            async with asyncio.timeout(timeout):
                while (output := self._parse(await self._socket.recv())).sequence < sequence:
                    pass
                return output
        except builtins.TimeoutError:
            raise TimeoutError(f"no output for state {sequence} within {timeout} s") from None


def at_once(call: Awaitable[T]) -> T:
    """The result of a call with DONTWAIT: a future that is done when the call returns."""
    return cast("asyncio.Future[T]", call).result()
