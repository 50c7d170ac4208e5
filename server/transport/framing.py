"""The ZeroMQ frames of a request: its body alone, or an empty frame and its body.

REQ sockets send the second form. ZeroMQ limits the size of a frame, not their number, and delivers
whole messages. So any other message is dropped frame by frame, few at a time so that other clients
do not wait long; only the frames that route a reply to its sender are kept.
"""

from __future__ import annotations

from typing import NamedTuple

import zmq

Socket = zmq.Socket[bytes]

#: Frames of one message to drop before other sockets have their turn.
MAX_AT_ONCE = 5000


class Message(NamedTuple):
    """A message as it came."""

    route: list[bytes]  # first frames of a reply
    data: bytes | None  # None: not the frames of a request
    frame: zmq.Frame | None = None  # of the data; knows who sent it


class Inbox:
    """The messages of one ROUTER socket. Belongs to the socket's thread."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self._has_rest = False  # whether frames of the last message are still to be dropped

    def receive(self) -> Message | None:
        """The next message; None if there is none, or too many frames to drop before it."""
        socket = self._socket
        if self._has_rest and not self._drop_rest():
            return None
        try:
            sender = socket.recv(zmq.DONTWAIT)
        except zmq.Again:
            return None
        first = socket.recv(copy=False)
        if not first.more:
            return Message([sender], first.bytes, first)
        last = socket.recv(copy=False)
        self._has_rest = last.more
        if len(first) == 0 and not last.more:
            return Message([sender, b""], last.bytes, last)
        return Message([sender] if len(first) else [sender, b""], None)

    def _drop_rest(self) -> bool:
        """Drop the rest of the last message; whether all of it is dropped."""
        for _ in range(MAX_AT_ONCE):
            if not self._socket.recv(copy=False).more:
                self._has_rest = False
                return True
        return False
