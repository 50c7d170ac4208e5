"""Doors: the sockets of one transport, and how a message tells who sent it.

Local sockets and TCP have sockets of their own, so that a local request pays nothing for the
checks that TCP needs. A session belongs to the door through which it was opened.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import zmq

from torqued.client import errors
from torqued.client.codec import LARGEST_MESSAGE
from torqued.client.endpoints import control_endpoint, telemetry_endpoint
from torqued.server.access.rate_limits import MANY
from torqued.server.access.rights import ADMINISTRATE, Caller
from torqued.server.transport.endpoints import EndpointError, Endpoints
from torqued.server.transport.framing import Message

Socket = zmq.Socket[bytes]

#: Name of a socket → its type, and the largest frame that it takes, bytes, handshakes too. What
#: comes in on telemetry are subscriptions, each byte of which takes many bytes of memory.
KINDS = {
    "request": (zmq.ROUTER, LARGEST_MESSAGE),
    "control": (zmq.ROUTER, 64 * 1024),
    "telemetry": (zmq.PUB, 1024),
}
#: Requests that are taken in for each connection before the next wait at their sender, and replies
#: that wait for each before its further requests are refused as `busy`.
RECEIVE_QUEUE = 64
SEND_QUEUE = 1000


class Arrival(NamedTuple):
    """A message as it came."""

    socket: Socket
    route: list[bytes]  # what a reply has to begin with
    data: bytes | None  # None: it had other frames than a request has
    caller: Caller  # who sent it


class Door(ABC):
    """The request, control and telemetry sockets of one transport."""

    name = "local"  # of callers without a key
    all_are_equal = True  # whether every caller has every right
    request: Socket
    control: Socket
    telemetry: Socket

    def __init__(self, request: str) -> None:
        self.endpoints = {
            "request": request,
            "control": control_endpoint(request),
            "telemetry": telemetry_endpoint(request),
        }
        self._callers: dict[bytes, Caller] = {}

    def bind(self, context: zmq.Context[Any]) -> None:
        """Make the sockets."""
        for name in self.endpoints:
            self._open(name, context)

    def _open(self, name: str, context: zmq.Context[Any]) -> None:
        kind, largest = KINDS[name]
        socket = context.socket(kind)
        socket.linger = 0
        socket.maxmsgsize = largest
        if kind == zmq.ROUTER:
            socket.rcvhwm, socket.sndhwm = RECEIVE_QUEUE, SEND_QUEUE
            socket.router_mandatory = True  # a reply that does not fit is known, not dropped
        setattr(self, name, socket)
        self._bind(socket, self.endpoints[name])

    def _bind(self, socket: Socket, endpoint: str) -> None:
        try:
            socket.bind(endpoint)
        except zmq.ZMQError as error:
            raise EndpointError(f"{endpoint} cannot be had: {error.strerror}") from None

    def arrival(self, socket: Socket, message: Message) -> Arrival:
        """A message that has been received, and who sent it."""
        route = message.route
        caller = self._callers.get(route[0]) or self._new_caller(route[0])
        return Arrival(socket, route, message.data, caller)

    def _new_caller(self, route: bytes) -> Caller:
        """A caller that is known by its connection, and has every right as all here have."""
        if len(self._callers) >= MANY:
            self._callers.clear()
        caller = self._callers[route] = Caller(route, self.name, ADMINISTRATE, self)
        return caller

    def close(self, linger: int) -> None:
        """Close the sockets; last replies have `linger` ms to leave."""
        for socket in (self.request, self.control, self.telemetry):
            socket.close(linger=linger)

    def refresh(self) -> bool:
        """Follow the allow-list; whether it has changed. Called by whoever owns `telemetry`."""
        return False

    def right_of(self, caller: Caller) -> str | None:
        """The right that a caller has by now."""
        return caller.right

    @abstractmethod
    def reached_by(self) -> dict[str, str]:
        """The endpoints as a client should be told them."""

    def bind_session(self, socket: Socket, number: int, caller: Caller) -> dict[str, str]:
        """Bind a session's socket; how its client reaches it, as fields of a reply.

        A socket that cannot be bound is closed: nobody else would.
        """
        try:
            return self._bind_session(socket, number, caller)
        except BaseException:
            socket.close(linger=0)
            self.end_session(number)
            raise

    @abstractmethod
    def _bind_session(self, socket: Socket, number: int, caller: Caller) -> dict[str, str]: ...

    @abstractmethod
    def end_session(self, number: int) -> None:
        """Take away what `bind_session` made beside the socket."""


class LocalDoor(Door):
    """Socket files: whoever may open them has every right."""

    def __init__(self, files: Endpoints) -> None:
        super().__init__(files.request)
        self.files = files

    def _bind(self, socket: Socket, endpoint: str) -> None:
        super()._bind(socket, endpoint)
        self.files.protect(endpoint)

    def reached_by(self) -> dict[str, str]:
        return self.endpoints

    def _bind_session(self, socket: Socket, number: int, caller: Caller) -> dict[str, str]:
        endpoint = self.files.session(number)
        self._bind(socket, endpoint)
        return {"endpoint": endpoint}

    def end_session(self, number: int) -> None:
        Path(self.files.session(number).removeprefix("ipc://")).unlink(missing_ok=True)


class TcpDoor(Door):
    """TCP without keys: whoever reaches the port has every right."""

    name = "plain TCP"

    def __init__(self, listen: str, session_ports: tuple[int, int] | None = None) -> None:
        super().__init__(listen)
        self.interface = listen.rpartition(":")[0]
        self._ports: Iterator[int] | None = None
        if session_ports:
            first, last = session_ports
            self._ports = itertools.cycle(range(first, last + 1))
            self._port_count = last + 1 - first

    def _bind(self, socket: Socket, endpoint: str) -> None:
        self._prepare(socket)
        super()._bind(socket, endpoint)

    def _prepare(self, socket: Socket) -> None:
        """What TCP needs beyond local sockets: a peer that vanished is noticed within seconds."""
        socket.ipv6 = "[" in self.interface
        socket.heartbeat_ivl, socket.heartbeat_timeout = 1000, 3000
        socket.handshake_ivl = 3000

    def reached_by(self) -> dict[str, str]:
        return {name: anywhere(endpoint) for name, endpoint in self.endpoints.items()}

    def _bind_session(self, socket: Socket, number: int, caller: Caller) -> dict[str, str]:
        self._prepare(socket)
        if self._ports is None:
            socket.bind(f"{self.interface}:*")
        else:
            self._bind_to_next_port(socket)
        return {"endpoint": anywhere(socket.getsockopt_string(zmq.LAST_ENDPOINT))}

    def _bind_to_next_port(self, socket: Socket) -> None:
        """Ports of the range by turns: one that was just given back is used again last."""
        assert self._ports is not None
        for port in itertools.islice(self._ports, self._port_count):
            with suppress(zmq.ZMQError):
                socket.bind(f"{self.interface}:{port}")
                return
        raise errors.error("busy", f"none of the {self._port_count} ports for sessions is free")

    def end_session(self, number: int) -> None:
        """The port goes with the socket."""


def anywhere(endpoint: str) -> str:
    """An endpoint whose host is the one under which the client reached the daemon: `tcp://*:…`."""
    return f"tcp://*:{endpoint.rpartition(':')[2]}"
