"""Last frames of ended sessions: repeated until their clients have left.

ZeroMQ can lose a frame that it has accepted. A client with ZMQ_CONFLATE misses a message that
arrives while it reads: libzmq's dbuffer.hpp delivers it with the next one, and after the last there
is none. A client that does not read has a full queue. So the requests' thread sends last frames
again until their clients disconnect, as clients do after a last frame, or their time is over. No
thread waits for them, and their times run in parallel.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import zmq

#: s between two attempts while the daemon waits for them.
RETRY_DELAY = 0.002
#: s from one copy of a frame to the next.
REPEAT = 0.01


@dataclass
class UnsentFrame:
    """A last frame and the way to its client."""

    socket: zmq.Socket[bytes]
    owner: bytes
    frame: bytes
    due: float  # s, monotonic, when it is sent next
    until: float  # s, monotonic, when it is given up
    linger: int  # ms for it to leave once ZeroMQ has it
    reached: bool  # whether its client has ever connected
    closed: Callable[[], None]  # called once the socket is closed


class LastFrames:
    """Sockets to close once their clients have left. Belongs to the requests' thread."""

    def __init__(self) -> None:
        self._waiting: list[UnsentFrame] = []

    @property
    def is_waiting(self) -> bool:
        """Whether some clients are still there, and have time left."""
        return bool(self._waiting)

    def add(
        self,
        socket: zmq.Socket[bytes],
        owner: bytes,
        frame: bytes,
        milliseconds: int,
        sent: bool = False,
        reached: bool = True,
        closed: Callable[[], None] = lambda: None,
    ) -> None:
        """Send a frame until its client leaves, for so many ms at most, and close the socket.

        `sent` says whether ZeroMQ has the frame already; `reached`, whether it ever accepted one
        for this client, which may otherwise still be connecting. `closed` is called when the
        socket is closed.
        """
        now = time.monotonic()
        until = now + 1e-3 * milliseconds
        due = now + REPEAT if sent else now
        self._waiting.append(
            UnsentFrame(socket, owner, frame, due, until, milliseconds, reached, closed)
        )
        self.flush()

    def flush(self, at_once: bool = False) -> bool:
        """Send what is due, or everything at once; whether some are left."""
        self._waiting = [item for item in self._waiting if not settle(item, at_once)]
        return self.is_waiting

    def finish(self) -> None:
        """Wait until all clients have left or their time is over."""
        while self.flush():
            time.sleep(RETRY_DELAY)


def settle(item: UnsentFrame, at_once: bool) -> bool:
    """Send a last frame if it is due; whether its socket is closed.

    It is closed when the time is over, or when a client that had connected has left.
    """
    now = time.monotonic()
    if now < min(item.due, item.until) and not at_once:
        return False
    try:
        item.socket.send_multipart([item.owner, item.frame], zmq.DONTWAIT)
    except zmq.Again:
        pass  # its client does not read: retried later
    except zmq.ZMQError:
        if item.reached:
            item.until = now
    else:
        item.due, item.reached = now + REPEAT, True
    if now < item.until:
        return False
    item.socket.close(linger=item.linger)
    item.closed()
    return True
