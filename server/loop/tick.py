"""The loop: one compiled function in its own thread, entered once, never in the interpreter.

    newest state frame → law → limits → torque frame

Deadlines are absolute. A tick that comes so late that the next deadline has passed skips the
missed ones and counts them; it never runs ticks in a burst.
"""

from __future__ import annotations

import math

import numpy as np
from numba import carray

from torqued.client.frames import PAYLOAD
from torqued.common.status import FALLBACK, NONFINITE, SOLVER, STALE
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.control.evaluation import evaluate, limit
from torqued.kernels.control.law import copy
from torqued.kernels.control.records import CONTROL
from torqued.kernels.control.session_arrays import arrays_of, sizes_of
from torqued.kernels.primitives.layout import WORK
from torqued.kernels.primitives.workspace import pointer
from torqued.server.loop.records import (
    BINS,
    BINS_PER_OCTAVE,
    CLOSED,
    CLOSING,
    OPEN,
    SHARED,
)
from torqued.server.loop.syscalls import now, receive, send, sleep_until

#: Largest number of frames read from one session in one tick: a flood cannot hold up the loop.
MOST_FRAMES = 64
#: s between two states; what is longer, or runs backwards, counts as one tick.
LONGEST_STEP = 0.1


@kernel
def count(histogram, nanoseconds):
    """Put one value into a histogram."""
    microseconds = max(1.0, nanoseconds * 1e-3)
    histogram[min(BINS - 1, int(BINS_PER_OCTAVE * math.log2(microseconds)))] += 1


@kernel
def control_of(session):
    """The record of a session's controller."""
    return carray(pointer(session.control), 1, CONTROL)[0]


@kernel
def newest_state(session, control, data, time, period):
    """Drain the socket; keep the newest whole and finite state. Returns status bits."""
    status = 0
    before = session.stamp
    control.elapsed = 0.0
    for _ in range(MOST_FRAMES):
        size = receive(session.socket, session.receive, session.receive_size)
        if size < 0:
            break
        start = carray(pointer(session.receive), 2, np.int64)  # prefix, sequence number
        if size != session.receive_size or start[0] != session.prefix or start[1] < 0:
            session.bad_states += 1
            continue
        words = (session.receive_size - PAYLOAD) // 8 - 1
        values = carray(pointer(session.receive + np.uint64(PAYLOAD + 8)), words, np.float64)
        finite = True
        for k in range(words):
            finite = finite and math.isfinite(values[k])
        if not finite:
            session.bad_states += 1
            status = NONFINITE
            continue
        for k in range(1, words):
            data.state[k - 1] = values[k]
        if session.sequence >= 0:
            # Laws with memory go by the sender's clock: a late or lost tick costs them nothing.
            passed = values[0] - before
            control.elapsed = passed if 0.0 < passed < LONGEST_STEP else period
        session.stamp = values[0]
        session.sequence = start[1]
        session.received = time
        session.states += 1
        status = 0
    return status


@kernel
def ramp_gains(session, data):
    """One step of the way to changed gains."""
    if session.ramp > 0:
        for k in range(len(data.gains)):
            data.gains[k] += (data.target[k] - data.gains[k]) / session.ramp
        session.ramp -= 1


@kernel
def fallback(session, sizes, data, time):
    """The torque of a session without a usable result: hold, then fade out, then zero."""
    over = time - session.good - session.hold
    share = 0.0
    if session.good > 0:
        share = 1.0 if over <= 0 else max(0.0, 1.0 - over / max(1.0, float(session.fade)))
    for k in range(sizes.torques):
        data.out[k] = share * data.held[k]


@kernel
def serve(handle, loop, session, time):
    """One tick of one session."""
    control = control_of(session)
    sizes, data = sizes_of(control), arrays_of(control)
    status = newest_state(session, control, data, time, loop.period * 1e-9)
    ramp_gains(session, data)
    age = time - session.received if session.sequence >= 0 else 0
    stale = session.sequence < 0 or age > session.stale_after
    begin = now(loop.clock)
    if stale:
        status |= STALE
        session.stale += 1
    usable = not stale and status & NONFINITE == 0
    if usable:
        status |= evaluate(handle, control, data)
        usable = status & (NONFINITE | SOLVER) == 0
    else:
        data.out[:] = 0.0
    if sizes.torques > 0:
        if usable:
            session.good = session.received + session.stale_after
            copy(data.out[: sizes.torques], data.held)
        else:
            status |= FALLBACK
            fallback(session, sizes, data, time)
        cut = limit(sizes, data, loop.period * 1e-9)
        if cut:
            session.clamped += 1
        status |= cut
    send_output(loop, session, data, status, age, begin, time)


@kernel
def send_output(loop, session, data, status, age, begin, time):
    """Fill the output frame and send it."""
    head = carray(pointer(session.send + np.uint64(PAYLOAD)), 3, np.int64)
    head[0] = loop.tick
    head[1] = session.sequence
    head[2] = status
    times = carray(pointer(session.send + np.uint64(PAYLOAD + 24)), 3, np.float64)
    times[0] = age * 1e-9
    times[1] = (now(loop.clock) - begin) * 1e-9
    times[2] = time * 1e-9
    values = carray(pointer(session.send + np.uint64(PAYLOAD + 48)), len(data.out), np.float64)
    for k in range(len(data.out)):
        values[k] = data.out[k]
    session.status = status
    if session.sequence >= 0:
        count(loop.age, age)
    if send(session.socket, session.send, session.send_size) < 0:
        session.dropped += 1
    else:
        session.outputs += 1


@kernel
def close(loop, session, time):
    """The last frame of a session: its fallback at the end of fading, which is zero torque."""
    data = arrays_of(control_of(session))
    data.out[:] = 0.0
    send_output(loop, session, data, FALLBACK, 0, time, time)
    session.state = CLOSED


@entry(WORK, SHARED)
def run_servo(handle, shared):
    """Serve all sessions at each deadline until `running` is 0."""
    loop = shared.loop[0]
    deadline = now(loop.clock)
    while loop.running:
        deadline += loop.period
        time = now(loop.clock)
        if time > deadline + loop.period:
            skipped = (time - deadline) // loop.period
            loop.missed += skipped
            deadline += skipped * loop.period
        sleep_until(deadline, loop.clock)
        time = now(loop.clock)
        loop.latest = max(loop.latest, time - deadline)
        count(loop.lateness, time - deadline)
        for k in range(len(shared.sessions)):
            session = shared.sessions[k]
            if session.state == OPEN:
                serve(handle, loop, session, time)
            elif session.state == CLOSING:
                close(loop, session, time)
        spent = now(loop.clock) - time
        loop.longest = max(loop.longest, spent)
        count(loop.compute, spent)
        loop.tick += 1
    for k in range(len(shared.sessions)):
        session = shared.sessions[k]
        if session.state == OPEN or session.state == CLOSING:
            close(loop, session, now(loop.clock))
