"""What a daemon publishes about itself, ten times a second."""

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

    Its words are a session's: `receive` waits for the next, `latest` does not.
    """

    def __init__(self, context: zmq.Context[Any], endpoint: str, keys: Keys | None = None) -> None:
        self._socket: zmq.Socket[bytes] = subscribed(context.socket(zmq.SUB), endpoint, keys)

    def close(self) -> None:
        """End the subscription."""
        self._socket.close(linger=0)

    def latest(self) -> Stats | None:
        """The newest statistics that have come, or None."""
        require_open(self._socket)
        return stats_in(self._socket.recv()) if self._socket.poll(0) else None

    def receive(self, timeout: float = 1.0) -> Stats:
        """The next statistics."""
        require_open(self._socket)
        if not self._socket.poll(max(1, round(timeout * 1000))):
            raise nothing_published(timeout)
        return stats_in(self._socket.recv())


def subscribed(socket: Any, endpoint: str, keys: Keys | None) -> Any:
    """A socket that keeps the newest message alone: older ones are of no interest."""
    socket.linger = 0
    socket.conflate = True
    socket.subscribe(b"")
    connect(socket, endpoint, keys)
    return socket


def require_open(socket: Any) -> None:
    """Refuse to use a subscription that has been closed."""
    if socket.closed:
        raise TorquedError("this subscription has been closed: make another with `telemetry()`")


def stats_in(data: bytes) -> Stats:
    """Statistics in a message, fields as in the reply to `stats`."""
    fields = codec.decode_reply(data)
    fields.pop("protocol", None)
    return Stats(fields)


def nothing_published(timeout: float) -> TimeoutError:
    """The error after waiting for a message."""
    return TimeoutError(f"no telemetry within {timeout} s; is the daemon running?")
