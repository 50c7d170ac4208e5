"""Last frames of ended sessions: sent again and again, until their clients have left.

One that ZeroMQ has taken can still be lost. Clients that keep the newest message only
(ZMQ_CONFLATE) pass one over that comes in the very moment in which they look for one: libzmq's
dbuffer.hpp leaves it where the next one will find it, and after the last there is none. A client
that had stood still reads a thousand frames at once, and some in a thousand times loses the last.
And the queue of one that does not read is full. So frames are tried again whenever the requests'
thread looks around, until their client disconnects, which is what clients do with a last frame, or
time is over. Nobody waits for them, and however many there are, their time passes at once.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass

import zmq

#: s between two tries when there is nothing else to do.
RETRY_DELAY = 0.002
#: s from one copy of a frame to the next.
REPEAT = 0.01


@dataclass
class Waiting:
    """A last frame and the way to its client."""

    socket: zmq.Socket[bytes]
    owner: bytes
    frame: bytes
    due: float  # s, monotonic, when it is sent next
    until: float  # s, monotonic, when it has been sent often enough, or is given up
    linger: int  # ms that it has to leave once ZeroMQ has it
    reached: bool  # whether its client has been there: one that is not there has left
    closed: Callable[[], None]  # to be called once the socket is closed


class LastFrames:
    """Sockets that are closed once their clients are gone. Belongs to the requests' thread."""

    def __init__(self) -> None:
        self._waiting: list[Waiting] = []

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

        `sent` says whether ZeroMQ has the frame already, a first time; `reached`, whether it has
        ever taken one for this client, who else may still be connecting. `closed` is called when
        the socket is.
        """
        now = time.monotonic()
        until = now + 1e-3 * milliseconds
        due = now + REPEAT if sent else now
        self._waiting.append(
            Waiting(socket, owner, frame, due, until, milliseconds, reached, closed)
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


def settle(item: Waiting, at_once: bool) -> bool:
    """Send a last frame if it is due; whether its socket is closed.

    It is when the time is over, or who was there has left.
    """
    now = time.monotonic()
    if now < min(item.due, item.until) and not at_once:
        return False
    try:
        item.socket.send_multipart([item.owner, item.frame], zmq.DONTWAIT)
    except zmq.Again:
        pass  # its client does not read: tried again at the next look
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
