"""`AsyncTelemetry`: published statistics of a daemon, for programs that run in asyncio."""

from __future__ import annotations

import asyncio
import builtins

import zmq

from torqued.client.context_manager import AsyncContextManager
from torqued.client.requests.results import Stats
from torqued.client.sessions.async_session import at_once
from torqued.client.sessions.telemetry import BaseTelemetry, nothing_published, stats_in


class AsyncTelemetry(BaseTelemetry, AsyncContextManager):
    """A subscription; closes itself at the end of an `async with` block."""

    def latest(self) -> Stats | None:
        """The newest statistics that have come, or None."""
        try:
            return stats_in(at_once(self._open_socket().recv(zmq.DONTWAIT)))
        except zmq.Again:
            return None

    async def receive(self, timeout: float = 1.0) -> Stats:
        """The next statistics."""
        socket = self._open_socket()
        try:
            async with asyncio.timeout(timeout):
                return stats_in(await socket.recv())
        except builtins.TimeoutError:
            raise nothing_published(timeout) from None
