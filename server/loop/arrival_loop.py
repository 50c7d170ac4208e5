"""States answered as they arrive: one compiled function and one thread per session.

It serves the session as a tick of the loop does, in its own workspace. If no state comes for too
long, the loop serves the session (`needs_loop` in servo_loop.py). The serving thread holds the
session's lock (session_lock.py); the loop never waits for it.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import typeof
from numpy.typing import NDArray

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.primitives.layout import WORK
from torqued.kernels.primitives.system_calls import (
    now,
    processor_time,
    sleep_until,
)
from torqued.server.loop.loop_records import LOOP, SHARED
from torqued.server.loop.memory_frames import states_written, wait_for_state
from torqued.server.loop.session_call import call_session
from torqued.server.loop.session_lock import BY_ARRIVALS, acquire, release
from torqued.server.loop.session_states import OPEN

#: ns that the thread sleeps at a time.
MAX_SLEEP = 100_000_000
#: Part of a period that an answer takes from the session, and how many periods it may be ahead: a
#: robot that is a little faster than the loop does not wait, nor does a burst.
PERIODS, MAX_AHEAD = 0.9, 8
#: An answer that takes less than a LIGHT part of a period counts in proportion: as many sessions as
#: there can be leave time to others, if their threads come before all others.
LIGHT = 40


class Arrivals(NamedTuple):
    """What a thread that answers arrivals has beside what it shares with the loop."""

    loop: NDArray[np.void]  # (1,) LOOP: its own clock, scratch and histograms
    slot: NDArray[np.int64]  # (1,) of the session


def arrivals(slot: int) -> Arrivals:
    """For the session in a slot."""
    loop = np.zeros(1, LOOP).view(np.recarray)
    loop.on_arrival = 1
    return Arrivals(loop, np.array([slot]))


ARRIVALS = typeof(arrivals(0))


@kernel
def set_clock(mine, main, time):
    """The time of a tick that begins now."""
    mine.time, mine.deadline, mine.tick = time, main.deadline, main.tick
    mine.period, mine.stop_requested = main.period, main.stop_requested


@kernel
def waits(taken, time, period):
    """Whether a session whose answers have taken its periods until `taken` waits at a time, ns."""
    return taken - time > MAX_AHEAD * period


@kernel
def taken_by_answer(taken, time, spent, light, period):
    """The same, ns, after one more answer, given at a time, that took so much processor time."""
    share = min(1.0, spent / light)
    return max(taken, time) + np.int64(share * PERIODS * period)


@entry(WORK, SHARED, ARRIVALS)
def answer_arrivals(handle, shared, own):
    """Answer the states of one session until it ends."""
    main, mine = shared.loop[0], own.loop[0]
    session = shared.sessions[own.slot[0]]
    taken = now(mine.clock)  # ns, until when answers have taken the session's periods
    mine.processor = processor_time(mine.clock)
    while session.state == OPEN:
        if states_written(session) == session.page_taken:
            # `join` of arrivals.py wakes this thread; but a client may move it to another futex.
            wait_for_state(session, MAX_SLEEP, mine.clock)
            # The budget is for answers, not for polling. Reading the processor time takes half a
            # microsecond, so it is read while no state waits.
            if states_written(session) == session.page_taken or session.spin > 0:
                mine.processor = processor_time(mine.clock)
            continue
        if waits(taken, now(mine.clock), main.period) and session.lock_step == 0:
            sleep_until(taken - MAX_AHEAD * main.period, mine.clock)
            continue  # with the newest state
        acquire(session, BY_ARRIVALS, mine.clock)
        if session.state == OPEN and states_written(session) != session.page_taken:
            set_clock(mine, main, now(mine.clock))
            call_session(main.serve, handle, mine, session)
            session.arrived = mine.time
            processor = processor_time(mine.clock)
            spent = processor - mine.processor
            taken = taken_by_answer(taken, mine.time, spent, session.light, main.period)
            mine.processor = processor
        release(session)
