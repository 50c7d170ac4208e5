"""What the loop writes into the ring: every tick of every session. Compiled.

One writer, any number of readers, nobody waits. `reserved` is moved before the bytes of a record
are written and `written` after them: what a reader has copied is whole if `reserved` has not come
round to it by then (server/observation/reader.py).
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numba import carray, types
from numba.extending import intrinsic

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import copy
from torqued.kernels.control.references.follow import FROM_ORDERS
from torqued.kernels.primitives.workspace import pointer
from torqued.server.observation.layout import (
    ALIGN,
    FALLEN,
    GAINS,
    HEAD,
    HEADER,
    HEADER_BYTES,
    LOAD,
    LOOP,
    LOOP_TICK,
    MARKS,
    MOVING,
    ORDERED,
    PAD,
    TICK,
    TICK_HEAD,
    USED,
    VALUES_HEAD,
)

#: A record takes at most this part of the ring.
MOST_OF_RING = 4
_NUMBER = 8  # bytes
_TICK_BYTES, _VALUES_BYTES, _LOOP_BYTES = (
    TICK_HEAD.itemsize,
    VALUES_HEAD.itemsize,
    LOOP_TICK.itemsize,
)


@intrinsic
def release(typing: Any) -> Any:
    """What was written before is seen before whatever is written after."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.fence("release")
        return context.get_dummy_value()

    return types.void(), generate


@kernel
def begin_record(ring, size, kind, number):
    """Reserve a record of at least `size` bytes; its address, 0 where the ring is too small."""
    size = (size + ALIGN - 1) // ALIGN * ALIGN
    header = carray(pointer(ring), 1, HEADER)[0]
    capacity = header.capacity
    if size > capacity // MOST_OF_RING:
        header.refused += 1
        return np.uint64(0)
    start = header.written
    left = capacity - start % capacity
    at = start if size <= left else start + left
    header.reserved = at + size
    release()
    data = ring + np.uint64(HEADER_BYTES)
    if at != start:  # records do not go round the end
        pad = carray(pointer(data + np.uint64(start % capacity)), 1, HEAD)[0]
        pad.number, pad.size, pad.kind, pad.session = header.records, left, PAD, 0
    address = data + np.uint64(at % capacity)
    head = carray(pointer(address), 1, HEAD)[0]
    head.number, head.size, head.kind, head.session = header.records, size, kind, number
    part = capacity // MARKS
    if at // part != header.marks[at // part % MARKS] // part:
        header.marks[at // part % MARKS] = at
    return address


@kernel
def end_record(ring, address):
    """Let readers have it."""
    header = carray(pointer(ring), 1, HEADER)[0]
    head = carray(pointer(address), 1, HEAD)[0]
    end = header.reserved
    header.records = head.number + 1
    release()
    header.written = end


@kernel
def write_tick(loop, session, control, data, status, usable, age, spent):
    """One tick of one session, with all that it used and found."""
    if loop.ring == 0:
        return
    n, m = len(data.state), len(data.out)
    size = _TICK_BYTES + _NUMBER * (n + m)
    address = begin_record(loop.ring, size, TICK, session.number)
    if address == 0:
        return
    record = carray(pointer(address), 1, TICK_HEAD)[0]
    record.index, record.tick = session.recorded, loop.tick
    record.sequence, record.seen, record.status = session.sequence, session.seen, status
    record.time, record.deadline, record.age, record.compute = loop.time, loop.deadline, age, spent
    record.stamp, record.at, record.elapsed = session.stamp, session.at, control.elapsed
    record.allowed = control.iterations
    mode = FALLEN if session.fallen != 0 else 0
    if usable:
        mode |= USED
    if control.source == FROM_ORDERS:
        mode |= ORDERED
    if control.move_seconds > 0.0:
        mode |= MOVING
    record.mode = mode
    values = carray(pointer(address + np.uint64(_TICK_BYTES)), n + m, np.float64)
    copy(data.state, values[:n])
    copy(data.out, values[n:])
    end_record(loop.ring, address)
    session.recorded += 1


@kernel
def write_gains(loop, session, data):
    """The gains that hold from this tick on."""
    if loop.ring != 0:
        n = len(data.gains)
        address = begin_values(loop.ring, session, GAINS, n)
        if address != 0:
            at = pointer(address + np.uint64(_VALUES_BYTES))
            copy(data.gains, carray(at, n, np.float64))
            end_record(loop.ring, address)


@kernel
def write_load(loop, session, data):
    """What bodies carry from this tick on."""
    if loop.ring != 0:
        n, k = data.load.shape
        address = begin_values(loop.ring, session, LOAD, n * k)
        if address != 0:
            values = carray(pointer(address + np.uint64(_VALUES_BYTES)), (n, k), np.float64)
            for i in range(n):
                copy(data.load[i], values[i])
            end_record(loop.ring, address)


@kernel
def begin_values(ring, session, kind, count):
    address = begin_record(ring, _VALUES_BYTES + _NUMBER * count, kind, session.number)
    if address != 0:
        record = carray(pointer(address), 1, VALUES_HEAD)[0]
        record.index, record.count = session.recorded, count
    return address


@kernel
def write_loop(loop, spent, served):
    """One tick of the loop itself."""
    if loop.ring == 0:
        return
    address = begin_record(loop.ring, _LOOP_BYTES, LOOP, 0)
    if address == 0:
        return
    record = carray(pointer(address), 1, LOOP_TICK)[0]
    record.tick, record.time, record.deadline = loop.tick, loop.time, loop.deadline
    record.compute, record.missed, record.served = spent, loop.missed, served
    end_record(loop.ring, address)
