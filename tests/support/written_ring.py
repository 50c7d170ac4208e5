"""A ring that a compiled writer fills with ticks of two sessions, without a daemon."""

import numpy as np
from numba import carray, njit, types

from torqued.kernels.primitives.workspace import pointer
from torqued.server.loop.ring_writer import begin_record, end_record, release
from torqued.server.observation.directory import Directory
from torqued.server.observation.layout import TICK, TICK_HEAD, padded
from torqued.server.observation.ring import Ring

#: Numbers behind the heads of the two sessions' records.
COUNTS = (5, 203)
HEAD_BYTES = TICK_HEAD.itemsize


@njit(types.void(types.uint64, types.int64, types.int64, types.int64), nogil=True)
def write(ring, first, ticks, pause):
    """That many ticks of both sessions; every number of a record is its index."""
    for tick in range(first, first + ticks):
        for k in range(2):
            n = 5 if k == 0 else 203
            address = begin_record(ring, HEAD_BYTES + 8 * n, TICK, k + 1)
            record = carray(pointer(address), 1, TICK_HEAD)[0]
            record.index = tick
            record.tick = record.sequence = record.status = tick
            values = carray(pointer(address + np.uint64(HEAD_BYTES)), n, np.float64)
            for i in range(n):
                values[i] = tick
            end_record(ring, address)
        for _ in range(pause):
            release()


def session(number, count):
    offset = TICK_HEAD.itemsize
    part = {"name": "x", "shape": [count], "offset": offset, "unit": "rad"}
    return {
        "law": "pd",
        "client": "me",
        "gains": {},
        "state": [],
        "references": [],
        "outputs": [part],
        "record_bytes": padded(offset + 8 * count),
    }


class Written:
    """A ring with a directory of two sessions."""

    def __init__(self, endpoints, size=1):
        self.ring = Ring(endpoints, size, 1_000_000)
        self.directory = Directory(endpoints, self.ring)
        for number, count in enumerate(COUNTS, 1):
            self.directory.opened(number, session(number, count))
        self.ticks = 0

    def write(self, ticks, pause=0):
        write(self.ring.address, self.ticks, ticks, pause)
        self.ticks += ticks

    def close(self):
        self.ring.close()
        self.directory.remove()


def per_ring(written):
    """Ticks that fit into the ring."""
    return written.ring.size // sum(padded(TICK_HEAD.itemsize + 8 * n) for n in COUNTS)
