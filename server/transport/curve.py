"""TCP with keys: CURVE on every socket, a ZAP handler that admits peers, rights per message.

The key of a message's sender comes with the message itself, from ZeroMQ's handshake. Routing ids
are chosen by clients and prove nothing.
"""

from __future__ import annotations

from contextlib import suppress
from typing import Any

import zmq

from torqued.server.access.allow_list import AllowList
from torqued.server.access.keys import KeyPair
from torqued.server.access.rights import Caller
from torqued.server.access.zap import EVERYONE, ZapHandler
from torqued.server.transport.endpoints import EndpointError
from torqued.server.transport.framing import Message
from torqued.server.transport.listeners import Listeners
from torqued.server.transport.sockets import Arrival, Socket, TcpTransport


class CurveTransport(TcpTransport):
    """TCP for clients whose keys are on the allow-list."""

    def __init__(
        self,
        listen: str,
        session_ports: tuple[int, int] | None,
        pair: KeyPair,
        allowed: AllowList,
    ) -> None:
        super().__init__(listen, session_ports)
        self.pair = pair
        self.allowed = allowed
        self._followed = allowed.clients()

    def bind(
        self, context: zmq.Context[Any], sessions: zmq.Context[Any], listeners: Listeners
    ) -> None:
        self.zap = ZapHandler((context, sessions), self.allowed)
        try:
            super().bind(context, sessions, listeners)
        except EndpointError:
            self.zap.close()
            raise

    def close(self, linger: int) -> None:
        super().close(linger)
        self.zap.close()

    def _secure(self, socket: Socket) -> None:
        super()._secure(socket)
        protect(socket, self.pair, EVERYONE)

    def arrival(self, socket: Socket, message: Message) -> Arrival:
        key = b""
        with suppress(zmq.ZMQError):  # without a key there are no rights
            if message.frame is not None:
                key = str(message.frame.get("User-Id")).encode()
        client = self.allowed.clients().get(key)
        name, right = (client.name, client.rights) if client else (key.decode(), None)
        caller = Caller(key, name, right, self)
        return Arrival(socket, message.route, message.data, caller)

    def right_of(self, caller: Caller) -> str | None:
        client = self.allowed.clients().get(caller.key)
        return client.rights if client else None

    def _bind_session(self, socket: Socket, number: int, caller: Caller) -> dict[str, str]:
        """A session has its own key pair: an old connection of the same client to a reused port
        does not pass as the new one."""
        pair = KeyPair.new()
        self.zap.sessions[domain(number)] = caller.key
        protect(socket, pair, domain(number))
        return super()._bind_session(socket, number, caller) | {"server_key": pair.public}

    def end_session(self, number: int) -> None:
        super().end_session(number)
        self.zap.sessions.pop(domain(number), None)

    def refresh(self) -> bool:
        """Disconnect subscribers that are no longer allowed; the others reconnect."""
        clients = self.allowed.clients()
        if clients is self._followed:
            return False
        if self._followed.keys() - clients.keys():
            self.drop_subscribers()
        self._followed = clients
        return True


def protect(socket: Socket, pair: KeyPair, zap_domain: str) -> None:
    """Set up the server's side of CURVE; without an answer of the ZAP handler no peer connects."""
    socket.curve_server = True
    socket.curve_secretkey = pair.secret.encode()
    socket.curve_publickey = pair.public.encode()
    socket.zap_domain = zap_domain.encode()
    socket.setsockopt(zmq.ZAP_ENFORCE_DOMAIN, 1)


def domain(number: int) -> str:
    """The ZAP domain of a session."""
    return f"session-{number}"
