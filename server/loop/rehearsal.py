"""A rehearsal: shortly before a state is due, its session is served once with a stand-in. Compiled.

A thread that has slept for a millisecond finds none of its code and data in the processor's caches
and computes two to three times as long as in a loop. States come at a rate, so the thread that
answers them wakes up a little earlier and does then what it will do: the same compiled function, on
a copy of all that the session has (stand_in.py), with the newest state once more. That fetches code
and data, the session's own by copying them. Nothing of it reaches the session, its client or its
ring: all addresses in the stand-in lead to memory of its own.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import carray
from numpy.typing import NDArray

from torqued.client.frames import PAYLOAD
from torqued.client.page_layout import COUNT_MASK, LOCK_BYTES, STATES
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.records import CONTROL
from torqued.kernels.primitives.atomics import store_long, store_word
from torqued.kernels.primitives.workspace import pointer
from torqued.server.loop.memory_frames import (
    copy_frame,
    sleep_for_state,
    slot_of,
    states_written,
)
from torqued.server.loop.records import LOOP, SESSION
from torqued.server.loop.session_call import call_session
from torqued.server.loop.session_states import OPEN
from torqued.server.loop.syscalls import now, processor_time

#: ns from the end of a rehearsal to the time when the state is due, and how many times its usual
#: distance from then on top of it: most states come after the rehearsal, and not long after.
MARGIN, SPREADS = 20_000, 3
#: Part of the interval between states that rehearsals may take, with the time that it takes to wake
#: up for them. A law that takes longer gains little by them. And the most that is added to MARGIN:
#: what was fetched so long before is gone again.
LONGEST = 8
#: A client that sleeps when it is answered runs on another processor. Then one rehearsal in so many
#: is left out: from a virtual processor that was idle for long, which a rehearsal prevents, the
#: system moves this thread to the client's own, where neither waits for a processor to wake up.
LEFT_OUT = 4
#: Rehearsals that their duration is averaged over; and how slowly it is forgotten while they take
#: too long to be held.
SMOOTHING, FORGETTING = 8, 64


class StandIn(NamedTuple):
    """What a rehearsal works on in place of the session's own."""

    loop: NDArray[np.void]  # (1,) LOOP
    session: NDArray[np.void]  # (1,) SESSION: addresses in it are the stand-in's
    arrays: NDArray[np.uint64]  # (3,) addresses of the session's and of its own; their bytes


def unused_stand_in() -> StandIn:
    """Of the right types."""
    return StandIn(
        np.zeros(1, LOOP).view(np.recarray),
        np.zeros(1, SESSION).view(np.recarray),
        np.zeros(3, np.uint64),
    )


@kernel
def rehearse_in_time(handle, serve, mine, session, stand_in, longest):
    """Sleep until a rehearsal is due, `longest` ns at the most, and hold it.

    It is omitted where a state comes before, or where too little is known of when states come.
    """
    begin = beginning(session)
    early = begin - now(mine.clock)
    if session.rehearses == 0 or session.interval == 0 or not 0 < early < longest:
        return
    if session.page_woken % LEFT_OUT == LEFT_OUT - 1:
        return
    if session.lag > session.interval // LONGEST:
        session.lag -= session.lag // FORGETTING
        return
    sleep_for_state(session, early, mine.clock)
    awake = now(mine.clock)
    if awake < begin or session.state != OPEN or states_written(session) != session.page_taken:
        return
    rehearse(handle, serve, mine, session, stand_in)
    end = now(mine.clock)
    lag = min(end - begin, 2 * session.interval // LONGEST)  # the machine may have been elsewhere
    session.lag += (lag - session.lag) // SMOOTHING
    session.rehearsals += 1
    session.rehearsed += end - awake


@kernel
def beginning(session):
    """ns, when a rehearsal has to begin to be over before the next state."""
    earlier = min(SPREADS * session.spread, session.interval // LONGEST)
    return session.due - earlier - MARGIN - session.lag


@kernel
def rehearse(handle, serve, mine, session, stand_in):
    """Serve the stand-in as the session would be with its next state.

    The turn is not taken: where the loop serves the session meanwhile, the copy is of numbers from
    before and after, and nobody sees what is computed from them.
    """
    take_place(session, stand_in)
    mirror, loop = stand_in.session[0], stand_in.loop[0]
    bring_state(session, mirror)
    loop.period, loop.time = mine.period, now(loop.clock)
    loop.deadline, loop.tick, loop.stopped = mine.deadline, mine.tick, mine.stopped
    loop.processor = processor_time(loop.clock)
    call_session(serve, handle, loop, mirror)


@kernel
def take_place(session, stand_in):
    """Copy all that a session has but its addresses."""
    mirror = stand_in.session[0]
    own = mirror.control, mirror.receive, mirror.send, mirror.page, mirror.ring
    stand_in.session[0] = session
    mirror.control, mirror.receive, mirror.send, mirror.page, mirror.ring = own
    mirror.socket = mirror.owner = mirror.route = mirror.turn = np.uint64(0)
    controls = carray(pointer(mirror.control), 1, CONTROL)
    control = controls[0]
    addresses = control.address, control.law_memory, control.frames, control.data
    controls[0] = carray(pointer(session.control), 1, CONTROL)[0]
    control.address, control.law_memory, control.frames, control.data = addresses
    source, target, size = stand_in.arrays
    copy_frame(source, target, np.int64(size))


@kernel
def bring_state(session, mirror):
    """Write the newest state into the stand-in's page, as the one that comes an interval later."""
    count = (session.page_taken + 1) & COUNT_MASK
    slot = slot_of(mirror, mirror.page_states, mirror.page_state_slot, count)
    frame = slot + np.uint64(LOCK_BYTES)
    copy_frame(session.receive, frame, session.receive_size)
    carray(pointer(frame), 2, np.int64)[1] = session.seen + 1
    times = carray(pointer(frame + np.uint64(PAYLOAD + 8)), 2, np.float64)
    times[0] = session.stamp + session.interval * 1e-9
    times[1] = session.at + session.interval * 1e-9
    store_long(slot, np.uint64(2 * count))
    store_word(mirror.page + np.uint64(STATES), np.uint32(count))
