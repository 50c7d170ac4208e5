"""`Client`: requests to a daemon, and sessions with its loop.

with Client("panda") as client:
    r = client.dynamics(q, v, want=("M", "C", "g"))
    with client.session("gravity", gains={"damping": 1.0}) as session:
        tau = session.step(q, v).tau

Methods of the operations are declared in requests/computations.py, orders.py and administration.py
there, their results in results.py.
"""

from __future__ import annotations

import contextlib
import os
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import zmq

from torqued.client import codec
from torqued.client.base_client import (
    POLL_INTERVAL,
    SILENCE,
    BaseClient,
    fields_for,
    no_reply,
    not_ready,
    require_listening,
    state_of,
)
from torqued.client.context import Context
from torqued.client.context_manager import ContextManager
from torqued.client.errors import TimeoutError
from torqued.client.requests.methods import Waiting
from torqued.client.requests.operation_table import LONG
from torqued.client.requests.request_parts import Request
from torqued.client.requests.results import Result
from torqued.common.errors import TorquedError

if TYPE_CHECKING:
    from torqued.client.memory.batch_memory import BatchMemory
    from torqued.client.requests.coordinates import ClientInCoordinates
    from torqued.client.sessions.arm import Arm
    from torqued.client.sessions.session import Session
    from torqued.client.sessions.telemetry import Telemetry


class Client(BaseClient["Session"], Waiting, ContextManager):
    """A connection to one daemon. Do not share it between threads.

    `daemon` is its name, as `torqued serve` prints it, or its request endpoint.

    A request without a reply within `timeout` seconds (default 1) is sent again, `retries` times,
    over a new connection, except those in `operation_table.ONCE`, which must not happen twice.
    Replies carry the id of their request, so a late one is never mistaken. A local daemon that has
    ended is noticed at once. Sessions wait `timeout` s for an output too; by default as long as the
    daemon would hold a torque without states, `Session.timeout`.

    Over TCP, `key` is the file that `torqued keys new` made, or a secret key; `server_key` the
    daemon's public key or its file, if the key's file lacks it.
    """

    def __init__(
        self,
        daemon: str,
        timeout: float | None = None,
        retries: int = 2,
        key: str | Path | None = None,
        server_key: str | Path | None = None,
    ) -> None:
        super().__init__(daemon, timeout, retries, key, server_key)
        self._context = Context()
        self._sockets: dict[str, zmq.Socket[bytes]] = {}
        self._sessions: list[Session] = []
        self._batch_memory: BatchMemory | None = None  # from the first batch on

    def close(self) -> None:
        """Close all sessions and connections."""
        for session in self._sessions:
            with contextlib.suppress(TorquedError):
                session.close()
        self._sessions.clear()
        self.closed = True
        if self._batch_memory is not None:
            self._batch_memory.close()
        for socket in self._sockets.values():
            socket.close(linger=0)
        self._sockets.clear()
        self._context.end()

    def perform(self, request: Request[Any]) -> Any:
        """Send a request; the result that it makes of the reply."""
        if request.operation == "batch":
            return self._perform_batch(request)
        return request.result(self._ask(request.operation, None, request.timeout, request.fields))

    def _perform_batch(self, request: Request[Any]) -> Any:
        """Through shared memory, or with arrays in the message."""

        def ask(fields: dict[str, Any]) -> dict[str, Any]:
            return self._ask("batch", None, request.timeout, fields)

        memory = self._shared_memory()
        fields = request.fields
        return request.result(ask(fields) if memory is None else memory.perform(fields, ask))

    def _shared_memory(self) -> BatchMemory | None:
        """The memory shared with a daemon on this machine; None if it cannot be shared."""
        self._require_open()
        if self._batch_memory is not None:
            if self._batch_memory.is_usable:
                return self._batch_memory
            self._batch_memory.close()
            self._batch_memory = None
        if not self.endpoint.startswith("ipc://") or not hasattr(os, "memfd_create"):
            return None
        from torqued.client.memory.batch_memory import BatchMemory  # rarely needed

        with contextlib.suppress(OSError, TorquedError):
            self._batch_memory = BatchMemory(self.endpoint, self.timeout)
        return self._batch_memory

    def call(
        self,
        operation: str,
        endpoint: str | None = None,
        timeout: float | None = None,
        /,
        **fields: Any,
    ) -> Result:
        """Any operation by name, at its own endpoint unless another is given."""
        return Result(self._ask(operation, endpoint, timeout, fields))

    def _ask(
        self,
        operation: str,
        endpoint: str | None,
        timeout: float | None,
        fields: dict[str, Any],
    ) -> dict[str, Any]:
        """The fields of the reply."""
        endpoint, timeout, attempts = self._plan(operation, endpoint, timeout)
        if operation in LONG and not self._heard_recently():
            self._find(operation)
        for _ in range(attempts):
            result = self._exchange(endpoint, operation, fields, timeout)
            if result is not None:
                self._heard = time.monotonic()
                return result
            self._disconnect(endpoint)
        raise no_reply(operation, endpoint, timeout, attempts)

    def _find(self, operation: str) -> None:
        """Check that the daemon runs before waiting long for it."""
        try:
            self._ask("ping", None, None, {})
        except TimeoutError as error:
            raise TimeoutError(f"{operation}: {error}") from None

    def _exchange(
        self,
        endpoint: str,
        operation: str,
        fields: dict[str, Any],
        timeout: float,
    ) -> dict[str, Any] | None:
        """Send a request once; the fields of its reply, or None after the timeout."""
        socket = self._connected(endpoint)
        identity = next(self._identities)
        socket.send(codec.request(identity, operation, fields))
        deadline = time.monotonic() + timeout
        while True:
            try:
                # `recv` waits; polling first would be slower.
                result = fields_for(identity, socket.recv(), endpoint)
                if result is not None:
                    return result
            except zmq.Again:
                require_listening(operation, endpoint)
            if time.monotonic() > deadline:
                return None

    def _connected(self, endpoint: str) -> zmq.Socket[bytes]:
        if endpoint not in self._sockets:
            socket = self._new_socket(self._context, endpoint)
            # In ms, where 0 and -1 have other meanings.
            socket.rcvtimeo = max(1, round(1000 * min(SILENCE, self.timeout)))
            self._sockets[endpoint] = socket
        return self._sockets[endpoint]

    def _disconnect(self, endpoint: str) -> None:
        self._sockets.pop(endpoint).close(linger=0)

    def wait_ready(self, timeout: float = 60.0) -> None:
        """Wait until the daemon runs and is ready; TimeoutError if that takes over `timeout` s.

        For programs that start together with it: until then, other requests raise.
        """
        state, end = "not asked", time.monotonic() + timeout
        while (left := end - time.monotonic()) > 0.0:
            try:
                reply = self._ask("ping", None, min(left, self.timeout), {})
                if reply["ready"]:
                    return
                state = state_of(reply)
            except TimeoutError as error:
                state = str(error)
            time.sleep(POLL_INTERVAL)
        raise not_ready(self.endpoint, timeout, state)

    def in_coordinates(self, coordinates: str) -> ClientInCoordinates:
        """This client with q, v, a, τ and results in another layout; docs/COORDINATES.md."""
        from torqued.client.requests.coordinates import ClientInCoordinates

        return ClientInCoordinates(self, coordinates)

    def telemetry(self) -> Telemetry:
        """A subscription to the daemon's statistics; close it before this client."""
        from torqued.client.sessions.telemetry import Telemetry

        self._require_open()
        return Telemetry(self._context, self.telemetry_endpoint, self._keys)

    def arm(
        self, session: int | None = None, *, take_over: bool = False, lease: float = 1.0
    ) -> Arm:
        """Command a robot whose driver, in another process, has a session open.

        `session` is its number if several give torques. `take_over` takes it from another
        commander. If this process is silent for `lease` s, the robot holds.
        """
        from torqued.client.sessions.arm import Arm, only_torque_session

        if session is None:
            session = only_torque_session(self.sessions())
        keys = self._keys
        own = Client(
            self.endpoint,
            self.timeout,
            self.retries,
            keys.secret.decode() if keys else None,
            keys.server.decode() if keys else None,
        )
        try:
            return Arm(own, session, take_over, lease)
        except BaseException:
            own.close()
            raise

    def _open(self, fields: dict[str, Any]) -> Session:
        """`hello` goes first: it may be repeated, and makes sure of a working connection for
        `open`, which must not be repeated."""
        from torqued.client.sessions.session import Session

        self.hello()
        opened = self.call("open", **fields)
        try:
            described = {"frames": fields.get("frames") or (), **opened.as_dict()}
            session = Session(
                self._context, described, self.call, self.endpoint, self._keys, self._given_timeout
            )
        except BaseException:
            with contextlib.suppress(TorquedError):
                self.call("close", session=opened.session)
            raise
        self._sessions = [*(other for other in self._sessions if not other.closed), session]
        return session
