"""Last frames of ended sessions whose clients have not read for a while.

Their queues are full, so the loop could not send. Nobody waits for them: frames are tried again
whenever the requests' thread looks around, and given up after a while. However many there are,
their time passes at once.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import zmq

#: s between two tries when there is nothing else to do.
TRY_AGAIN = 0.002


@dataclass(frozen=True)
class Waiting:
    """A last frame and the way to its client."""

    socket: zmq.Socket[bytes]
    owner: bytes
    frame: bytes
    until: float  # s, monotonic, when it is given up
    linger: int  # ms that it has to leave once ZeroMQ has it


class LastFrames:
    """Sockets that are closed once their last frame is sent. Belongs to the requests' thread."""

    def __init__(self) -> None:
        self._waiting: list[Waiting] = []

    @property
    def is_waiting(self) -> bool:
        """Whether some have neither been sent nor given up."""
        return bool(self._waiting)

    def add(self, socket: zmq.Socket[bytes], owner: bytes, frame: bytes, milliseconds: int) -> None:
        """Send a frame within so many ms if its client takes it, and close the socket."""
        until = time.monotonic() + 1e-3 * milliseconds
        self._waiting.append(Waiting(socket, owner, frame, until, milliseconds))
        self.flush()

    def flush(self) -> bool:
        """Send what clients can take by now; whether some are left."""
        self._waiting = [item for item in self._waiting if not settle(item)]
        return self.is_waiting

    def finish(self) -> None:
        """Wait until all have been sent or given up."""
        while self.flush():
            time.sleep(TRY_AGAIN)


def settle(item: Waiting) -> bool:
    """Try to send a last frame; whether its socket is closed: sent, given up, or nobody there."""
    try:
        item.socket.send_multipart([item.owner, item.frame], zmq.DONTWAIT)
    except zmq.Again:
        if time.monotonic() < item.until:
            return False
    except zmq.ZMQError:
        pass  # its client is gone
    item.socket.close(linger=item.linger)
    return True
