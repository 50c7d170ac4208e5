"""Between the simulated robot and its controller: raw float64, a message per millisecond.

Stands for the field bus of a real robot. A state is [time s, q, v], a torque [time of the state
that it was computed from, tau]; an empty message ends the run.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np
import zmq

from torqued.kernels.model.description import Array

#: Messages that wait before new ones are lost.
QUEUE = 4


@contextmanager
def bus(endpoint: str, *, bind: bool) -> Iterator[zmq.Socket[bytes]]:
    """One end of the bus."""
    context: zmq.Context[Any] = zmq.Context()
    try:
        socket: zmq.Socket[bytes] = context.socket(zmq.PAIR)
        socket.sndhwm = socket.rcvhwm = QUEUE
        (socket.bind if bind else socket.connect)(endpoint)
        yield socket
    finally:
        context.destroy(linger=200)


def put(socket: zmq.Socket[bytes], time: float, *values: Array) -> bool:
    """Send; False where the other side is too slow to take it."""
    try:
        socket.send(np.concatenate([[time], *values]).tobytes(), zmq.DONTWAIT)
    except zmq.Again:
        return False
    return True


def newest(socket: zmq.Socket[bytes], timeout: float) -> Array | None:
    """The newest message that has come, or that comes within `timeout` s; empty: the end."""
    if not socket.poll(round(timeout * 1000)):
        return None
    message = socket.recv()
    while message and socket.poll(0):
        message = socket.recv()
    return np.frombuffer(message, np.float64)
