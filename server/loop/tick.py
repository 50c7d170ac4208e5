"""The loop: one compiled function in its own thread, entered once, never in the interpreter.

    newest state frame → law → limits → torque frame
    state_frames.py      kernels/control/evaluation.py

Deadlines are absolute. A tick that comes so late that the next deadline has passed skips the
missed ones and counts them; it never runs ticks in a burst.
"""

from __future__ import annotations

import math

import numpy as np
from numba import carray

from torqued.client.frames import OUTPUT_HEAD, PAYLOAD
from torqued.common.status import CLAMPED, FALLBACK, LAST, NONFINITE, OVERRUN, SOLVER, STALE
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.control.evaluation import evaluate, limit
from torqued.kernels.control.law import copy, velocity
from torqued.kernels.control.records import CONTROL
from torqued.kernels.control.session_arrays import arrays_of, sizes_of
from torqued.kernels.primitives.layout import WORK
from torqued.kernels.primitives.workspace import pointer
from torqued.server.loop.records import BINS, BINS_PER_OCTAVE, SHARED
from torqued.server.loop.session_states import CLOSED, CLOSING, OPEN
from torqued.server.loop.state_frames import age_of, newest_state
from torqued.server.loop.syscalls import now, processor_time, send_to, sleep_until

#: Where the values of an output frame begin.
OUTPUT_VALUES = PAYLOAD + OUTPUT_HEAD.size
#: Ticks whose time a session may save up for a tick that takes longer, or owe after one.
MOST_CREDIT, MOST_DEBT = 20, 100
#: Part of what is left of a period since the tick began that a solver may take at its first try;
#: it may try twice. And the iterations that it always has.
SOLVER_SHARE, LEAST_ITERATIONS = 0.4, 20


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
def ramp_gains(session, data):
    """Take over changed gains, and go one step of the way to them."""
    if session.tuned != session.tuning:
        copy(data.wanted, data.target)
        session.ramp = session.wanted_ramp
        session.tuned = session.tuning
    if session.ramp > 0:
        for k in range(len(data.gains)):
            data.gains[k] += (data.target[k] - data.gains[k]) / session.ramp
        session.ramp -= 1


@kernel
def fallback(session, sizes, data, stale, time):
    """The torque of a session without a usable result: hold, then fade out.

    It fades to nothing, or while states come to a brake −damping · v.
    """
    over = time - session.good - session.hold
    share = 0.0
    if session.good > 0:
        share = 1.0 if over <= 0 else max(0.0, 1.0 - over / max(1.0, float(session.fade)))
    v = velocity(sizes, data)
    for k in range(sizes.torques):
        brake = 0.0 if stale else -session.damping * v[k]
        data.out[k] = share * data.held[k] + (1.0 - share) * brake


@kernel
def compute(handle, loop, session, control, data):
    """Evaluate the law, on the session's time. Returns status bits."""
    session.credit = min(session.credit + session.share, MOST_CREDIT * session.share)
    if session.credit < 0:
        session.overruns += 1
        return OVERRUN
    if control.most_iterations > 0:
        left = loop.period - (now(loop.clock) - loop.time)  # of a tick that woke up late, too
        allowed = max(LEAST_ITERATIONS, int(SOLVER_SHARE * left / control.iteration_time))
        control.iterations = min(control.most_iterations, allowed)
    begin = processor_time(loop.clock)
    status = evaluate(handle, control, data)
    # A virtual processor that is taken away for long counts as one period: no single tick demotes.
    spent = min(processor_time(loop.clock) - begin, loop.period)
    session.credit = max(session.credit - spent, -MOST_DEBT * session.share)
    return status


@kernel
def serve(handle, loop, session):
    """One tick of one session."""
    control = control_of(session)
    sizes, data = sizes_of(control), arrays_of(control)
    status = newest_state(session, control, data, loop)
    ramp_gains(session, data)
    age = age_of(session, loop.time) if session.sequence >= 0 else 0
    stale = session.sequence < 0 or age > session.stale_after
    begin = now(loop.clock)
    if stale:
        status |= STALE
        session.stale += 1
    usable = not stale and session.refusal == 0
    if usable:
        status |= compute(handle, loop, session, control, data)
        usable = status & (NONFINITE | SOLVER | OVERRUN) == 0
    if not usable and status & SOLVER == 0:  # what a solver says of its failure is kept
        data.out[:] = 0.0
    if sizes.torques > 0:
        if usable:
            session.good = loop.time - age + session.stale_after
            copy(data.out[: sizes.torques], data.held)
        else:
            status |= FALLBACK
            fallback(session, sizes, data, stale, loop.time)
        status |= limit(sizes, data, loop.period * 1e-9)
        if status & CLAMPED:
            session.clamped += 1
        control.cut = 1 if status & (CLAMPED | FALLBACK) else 0
    send_output(loop, session, data, status, age, now(loop.clock) - begin)


@kernel
def send_output(loop, session, data, status, age, spent):
    """Fill the output frame and send it; client/frames.py has the table of its head.

    Returns whether it could be sent.
    """
    head = carray(pointer(session.send + np.uint64(PAYLOAD)), 4, np.int64)
    head[0], head[1], head[2], head[3] = loop.tick, session.sequence, session.seen, status
    times = carray(pointer(session.send + np.uint64(PAYLOAD + 32)), 5, np.float64)
    times[0], times[1] = age * 1e-9, spent * 1e-9
    times[2], times[3], times[4] = loop.time * 1e-9, loop.deadline * 1e-9, session.stamp
    at = session.send + np.uint64(OUTPUT_VALUES)
    copy(data.out, carray(pointer(at), len(data.out), np.float64))
    session.status = status
    if session.sequence >= 0:
        count(loop.age, age)
    sent = send_to(
        session.socket, session.owner, session.owner_size, session.send, session.send_size
    )
    if sent < 0:
        session.dropped += 1
        return False
    session.outputs += 1
    return True


@kernel
def close(loop, session):
    """The last frame of a session: zero torque."""
    data = arrays_of(control_of(session))
    data.out[:] = 0.0
    session.last_sent = 1 if send_output(loop, session, data, FALLBACK | LAST, 0, 0) else 0
    session.state = CLOSED


@entry(WORK, SHARED)
def run_servo(handle, shared):
    """Serve all sessions at each deadline until `running` is 0."""
    loop = shared.loop[0]
    loop.deadline = now(loop.clock)
    while loop.running:
        loop.deadline += loop.period
        time = now(loop.clock)
        if time > loop.deadline + loop.period:
            skipped = (time - loop.deadline) // loop.period
            loop.missed += skipped
            loop.deadline += skipped * loop.period
        sleep_until(loop.deadline, loop.clock)
        loop.time = now(loop.clock)
        loop.latest = max(loop.latest, loop.time - loop.deadline)
        count(loop.lateness, loop.time - loop.deadline)
        for k in range(len(shared.sessions)):
            session = shared.sessions[k]
            if session.state == OPEN:
                serve(handle, loop, session)
            elif session.state == CLOSING:
                close(loop, session)
        spent = now(loop.clock) - loop.time
        loop.longest = max(loop.longest, spent)
        count(loop.compute, spent)
        loop.tick += 1
    for k in range(len(shared.sessions)):
        session = shared.sessions[k]
        if session.state == OPEN or session.state == CLOSING:
            loop.time = now(loop.clock)
            close(loop, session)
