"""The transports of a session's frames: a ZeroMQ socket, or shared memory. The choice is here.

With either, the newest frame wins in both directions.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, TypeAlias

import zmq

from torqued.client.endpoints import reachable
from torqued.client.errors import TimeoutError
from torqued.client.keys import Keys, connect
from torqued.common.errors import TorquedError

if TYPE_CHECKING:
    from torqued.client._native import Page


#: Both have `send`, `receive`, `newest` and `close`, as in `SocketTransport`.
Transport: TypeAlias = "SocketTransport | Page"


def transport_for(
    context: Any,
    opened: Mapping[str, Any],
    request: str,
    keys: Keys | None,
    at_once: Callable[[Any], Any],
) -> Transport:
    """The transport of a session; `request` is the endpoint that it was opened at.

    `at_once` gives the result of a call of the context's sockets with DONTWAIT.
    """
    endpoint, owner = reachable(opened["endpoint"], request), opened["owner"].encode()
    if opened.get("transport") == "memory":
        from torqued.client.memory.memory_transport import (
            memory_transport,  # only such sessions need it
        )

        return memory_transport(endpoint, owner, opened)
    return SocketTransport(context, endpoint, owner, keys, opened.get("server_key"), at_once)


class SocketTransport:
    """A DEALER socket with the routing id by which the daemon knows its client."""

    def __init__(
        self,
        context: Any,
        endpoint: str,
        owner: bytes,
        keys: Keys | None,
        server_key: str | None,
        at_once: Callable[[Any], Any],
    ) -> None:
        self._at_once = at_once
        # A socket that is never closed keeps its context from ending: nothing may fail before
        # `connect`, which closes it on failure.
        self._socket = context.socket(zmq.DEALER)
        self._socket.linger = 0  # nothing waits for a daemon that has ended
        self._socket.routing_id = owner
        if not endpoint.startswith("inproc:"):  # its pipes carry the routing id as a message
            self._socket.conflate = True  # the newest state and the newest output win
        connect(self._socket, endpoint, keys, server_key)

    @property
    def socket(self) -> Any:
        """The socket, while it is open."""
        if self._socket.closed:
            raise TorquedError("the session is closed")
        return self._socket

    def send(self, frame: bytearray) -> None:
        """Hand over a state without waiting."""
        try:
            self._at_once(self.socket.send(frame, zmq.DONTWAIT))
        except zmq.Again:
            raise TimeoutError("the daemon does not accept states; is it running?") from None

    def receive(self, seconds: float) -> bytes | None:
        """The newest output that has not been received; None if none comes in time."""
        if not self.socket.poll(max(1, round(seconds * 1000))):
            return None
        data: bytes = self.socket.recv()
        return data

    def newest(self) -> bytes | None:
        """The same without waiting."""
        newest: bytes | None = None
        with contextlib.suppress(zmq.Again):
            while True:
                newest = self._at_once(self.socket.recv(zmq.DONTWAIT))
        return newest

    def close(self) -> None:
        """Disconnect at once; `disconnect` would take effect at the next use only."""
        self._socket.close(linger=0)
