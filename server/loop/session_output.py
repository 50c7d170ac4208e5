"""The output frame of a session, filled by the table of client/sessions/frames.py. Compiled."""

from __future__ import annotations

import math

import numpy as np
from numba import carray

from torqued.client.sessions.frames import OUTPUT_FIELDS, OUTPUT_HEAD, PAYLOAD
from torqued.common.status import FALLBACK, LAST, STALE
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import copy
from torqued.kernels.control.session_arrays import arrays_of, control_at, sizes_of
from torqued.kernels.control.virtual_robot import put_command
from torqued.kernels.primitives.workspace import pointer
from torqued.server.loop.loop_records import BINS, BINS_PER_OCTAVE, WINDOW
from torqued.server.loop.memory_frames import put_into_page
from torqued.server.loop.ring_writer import write_tick
from torqued.server.loop.session_modes import Event, advance
from torqued.server.loop.session_states import CLOSED
from torqued.server.loop.zeromq_calls import send_to

#: The head of an output, field by field as the table has them: "u64" is numpy's "u8".
HEAD = np.dtype([(name, kind[0] + "8") for name, kind, _ in OUTPUT_FIELDS])
#: Where the values behind it begin.
VALUES = PAYLOAD + OUTPUT_HEAD.size


@kernel
def send_output(loop, session, data, status, age, spent):
    """Fill the output frame and send it; times are ns. Returns whether it could be sent."""
    head = carray(pointer(session.send + np.uint64(PAYLOAD)), 1, HEAD)[0]
    head.tick, head.status = loop.tick, status
    head.sequence, head.seen, head.stamp = session.sequence, session.seen, session.stamp
    head.age, head.compute = age * 1e-9, spent * 1e-9
    head.time, head.deadline = loop.time * 1e-9, loop.deadline * 1e-9
    head.success_rate, head.reason = success_rate(session), session.reason
    at = session.send + np.uint64(VALUES)
    copy(data.out, carray(pointer(at), len(data.out), np.float64))
    sent = np.int32(0)
    if session.page != 0:
        put_into_page(session)  # an output that the client does not read is overwritten
    else:
        sent = send_to(
            session.socket, session.owner, session.owner_size, session.send, session.send_size
        )
    session.status = status
    if session.sequence >= 0 and status & (STALE | LAST) == 0:  # else its driver may be gone
        count(loop.age, age)
    if sent < 0:
        session.dropped += 1
        return False
    session.outputs += 1
    return True


@kernel
def close_session(loop, session):
    """The last frame of a session: zero torque."""
    control = control_at(session.control)
    data = arrays_of(control)
    data.out[:] = 0.0
    put_command(sizes_of(control), data, 0.0)  # a robot that follows it stays
    session.last_sent = 1 if send_output(loop, session, data, FALLBACK | LAST, 0, 0) else 0
    # Before the mode changes: the record has the mode in which the session ends.
    write_tick(loop, session, control, data, FALLBACK | LAST, 0, 0, 0)
    advance(session, Event.CLOSE)
    session.state = CLOSED


@kernel
def count_success(session, usable):
    """Update the share of the last ticks with a result."""
    if session.sequence >= 0:
        k = session.ticks % WINDOW
        session.window_sum += (1 if usable else 0) - session.window[k]
        session.window[k] = 1 if usable else 0
        session.ticks += 1


@kernel
def success_rate(session):
    return session.window_sum / max(1, min(session.ticks, WINDOW))


@kernel
def count(histogram, nanoseconds):
    """Put one value into a histogram."""
    microseconds = max(1.0, nanoseconds * 1e-3)
    histogram[min(BINS - 1, int(BINS_PER_OCTAVE * math.log2(microseconds)))] += 1
