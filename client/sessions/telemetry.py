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


class BaseTelemetry:
    """What `Telemetry` and `AsyncTelemetry` share: a socket that keeps only the newest message."""

    def __init__(self, context: Any, endpoint: str, keys: Keys | None = None) -> None:
        self._socket = context.socket(zmq.SUB)
        self._socket.linger = 0
        self._socket.conflate = True
        self._socket.subscribe(b"")
        connect(self._socket, endpoint, keys)

    def close(self) -> None:
        """End the subscription."""
        self._socket.close(linger=0)

    def _open_socket(self) -> Any:
        """The socket; raises if the subscription is closed."""
        if self._socket.closed:
            raise TorquedError("the subscription is closed")
        return self._socket


class Telemetry(BaseTelemetry, ContextManager):
    """A subscription; closes itself at the end of a `with` block.

    As in a session, `receive` waits for the next message, `latest` does not.
    """

    def latest(self) -> Stats | None:
        """The newest statistics, or None."""
        socket = self._open_socket()
        return stats_in(socket.recv()) if socket.poll(0) else None

    def receive(self, timeout: float = 1.0) -> Stats:
        """The next statistics."""
        socket = self._open_socket()
        if not socket.poll(max(1, round(timeout * 1000))):
            raise nothing_published(timeout)
        return stats_in(socket.recv())


def stats_in(data: bytes) -> Stats:
    """Statistics in a message, fields as in the reply to `stats`."""
    fields = codec.decode_reply(data)
    fields.pop("protocol", None)
    return Stats(fields)


def nothing_published(timeout: float) -> TimeoutError:
    """The error after waiting for a message."""
    return TimeoutError(f"no telemetry within {timeout} s; is the daemon running?")
