"""`AsyncClient`: the same requests as `Client`, for programs that run in asyncio.

async with AsyncClient("ipc:///run/user/1000/torqued/panda.sock") as client:
    r, s = await asyncio.gather(client.dynamics(q, v), client.stats())

Any number of requests may be under way at once; replies find theirs by their ids. Sessions belong
to a loop with a deadline, which asyncio is not: they are opened with `Client`.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import zmq
import zmq.asyncio

from torqued.client import codec, places
from torqued.client.client import ONCE, Result, as_array, no_reply, of_my_version
from torqued.client.errors import MessageError
from torqued.client.keys import Keys, connect, find_keys


class AsyncClient:
    """One daemon, as seen from a program in asyncio. Retries as `Client` does."""

    def __init__(
        self,
        endpoint: str,
        timeout: float = 1.0,
        retries: int = 2,
        key: str | Path | None = None,
        server_key: str | Path | None = None,
    ) -> None:
        self.endpoint = endpoint
        self._keys = find_keys(endpoint, key, server_key)
        self.timeout = timeout
        self.retries = retries
        self._context = zmq.asyncio.Context()
        self._identities = itertools.count(1)
        self._connections: dict[str, Connection] = {}

    @classmethod
    def of(cls, robot: str, timeout: float = 1.0, retries: int = 2) -> Self:
        """The daemon of that name in the user's folder for sockets."""
        return cls(places.request_endpoint(robot), timeout, retries)

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
        """Close all connections; requests under way get `asyncio.CancelledError`."""
        for connection in self._connections.values():
            await connection.close()
        self._connections.clear()
        self._context.term()

    async def call(self, operation: str, _endpoint: str | None = None, **fields: Any) -> Result:
        """Any operation by name."""
        endpoint = _endpoint or self.endpoint
        attempts = 1 if operation in ONCE else self.retries + 1
        for _ in range(attempts):
            if endpoint not in self._connections:
                self._connections[endpoint] = Connection(self._context, endpoint, self._keys)
            identity = next(self._identities)
            request = codec.request(identity, operation, fields)
            with contextlib.suppress(asyncio.TimeoutError):
                async with asyncio.timeout(self.timeout):
                    reply = await self._connections[endpoint].exchange(identity, request)
                    return Result(codec.result_of(of_my_version(reply, endpoint)))
        raise no_reply(operation, endpoint, self.timeout, attempts)

    async def hello(self) -> Result:
        """The robot, its conventions, limits and the daemon's endpoints."""
        return await self.call("hello")

    async def dynamics(self, q: Any, v: Any = None, **fields: Any) -> Result:
        """Any subset of the dynamics quantities; `want` names them, `frames` the frames."""
        if v is not None:
            fields["v"] = as_array(v)
        return await self.call("dynamics", q=as_array(q), **fields)

    async def ping(self) -> Result:
        """Whether the daemon is ready; never waits behind work."""
        return await self.call("ping", places.control_endpoint(self.endpoint))

    async def stats(self) -> Result:
        """Counters and percentiles of the loop."""
        return await self.call("stats", places.control_endpoint(self.endpoint))


class Connection:
    """One socket, and who waits for which reply. ZeroMQ reconnects it after a restart."""

    def __init__(
        self, context: zmq.asyncio.Context, endpoint: str, keys: Keys | None = None
    ) -> None:
        self._socket = context.socket(zmq.DEALER)
        self._socket.linger = 0
        connect(self._socket, endpoint, keys)
        self._waiting: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reader = asyncio.create_task(self._read())

    async def exchange(self, identity: int, request: bytes) -> dict[str, Any]:
        """Send a request and wait for its reply."""
        reply: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()
        self._waiting[identity] = reply
        try:
            await self._socket.send(request)
            return await reply
        finally:
            del self._waiting[identity]

    async def _read(self) -> None:
        while True:
            data = await self._socket.recv()
            with contextlib.suppress(MessageError):  # whoever waits for it runs out of time
                reply = codec.decode(data)
                identity = reply.get("id")
                waiting = self._waiting.get(identity) if isinstance(identity, int) else None
                if waiting is not None and not waiting.done():
                    waiting.set_result(reply)

    async def close(self) -> None:
        self._reader.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await self._reader
        for waiting in self._waiting.values():
            waiting.cancel()
        self._socket.close(linger=0)
