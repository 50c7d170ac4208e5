"""`AsyncClient`: the same requests as `Client`, for programs that run in asyncio.

async with AsyncClient("ipc:///run/user/1000/torqued/panda.sock") as client:
    r, s = await asyncio.gather(client.dynamics(q, v), client.stats())

Any number of requests may be under way at once; replies find theirs by their ids.
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

from torqued.client import codec
from torqued.client import endpoints as places
from torqued.client.async_session import AsyncSession
from torqued.client.client import (
    ONCE,
    Array,
    Result,
    as_array,
    no_reply,
    of_my_version,
    patience,
    stacked,
)
from torqued.client.errors import MessageError
from torqued.client.keys import Keys, connect, find_keys
from torqued.common.errors import TorquedError


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
        self._sessions: list[AsyncSession] = []

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
        """Close all sessions and connections; requests under way get `asyncio.CancelledError`."""
        for session in self._sessions:
            with contextlib.suppress(TorquedError):
                await session.close()
        self._sessions.clear()
        for connection in self._connections.values():
            await connection.close()
        self._connections.clear()
        self._context.term()

    @property
    def control_endpoint(self) -> str:
        """Where introspection goes: beside the request socket."""
        return places.control_endpoint(self.endpoint)

    async def call(
        self,
        operation: str,
        endpoint: str | None = None,
        timeout: float | None = None,
        /,
        **fields: Any,
    ) -> Result:
        """Any operation by name, at the request endpoint unless another is given."""
        endpoint = endpoint or self.endpoint
        timeout = patience(operation, self.timeout) if timeout is None else timeout
        attempts = 1 if operation in ONCE else self.retries + 1
        for _ in range(attempts):
            if endpoint not in self._connections:
                self._connections[endpoint] = Connection(self._context, endpoint, self._keys)
            identity = next(self._identities)
            request = codec.request(identity, operation, fields)
            with contextlib.suppress(asyncio.TimeoutError):
                async with asyncio.timeout(timeout):
                    reply = await self._connections[endpoint].exchange(identity, request)
                    return Result(codec.result_of(of_my_version(reply, endpoint)))
        raise no_reply(operation, endpoint, timeout, attempts)

    async def hello(self) -> Result:
        """The robot, its conventions, limits and the daemon's endpoints."""
        return await self.call("hello")

    async def dynamics(self, q: Any, v: Any = None, **fields: Any) -> Result:
        """Any subset of the dynamics quantities; `want` names them, `frames` the frames."""
        if v is not None:
            fields["v"] = as_array(v)
        return await self.call("dynamics", q=as_array(q), **fields)

    async def inverse_dynamics(self, q: Any, v: Any, a: Any, **fields: Any) -> Array:
        """Torques for accelerations a."""
        state = {"q": as_array(q), "v": as_array(v), "a": as_array(a)}
        tau: Array = (await self.call("inverse_dynamics", **state, **fields)).tau
        return tau

    async def forward_dynamics(self, q: Any, v: Any, tau: Any, **fields: Any) -> Array:
        """Accelerations under torques tau."""
        state = {"q": as_array(q), "v": as_array(v), "tau": as_array(tau)}
        a: Array = (await self.call("forward_dynamics", **state, **fields)).a
        return a

    async def batch(self, operation: str, *, timeout: float | None = None, **fields: Any) -> Result:
        """An operation for many states: q, v, a, tau, w, b, dt with one more dimension in front.

        So are the results. Computed beside everything else, within `timeout` (default 60) s.
        """
        return await self.call("batch", None, timeout, operation=operation, **stacked(fields))

    async def reload(self, *, timeout: float | None = None) -> Result:
        """Have the daemon load its robot anew; refused while sessions are open."""
        return await self.call("reload", self.control_endpoint, timeout)

    async def session(self, law: str = "stream", **fields: Any) -> AsyncSession:
        """A session with the loop; `async with await client.session(…) as session` closes it.

        `hello` goes first, as in `Client.session`.
        """
        await self.hello()
        opened = await self.call("open", law=law, **fields)

        try:
            session = AsyncSession(
                self._context,
                opened.as_dict(),
                self.call,
                self.endpoint,
                self._keys,
            )
        except BaseException:
            with contextlib.suppress(TorquedError):
                await self.call("close", session=opened.session)
            raise
        self._sessions = [*(other for other in self._sessions if not other.closed), session]
        return session

    async def control(self, law: str, q: Any, v: Any, **fields: Any) -> Result:
        """One torque of a control law, without a session."""
        return await self.call("control", law=law, q=as_array(q), v=as_array(v), **fields)

    async def ping(self) -> Result:
        """Whether the daemon is ready; never waits behind work."""
        return await self.call("ping", self.control_endpoint)

    async def stats(self) -> Result:
        """Counters and percentiles of the loop."""
        return await self.call("stats", self.control_endpoint)


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
