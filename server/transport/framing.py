"""What ZeroMQ frames a request may have: its body alone, or an empty frame and its body.

The second is what REQ sockets send. ZeroMQ limits the size of a frame, not their number, and hands
a message over once all of it is there. So anything else is dropped frame by frame, few enough
at a time that other clients do not wait for long, and no more of it is kept or sent back than the
frames that lead to its sender.
"""

from __future__ import annotations

from typing import NamedTuple

import zmq

Socket = zmq.Socket[bytes]

#: Frames of one message that are dropped before others have their turn.
MAX_AT_ONCE = 5000


class Message(NamedTuple):
    """A message as it came."""

    route: list[bytes]  # what a reply has to begin with
    data: bytes | None  # None: it had other frames than a request has
    frame: zmq.Frame | None = None  # of the data; knows who sent it


class Inbox:
    """The messages of one ROUTER socket. Belongs to the socket's thread."""

    def __init__(self, socket: Socket) -> None:
        self._socket = socket
        self._has_rest = False  # whether frames of the message before are still to be dropped

    def receive(self) -> Message | None:
        """The next message; None where there is none, or too much before it."""
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
        """Drop what is left of the message before; whether all of that is gone."""
        for _ in range(MAX_AT_ONCE):
            if not self._socket.recv(copy=False).more:
                self._has_rest = False
                return True
        return False
