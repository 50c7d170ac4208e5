"""`AsyncClient`: the same requests as `Client`, for programs that run in asyncio.

async with AsyncClient("panda") as client:
    r, s = await asyncio.gather(client.dynamics(q, v), client.stats())
    async with client.session("gravity") as session:
        tau = (await session.step(q, v)).tau

Any number of requests may be under way at once; ids match replies to requests.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Coroutine, Generator, Mapping
from pathlib import Path
from typing import Any

import zmq.asyncio

from torqued.client import codec
from torqued.client.base_client import (
    POLL_INTERVAL,
    SILENCE,
    BaseClient,
    no_reply,
    not_ready,
    require_listening,
    require_protocol_version,
    state_of,
)
from torqued.client.context_manager import AsyncContextManager
from torqued.client.errors import MessageError, TimeoutError
from torqued.client.requests.coordinates import AsyncClientInCoordinates
from torqued.client.requests.methods import Awaited
from torqued.client.requests.operation_table import LONG
from torqued.client.requests.request_parts import Request
from torqued.client.requests.results import Result
from torqued.client.sessions.async_session import AsyncSession
from torqued.client.sessions.async_telemetry import AsyncTelemetry
from torqued.common.errors import TorquedError


class AsyncClient(BaseClient["Opening"], Awaited, AsyncContextManager):
    """A connection to one daemon, for asyncio. Arguments and retries as in `Client`."""

    def __init__(
        self,
        daemon: str,
        timeout: float | None = None,
        retries: int = 2,
        key: str | Path | None = None,
        server_key: str | Path | None = None,
    ) -> None:
        super().__init__(daemon, timeout, retries, key, server_key)
        self._context = zmq.asyncio.Context()
        self._connections: dict[str, Connection] = {}
        self._sessions: list[AsyncSession] = []

    async def close(self) -> None:
        """Close all sessions and connections; requests under way get `asyncio.CancelledError`."""
        for session in self._sessions:
            with contextlib.suppress(TorquedError):
                await session.close()
        self._sessions.clear()
        self.closed = True
        for connection in self._connections.values():
            await connection.close()
        self._connections.clear()
        self._context.destroy(linger=0)  # also sockets of interrupted requests

    async def perform(self, request: Request[Any]) -> Any:
        """Send a request; the result that it makes of the reply."""
        return request.result(
            await self._ask(request.operation, None, request.timeout, request.fields)
        )

    async def call(
        self,
        operation: str,
        endpoint: str | None = None,
        timeout: float | None = None,
        /,
        **fields: Any,
    ) -> Result:
        """Any operation by name, at its own endpoint unless another is given."""
        return Result(await self._ask(operation, endpoint, timeout, fields))

    async def _ask(
        self,
        operation: str,
        endpoint: str | None,
        timeout: float | None,
        fields: Mapping[str, Any],
    ) -> dict[str, Any]:
        """The fields of the reply."""
        endpoint, timeout, attempts = self._plan(operation, endpoint, timeout)
        if operation in LONG and not self._heard_recently():
            await self._find(operation)
        for _ in range(attempts):
            if endpoint not in self._connections:
                socket = self._new_socket(self._context, endpoint)
                self._connections[endpoint] = Connection(socket)
            identity = next(self._identities)
            request = codec.request(identity, operation, fields)
            exchange = self._connections[endpoint].exchange(identity, request)
            reply = await self._reply(exchange, operation, endpoint, timeout)
            if reply is not None:
                self._heard = time.monotonic()
                require_protocol_version(reply, endpoint)
                return codec.result_of(reply)
        raise no_reply(operation, endpoint, timeout, attempts)

    @staticmethod
    async def _reply(
        exchange: Coroutine[Any, Any, dict[str, Any]],
        operation: str,
        endpoint: str,
        timeout: float,
    ) -> dict[str, Any] | None:
        """The reply to a request, or None after the timeout."""
        task, deadline = asyncio.ensure_future(exchange), time.monotonic() + timeout
        try:
            while (left := deadline - time.monotonic()) > 0.0:
                done, _ = await asyncio.wait([task], timeout=min(left, SILENCE))
                if done:
                    return task.result()
                require_listening(operation, endpoint)
            return None
        finally:
            task.cancel()

    async def _find(self, operation: str) -> None:
        """Check that the daemon runs before waiting long for it."""
        try:
            await self._ask("ping", None, None, {})
        except TimeoutError as error:
            raise TimeoutError(f"{operation}: {error}") from None

    async def wait_ready(self, timeout: float = 60.0) -> None:
        """Wait until the daemon runs and is ready; TimeoutError if that takes over `timeout` s.

        For programs that start together with it: until then, other requests raise.
        """
        state, end = "not asked", time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0.0:
            try:
                reply = await self._ask("ping", None, min(left, self.timeout), {})
                if reply["ready"]:
                    return
                state = state_of(reply)
            except TimeoutError as error:
                state = str(error)
            await asyncio.sleep(POLL_INTERVAL)
        raise not_ready(self.endpoint, timeout, state)

    def in_coordinates(self, coordinates: str) -> AsyncClientInCoordinates:
        """This client in another layout, as `Client.in_coordinates`."""
        return AsyncClientInCoordinates(self, coordinates)

    def telemetry(self) -> AsyncTelemetry:
        """A subscription to the daemon's statistics; close it before this client."""
        self._require_open()
        return AsyncTelemetry(self._context, self.telemetry_endpoint, self._keys)

    def _open(self, fields: dict[str, Any]) -> Opening:
        return Opening(lambda: self._opened(fields))

    async def _opened(self, fields: Mapping[str, Any]) -> AsyncSession:
        """`hello` goes first, as in `Client`."""
        await self.hello()
        opened = await self.call("open", **fields)
        try:
            described = {"frames": fields.get("frames") or (), **opened.as_dict()}
            session = AsyncSession(
                self._context, described, self.call, self.endpoint, self._keys, self._given_timeout
            )
        except BaseException:
            with contextlib.suppress(TorquedError):
                await self.call("close", session=opened.session)
            raise
        self._sessions = [*(other for other in self._sessions if not other.closed), session]
        return session


class Opening:
    """A session about to be opened: await it, or enter it with `async with`, which closes it."""

    def __init__(self, open_session: Callable[[], Coroutine[Any, Any, AsyncSession]]) -> None:
        self._open = open_session
        self._session: AsyncSession | None = None

    def __await__(self) -> Generator[Any, None, AsyncSession]:
        return self._open().__await__()

    async def __aenter__(self) -> AsyncSession:
        self._session = await self._open()
        return self._session

    async def __aexit__(self, *error: object) -> None:
        if self._session is not None:
            await self._session.close()


class Connection:
    """One socket, and the requests that wait for replies. ZeroMQ reconnects it."""

    def __init__(self, socket: zmq.asyncio.Socket) -> None:
        self._socket = socket
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
            with contextlib.suppress(MessageError):  # its request times out
                reply = codec.decode_reply(data)
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
