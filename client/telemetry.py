"""What a daemon publishes about itself, ten times a second."""

from __future__ import annotations

from typing import Any

import zmq

from torqued.client import codec
from torqued.client.context_manager import Closing
from torqued.client.keys import Keys, connect


class Telemetry(Closing):
    """A subscription; closes itself at the end of a `with` block."""

    def __init__(self, context: zmq.Context[Any], endpoint: str, keys: Keys | None = None) -> None:
        self._socket: zmq.Socket[bytes] = context.socket(zmq.SUB)
        self._socket.linger = 0
        self._socket.conflate = True  # only the newest message is of interest
        self._socket.subscribe(b"")
        connect(self._socket, endpoint, keys)

    def close(self) -> None:
        """End the subscription."""
        self._socket.close(linger=0)

    def newest(self, timeout: float = 1.0) -> dict[str, Any] | None:
        """The newest statistics, fields as in the reply to `stats`; None when time is up."""
        if not self._socket.poll(max(1, round(timeout * 1000))):
            return None
        return codec.decode(self._socket.recv())
