"""The loop: one compiled function in its own thread, entered once, never in the interpreter.

    newest state frame → law → limits → torque frame

Deadlines are absolute. A tick that comes so late that the next deadline has passed skips the
missed ones and counts them; it never runs ticks in a burst.
"""

from __future__ import annotations

import math

import numpy as np
from numba import carray

from torqued.client.frames import CLAMPED, FALLBACK, NONFINITE, PAYLOAD, SOLVER, STALE
from torqued.kernels.layout import WORK
from torqued.kernels.workspace import pointer
from torqued.server.compiling import entry, kernel
from torqued.server.laws.law import copy
from torqued.server.native import call_law, now, receive, send, sleep_until
from torqued.server.numbers import numbers_of, sizes_of
from torqued.server.records import (
    BINS,
    BINS_PER_OCTAVE,
    CLOSED,
    CLOSING,
    OPEN,
    SESSIONS,
    SHARED,
)

#: Largest number of frames read from one session in one tick: a flood cannot hold up the loop.
MOST_FRAMES = 64
#: s between two states; what is longer, or runs backwards, counts as one tick.
LONGEST_STEP = 0.1
#: s since the last torque of a law that is asked once.
AGES = 1e9


@kernel
def count(histogram, nanoseconds):
    """Put one value into a histogram."""
    microseconds = max(1.0, nanoseconds * 1e-3)
    histogram[min(BINS - 1, int(BINS_PER_OCTAVE * math.log2(microseconds)))] += 1


@kernel
def newest_state(session, data, time, period):
    """Drain the socket; keep the newest whole and finite state. Returns status bits."""
    status = 0
    before = session.stamp
    session.elapsed = 0.0
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
            session.elapsed = passed if 0.0 < passed < LONGEST_STEP else period
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
def evaluate(handle, session, data):
    """The observer, then the law. Returns status bits; NONFINITE and SOLVER: not to be used."""
    if session.observer != 0:
        call_law(session.observer, handle, session.address)
    status = call_law(session.law, handle, session.address)
    for k in range(len(data.out)):
        if not math.isfinite(data.out[k]):
            status |= NONFINITE
    if status & NONFINITE:
        data.out[:] = 0.0
    return status


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
def limit(sizes, data, period):
    """Cut torques to their limits and to the limits of their rates. Returns status bits."""
    status = 0
    for k in range(sizes.unactuated):
        data.out[k] = 0.0
    for k in range(sizes.unactuated, sizes.torques):
        x = data.out[k]
        step = data.rate[k] * period
        x = min(max(x, data.last[k] - step), data.last[k] + step)
        x = min(max(x, -data.effort[k]), data.effort[k])
        if x != data.out[k]:
            status = CLAMPED
        data.out[k] = x
        data.last[k] = x
    return status


@kernel
def serve(handle, loop, session, time):
    """One tick of one session."""
    sizes = sizes_of(session)
    data = numbers_of(session)
    status = newest_state(session, data, time, loop.period * 1e-9)
    ramp_gains(session, data)
    age = time - session.received if session.sequence >= 0 else 0
    stale = session.sequence < 0 or age > session.stale_after
    begin = now(loop.clock)
    if stale:
        status |= STALE
        session.stale += 1
    usable = not stale and status & NONFINITE == 0
    if usable:
        status |= evaluate(handle, session, data)
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
    data = numbers_of(session)
    data.out[:] = 0.0
    send_output(loop, session, data, FALLBACK, 0, time, time)
    session.state = CLOSED


@entry(WORK, SESSIONS)
def evaluate_once(handle, sessions):
    """One result of one session, outside of the loop. Returns status bits."""
    session = sessions[0]
    sizes = sizes_of(session)
    data = numbers_of(session)
    status = evaluate(handle, session, data)
    return status | limit(sizes, data, AGES)


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
