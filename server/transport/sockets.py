"""Transports: the sockets of local and TCP clients, and the caller of each message.

Local clients and TCP have separate sockets, so that a local request does not pay for the checks of
TCP. A session belongs to the transport through which it was opened.
"""

from __future__ import annotations

import itertools
import logging
import re
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import zmq

from torqued.client import errors
from torqued.client.codec import MAX_MESSAGE
from torqued.client.endpoints import control_endpoint, telemetry_endpoint
from torqued.server.access.rate_limits import MAX_CALLERS
from torqued.server.access.rights import ADMINISTRATE, Caller
from torqued.server.access.zap import KEYLESS
from torqued.server.transport.endpoints import EndpointError, Endpoints
from torqued.server.transport.framing import Message
from torqued.server.transport.listeners import Listeners
from torqued.server.transport.memory_pages import MemoryPages

Socket = zmq.Socket[bytes]

log = logging.getLogger("torqued")

#: Requests that wait here for each connection before further ones wait at their sender, and replies
#: that wait for each before its further requests are refused as `busy`.
RECEIVE_QUEUE, SEND_QUEUE = 64, 1000
#: Messages that wait for a subscriber before further ones are dropped; also of subscriptions.
TELEMETRY_QUEUE = 8
#: Name of a socket → its type, maximum frame (bytes, handshakes too), and its queues for each peer,
#: in and out. Telemetry receives subscriptions.
KINDS = {
    "request": (zmq.ROUTER, MAX_MESSAGE, RECEIVE_QUEUE, SEND_QUEUE),
    "control": (zmq.ROUTER, 64 * 1024, RECEIVE_QUEUE, SEND_QUEUE),
    "telemetry": (zmq.PUB, 1024, TELEMETRY_QUEUE, TELEMETRY_QUEUE),
}
#: Topics of all subscribers together; libzmq keeps about 48 bytes for each byte of a topic.
MAX_TOPICS = 64
#: Routing id of a client: its program, process and number there; and a secret.
NAMED_ROUTE = re.compile(rb"(\w{1,32}-\d{1,10}-\d{1,10})\.[0-9a-f]{16}")
#: ms for a peer to finish ZeroMQ's handshake.
HANDSHAKE_TIMEOUT = 3000


class Arrival(NamedTuple):
    """A message as it came."""

    socket: Socket
    route: list[bytes]  # first frames of a reply
    data: bytes | None  # None: not the frames of a request
    caller: Caller  # who sent it


class Transport(ABC):
    """The request, control and telemetry sockets of one transport."""

    name = "local"  # begins the names of callers that do not say theirs
    same_clock = True  # whether clients have this machine's clock
    request: Socket
    control: Socket
    telemetry: Socket
    context: zmq.Context[Any]
    listeners: Listeners
    pages: MemoryPages | None = None  # shared memory, for local clients

    def __init__(self, request: str) -> None:
        self.endpoints = {
            "request": request,
            "control": control_endpoint(request),
            "telemetry": telemetry_endpoint(request),
        }
        self._callers: dict[bytes, Caller] = {}
        self._session_sockets: dict[int, Socket] = {}

    def bind(
        self, context: zmq.Context[Any], sessions: zmq.Context[Any], listeners: Listeners
    ) -> None:
        """Make the sockets; those of sessions are made later, in the context `sessions`."""
        self.context, self.listeners = context, listeners
        for name in self.endpoints:
            self._open(name)

    def _open(self, name: str) -> None:
        kind, largest, incoming, outgoing = KINDS[name]
        socket = self.context.socket(kind)
        socket.linger = 0
        socket.maxmsgsize = largest
        socket.rcvhwm, socket.sndhwm = incoming, outgoing
        if kind == zmq.ROUTER:
            socket.router_mandatory = True  # a reply that does not fit is an error, not dropped
            # A local client that connects again is the same client: its routing id is a secret.
            socket.router_handover = self.endpoints[name].startswith("ipc:")
        setattr(self, name, socket)
        self._secure(socket)
        self._bind(socket, self.endpoints[name])

    def _secure(self, socket: Socket) -> None:
        """Set which peers may connect, before the socket is bound.

        Without a ZAP domain libzmq takes any first byte but 0xff for a peer of ZMTP 1, which has no
        handshake: it would be connected at once and indefinitely. With a domain such peers are
        refused at that byte, and all others have to finish their handshake in time.
        """
        socket.zap_domain = KEYLESS.encode()
        socket.handshake_ivl = HANDSHAKE_TIMEOUT

    def _bind(self, socket: Socket, endpoint: str) -> None:
        try:
            self._listen(socket, endpoint)
        except zmq.ZMQError as error:
            raise EndpointError(f"cannot bind {endpoint}: {error.strerror}") from None

    def _listen(self, socket: Socket, endpoint: str) -> None:
        socket.bind(endpoint)

    def arrival(self, socket: Socket, message: Message) -> Arrival:
        """A message that has been received, with its sender."""
        route = message.route
        caller = self._callers.get(route[0]) or self._new_caller(route[0])
        return Arrival(socket, route, message.data, caller)

    def _new_caller(self, route: bytes) -> Caller:
        """A caller identified by its connection, with every right."""
        if len(self._callers) >= MAX_CALLERS:
            self._callers.clear()
        known = NAMED_ROUTE.fullmatch(route)
        name = known[1].decode() if known else f"{self.name}-{route[-2:].hex()}"
        caller = self._callers[route] = Caller(route, name, ADMINISTRATE, self)
        return caller

    def close(self, linger: int) -> None:
        """Close the sockets; last replies have `linger` ms to leave."""
        for socket in (self.request, self.control, self.telemetry):
            self.listeners.forget(socket)
            socket.close(linger=linger)

    def publish(self, message: bytes) -> None:
        """Send telemetry to all subscribers; called by the thread that owns the socket.

        Subscribers need one topic, the empty one. Each further topic costs memory, so all
        subscribers are dropped when there are too many topics; honest ones reconnect.
        """
        if self.telemetry.closed and not self._try_reopen_telemetry():
            return
        self.telemetry.send(message)
        topics = self.telemetry.getsockopt(zmq.TOPICS_COUNT)
        if isinstance(topics, int) and topics > MAX_TOPICS:
            log.warning("too many telemetry subscriptions (%d): all subscribers dropped", topics)
            self.drop_subscribers()

    def drop_subscribers(self) -> None:
        """Disconnect all subscribers; the next `publish` binds the socket again."""
        self.listeners.forget(self.telemetry)
        self.telemetry.close(linger=0)

    def _try_reopen_telemetry(self) -> bool:
        """Bind telemetry again; False while its port is still in use."""
        try:
            self._open("telemetry")
        except (EndpointError, zmq.ZMQError) as error:
            self.telemetry.close(linger=0)
            log.debug("%s; retrying", error)
            return False
        return True

    def refresh(self) -> bool:
        """Follow the allow-list; whether it has changed. Called by the thread of `telemetry`."""
        return False

    def right_of(self, caller: Caller) -> str | None:
        """The present right of a caller."""
        return caller.right

    @abstractmethod
    def reached_by(self) -> dict[str, str]:
        """The endpoints in a reply to a client."""

    def bind_session(self, socket: Socket, number: int, caller: Caller) -> dict[str, str]:
        """Bind a session's socket; how its client reaches it, as fields of a reply.

        A socket that cannot be bound is closed.
        """
        try:
            self.listeners.require_room()
            self._secure(socket)
            self._session_sockets[number] = socket
            return self._bind_session(socket, number, caller)
        except BaseException:
            socket.close(linger=0)
            self.end_session(number)
            raise

    @abstractmethod
    def _bind_session(self, socket: Socket, number: int, caller: Caller) -> dict[str, str]: ...

    def end_session(self, number: int) -> None:
        """Undo `bind_session`, after the socket has been closed."""
        socket = self._session_sockets.pop(number, None)
        if socket is not None:
            self.listeners.forget(socket)


class LocalTransport(Transport):
    """Socket files: clients that may open them have every right."""

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
        super().end_session(number)
        Path(self.files.session(number).removeprefix("ipc://")).unlink(missing_ok=True)


class TcpTransport(Transport):
    """TCP without keys: clients that reach the port have every right."""

    name = "plain TCP"
    same_clock = False

    def __init__(self, listen: str, session_ports: tuple[int, int] | None = None) -> None:
        super().__init__(listen)
        self.interface = listen.rpartition(":")[0]
        self._ports: Iterator[int] | None = None
        if session_ports:
            first, last = session_ports
            self._ports = itertools.cycle(range(first, last + 1))
            self._port_count = last + 1 - first

    def _listen(self, socket: Socket, endpoint: str) -> None:
        """As local sockets, with heartbeats and limited connections."""
        socket.ipv6 = "[" in self.interface
        socket.heartbeat_ivl, socket.heartbeat_timeout = 1000, 3000
        self.listeners.bind(socket, endpoint)

    def reached_by(self) -> dict[str, str]:
        return {name: anywhere(endpoint) for name, endpoint in self.endpoints.items()}

    def _bind_session(self, socket: Socket, number: int, caller: Caller) -> dict[str, str]:
        if self._ports is None:
            self._listen(socket, f"{self.interface}:*")
        else:
            self._bind_to_next_port(socket)
        return {"endpoint": anywhere(socket.getsockopt_string(zmq.LAST_ENDPOINT))}

    def _bind_to_next_port(self, socket: Socket) -> None:
        """Use the ports of the range in turn: one that was just freed is reused last."""
        assert self._ports is not None
        for port in itertools.islice(self._ports, self._port_count):
            with suppress(zmq.ZMQError):
                self._listen(socket, f"{self.interface}:{port}")
                return
        raise errors.error("busy", f"none of the {self._port_count} ports for sessions is free")


def anywhere(endpoint: str) -> str:
    """An endpoint for whose host the client inserts its own name of it: `tcp://*:…`."""
    return f"tcp://*:{endpoint.rpartition(':')[2]}"
