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


def receive(socket: Socket) -> Message | None:
    """The next message of a ROUTER socket; None where there is none, or too much before it."""
    if not drop_rest(socket):
        return None
    try:
        sender = socket.recv(zmq.DONTWAIT)
    except zmq.Again:
        return None
    first = socket.recv(copy=False)
    return complete(socket, sender, first, first.more)


def drop_rest(socket: Socket) -> bool:
    """Drop what is left of the message before; whether all of that is gone."""
    for _ in range(MAX_AT_ONCE):
        if not socket.rcvmore:
            return True
        socket.recv(copy=False)
    return False


def complete(socket: Socket, sender: bytes, first: zmq.Frame | bytes, more: bool) -> Message:
    """The message whose first frames have been received, with the next one where it has more.

    What is left after that is dropped before the next message is received.
    """
    size = len(first)
    if not more:
        return _message([sender], first)
    last = socket.recv(copy=False)
    if size == 0 and not last.more:
        return _message([sender, b""], last)
    return Message([sender] if size else [sender, b""], None)


def _message(route: list[bytes], data: zmq.Frame | bytes) -> Message:
    if isinstance(data, bytes):
        return Message(route, data)
    return Message(route, data.bytes, data)
