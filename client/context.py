"""A ZeroMQ context that can always be ended."""

from __future__ import annotations

from typing import Any
from weakref import WeakSet

import zmq


class Context(zmq.Context[zmq.Socket[bytes]]):
    """Knows its sockets before they are open.

    Ctrl-C may come while ZeroMQ opens a socket, which takes long the first time. An ordinary
    context does not know that socket, so that it is never closed, and `term` waits for ever.
    """

    _known: WeakSet[zmq.Socket[bytes]] | None = None

    def socket(self, socket_type: int, **options: Any) -> zmq.Socket[bytes]:  # type: ignore[override]
        """An open socket of a kind."""
        if self._known is None:
            self._known = WeakSet()
        socket = zmq.Socket.__new__(zmq.Socket)
        self._known.add(socket)
        socket.__init__(self, socket_type, **options)  # type: ignore[misc]  # opens it
        return socket

    def end(self) -> None:
        """Close all sockets at once, and end the context."""
        for socket in list(self._known or ()):
            socket.close(linger=0)
        self.term()
