"""Outgoing replies. The daemon never waits for a client to read them.

ZeroMQ keeps `SEND_QUEUE` (server/transport/sockets.py) replies for each connection. What does not
fit there is kept here, in order; a client with replies kept here gets `busy` for further requests
until it has taken them. So every request gets a reply, and no client can make the daemon hold more
than a bounded amount.
"""

from __future__ import annotations

import errno
from collections import deque

import zmq

#: Replies kept here for one connection; nearly all of them are `busy`.
MAX_KEPT = 20_000
#: Bytes kept here for all connections.
MAX_BYTES_KEPT = 64 * 1024 * 1024
#: Replies of so many bytes are followed until they have left.
LARGE = 64 * 1024
#: Bytes of large replies that may be under way to one connection.
MAX_BYTES_UNDER_WAY = 64 * 1024 * 1024

Reply = bytes | zmq.Frame


class Outbox:
    """The way out of one ROUTER socket. Belongs to the socket's thread."""

    def __init__(self, socket: zmq.Socket[bytes]) -> None:
        self.socket = socket
        self.unsent = 0  # replies that were dropped: the client did not read them, or has left
        self._kept: dict[bytes, deque[tuple[list[bytes], Reply]]] = {}  # by connection
        self._bytes_kept = 0
        self._under_way: dict[bytes, list[tuple[zmq.MessageTracker, int]]] = {}

    @property
    def is_waiting(self) -> bool:
        """Whether replies are kept here until `flush`."""
        return bool(self._kept)

    def is_full(self, connection: bytes) -> bool:
        """Whether a connection has to read its replies before it asks for more."""
        if connection in self._kept:
            return True
        if connection not in self._under_way:
            return False
        left = [item for item in self._under_way[connection] if not item[0].done]
        if left:
            self._under_way[connection] = left
        else:
            del self._under_way[connection]
        return sum(size for _, size in left) > MAX_BYTES_UNDER_WAY

    def send(self, route: list[bytes], reply: Reply) -> None:
        """Send a reply, now or after those before it."""
        kept = self._kept.get(route[0])
        if kept is None:
            if self._try(route, reply):
                return
            kept = deque()
        if len(kept) >= MAX_KEPT or self._bytes_kept + len(reply) > MAX_BYTES_KEPT:
            self.unsent += 1
            return
        kept.append((route, reply))
        self._bytes_kept += len(reply)
        self._kept[route[0]] = kept

    def flush(self) -> None:
        """Send kept replies for which there is room."""
        for connection, kept in list(self._kept.items()):
            while kept and self._try(*kept[0]):
                self._bytes_kept -= len(kept.popleft()[1])
            if not kept:
                del self._kept[connection]

    def _try(self, route: list[bytes], reply: Reply) -> bool:
        """Send a reply if there is room; True also if its client has left."""
        try:
            if len(reply) < LARGE:
                for part in route:
                    self.socket.send(part, zmq.DONTWAIT | zmq.SNDMORE)
                self.socket.send(reply, zmq.DONTWAIT)  # the first part has made room for it
            else:
                self._send_followed(route, reply)
        except zmq.Again:
            return False
        except zmq.ZMQError as error:
            if error.errno != errno.EHOSTUNREACH:
                raise
            self.unsent += 1
        return True

    def _send_followed(self, route: list[bytes], reply: Reply) -> None:
        """Send without a copy; a tracker shows when the reply has left."""
        buffer = reply.buffer if isinstance(reply, zmq.Frame) else reply
        frame = zmq.Frame(buffer, track=True, copy=False)
        self.socket.send_multipart([*route, frame], zmq.DONTWAIT, copy=False)
        assert isinstance(frame.tracker, zmq.MessageTracker)
        self._under_way.setdefault(route[0], []).append((frame.tracker, len(reply)))
