"""Statistics that a daemon publishes ten times a second."""

from __future__ import annotations

from typing import Any

import zmq

from torqued.client import codec
from torqued.client.context_manager import ContextManager
from torqued.client.errors import TimeoutError
from torqued.client.keys import Keys, connect
from torqued.client.requests.results import Stats
from torqued.common.errors import TorquedError


class Telemetry(ContextManager):
    """A subscription; closes itself at the end of a `with` block.

    As in a session, `receive` waits for the next message, `latest` does not.
    """

    def __init__(self, context: zmq.Context[Any], endpoint: str, keys: Keys | None = None) -> None:
        self._socket: zmq.Socket[bytes] = subscribed(context.socket(zmq.SUB), endpoint, keys)

    def close(self) -> None:
        """End the subscription."""
        self._socket.close(linger=0)

    def latest(self) -> Stats | None:
        """The newest statistics, or None."""
        require_open(self._socket)
        return stats_in(self._socket.recv()) if self._socket.poll(0) else None

    def receive(self, timeout: float = 1.0) -> Stats:
        """The next statistics."""
        require_open(self._socket)
        if not self._socket.poll(max(1, round(timeout * 1000))):
            raise nothing_published(timeout)
        return stats_in(self._socket.recv())


def subscribed(socket: Any, endpoint: str, keys: Keys | None) -> Any:
    """A socket that keeps only the newest message."""
    socket.linger = 0
    socket.conflate = True
    socket.subscribe(b"")
    connect(socket, endpoint, keys)
    return socket


def require_open(socket: Any) -> None:
    """Raise if the subscription is closed."""
    if socket.closed:
        raise TorquedError("the subscription is closed")


def stats_in(data: bytes) -> Stats:
    """Statistics in a message, fields as in the reply to `stats`."""
    fields = codec.decode_reply(data)
    fields.pop("protocol", None)
    return Stats(fields)


def nothing_published(timeout: float) -> TimeoutError:
    """The error after waiting for a message."""
    return TimeoutError(f"no telemetry within {timeout} s; is the daemon running?")
