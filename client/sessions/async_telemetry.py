"""`AsyncTelemetry`: published statistics of a daemon, for programs that run in asyncio."""

from __future__ import annotations

import asyncio
import builtins

import zmq.asyncio

from torqued.client.context_manager import AsyncContextManager
from torqued.client.keys import Keys
from torqued.client.requests.results import Stats
from torqued.client.sessions.async_session import at_once
from torqued.client.sessions.telemetry import nothing_published, require_open, stats_in, subscribed


class AsyncTelemetry(AsyncContextManager):
    """A subscription; closes itself at the end of an `async with` block."""

    def __init__(
        self, context: zmq.asyncio.Context, endpoint: str, keys: Keys | None = None
    ) -> None:
        self._socket: zmq.asyncio.Socket = subscribed(context.socket(zmq.SUB), endpoint, keys)

    def close(self) -> None:
        """End the subscription."""
        self._socket.close(linger=0)

    def latest(self) -> Stats | None:
        """The newest statistics that have come, or None."""
        require_open(self._socket)
        try:
            return stats_in(at_once(self._socket.recv(zmq.DONTWAIT)))
        except zmq.Again:
            return None

    async def receive(self, timeout: float = 1.0) -> Stats:
        """The next statistics."""
        require_open(self._socket)
        try:
            async with asyncio.timeout(timeout):
                return stats_in(await self._socket.recv())
        except builtins.TimeoutError:
            raise nothing_published(timeout) from None
