"""What the loop writes into the ring: every tick of every session. Compiled.

One writer, any number of readers, no waiting. `reserved` moves before the bytes of a record are
written and `written` after them: a reader's copy is whole if `reserved` has not reached it by then
(tools/recording/cursor.py).

A session whose states are answered on arrival has its own ring. It belongs, like the session's
record, to the thread that holds the session's lock (session_lock.py): a ring has one writer.

The numbers of a tick bypass the cache, which does not have their place, last written a whole ring
ago: ordinary stores would read each line from memory before they overwrite it, and evict what the
next tick needs.
"""

from __future__ import annotations

import platform
from typing import Any

import numpy as np
from llvmlite import ir
from numba import carray, types
from numba.extending import intrinsic

from torqued.common.status import WALL
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.references.follow import FROM_ORDERS
from torqued.kernels.primitives.workspace import pointer
from torqued.server.loop.session_modes import in_fallback
from torqued.server.observation.layout import (
    ALIGN,
    ARRIVAL,
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
    VALUES_HEAD,
)

#: A record takes at most this part of the ring.
MAX_OF_RING = 4
_NUMBER = 8  # bytes
_TICK_BYTES, _VALUES_BYTES, _LOOP_BYTES = (
    TICK_HEAD.itemsize,
    VALUES_HEAD.itemsize,
    LOOP_TICK.itemsize,
)


@intrinsic
def release(typing: Any) -> Any:
    """Earlier writes are visible before later ones."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.fence("release")
        return context.get_dummy_value()

    return types.void(), generate


@intrinsic
def store_past_cache(typing: Any, address: Any, value: Any) -> Any:
    """Store 8 bytes that this thread will not read soon. `publish` must follow."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        # As a whole number: x86 has no such store for a single double.
        bits = ir.IntType(64)
        place = builder.inttoptr(args[0], bits.as_pointer())
        store = builder.store(builder.bitcast(args[1], bits), place, align=8)
        once = builder.module.add_metadata([ir.Constant(ir.IntType(32), 1)])
        store.set_metadata("nontemporal", once)
        return context.get_dummy_value()

    return types.void(address, types.float64), generate


@intrinsic
def publish(typing: Any) -> Any:
    """As `release`, also for stores that bypass the cache."""

    def generate(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        if platform.machine() == "x86_64":  # where `release` does not order such stores
            kind = ir.FunctionType(ir.VoidType(), [])
            builder.call(builder.module.declare_intrinsic("llvm.x86.sse.sfence", (), kind), [])
        builder.fence("release")
        return context.get_dummy_value()

    return types.void(), generate


@kernel
def write_numbers(x, address):
    """Write numbers without reading the lines that they overwrite."""
    for k in range(len(x)):
        store_past_cache(address + np.uint64(_NUMBER * k), x[k])


@kernel
def begin_record(ring, size, kind, number):
    """Reserve a record of at least `size` bytes; its address, 0 if the ring is too small."""
    size = (size + ALIGN - 1) // ALIGN * ALIGN
    header = carray(pointer(ring), 1, HEADER)[0]
    capacity = header.capacity
    if size > capacity // MAX_OF_RING:
        header.refused += 1
        return np.uint64(0)
    start = header.written
    left = capacity - start % capacity
    at = start if size <= left else start + left
    header.reserved = at + size
    release()
    data = ring + np.uint64(HEADER_BYTES)
    if at != start:  # records do not wrap around the end
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
    """Make a record visible to readers."""
    header = carray(pointer(ring), 1, HEADER)[0]
    head = carray(pointer(address), 1, HEAD)[0]
    end = header.reserved
    header.records = head.number + 1
    publish()
    header.written = end


@kernel
def ring_of(loop, session):
    """Where a session's ticks go: its own ring, or the loop's; 0: nowhere."""
    return session.ring if session.ring != 0 else loop.ring


@kernel
def write_tick(loop, session, control, data, status, mode, age, spent):
    """One tick of one session: its inputs and results. `mode`: USED, REPEATED or 0."""
    ring = ring_of(loop, session)
    if ring == 0:
        return
    n, m = len(data.state), len(data.out)
    size = _TICK_BYTES + _NUMBER * (n + m)
    address = begin_record(ring, size, TICK, session.number)
    if address == 0:
        return
    record = carray(pointer(address), 1, TICK_HEAD)[0]
    record.index, record.tick = session.recorded, loop.tick
    record.sequence, record.seen, record.status = session.sequence, session.seen, status
    record.time, record.age, record.compute = loop.time, age, spent
    record.deadline = loop.deadline if loop.on_arrival == 0 else loop.time
    record.stamp, record.at, record.elapsed = session.stamp, session.at, control.elapsed
    record.allowed = control.iterations
    if in_fallback(session):
        mode |= FALLEN
    if control.source == FROM_ORDERS:
        mode |= ORDERED
    if control.move_seconds > 0.0:
        mode |= MOVING
    if loop.on_arrival != 0:
        mode |= ARRIVAL
    record.mode, record.period = mode, session.step
    record.walls = control.walls if status & WALL else 0
    record.reason = session.reason
    write_numbers(data.state, address + np.uint64(_TICK_BYTES))
    write_numbers(data.out, address + np.uint64(_TICK_BYTES + _NUMBER * n))
    end_record(ring, address)
    session.recorded += 1


@kernel
def write_gains(loop, session, data):
    """The gains from this tick on."""
    ring = ring_of(loop, session)
    if ring != 0:
        address = begin_values(ring, session, GAINS, len(data.gains))
        if address != 0:
            write_numbers(data.gains, address + np.uint64(_VALUES_BYTES))
            end_record(ring, address)


@kernel
def write_load(loop, session, data):
    """What bodies carry from this tick on."""
    ring = ring_of(loop, session)
    if ring != 0:
        n, k = data.load.shape
        address = begin_values(ring, session, LOAD, n * k)
        if address != 0:
            for i in range(n):
                at = address + np.uint64(_VALUES_BYTES + _NUMBER * k * i)
                write_numbers(data.load[i], at)
            end_record(ring, address)


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
