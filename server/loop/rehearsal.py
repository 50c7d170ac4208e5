"""A rehearsal: shortly before a state is due, its session is served once with a stand-in. Compiled.

A thread that has slept for a millisecond finds none of its code and data in the processor's caches
and computes two to three times as long as in a loop. States come at a rate, so the thread that
answers them is woken a little earlier (prompts.py) and does then what it will do: the same compiled
function, on a copy of all that the session has (stand_in.py), with the newest state once more. That
fetches code and data, the session's own by copying them. Nothing of it reaches the session, its
client or its ring: all addresses in the stand-in lead to memory of its own.
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
from torqued.kernels.primitives.system_calls import now, processor_time
from torqued.kernels.primitives.workspace import pointer
from torqued.server.loop.memory_frames import copy_frame, slot_of
from torqued.server.loop.records import LOOP, SESSION
from torqued.server.loop.session_call import call_session

#: ns from the end of a rehearsal to the time when the state is due, and how many times its usual
#: distance from then on top of it: most states come after the rehearsal, and not long after. Linux
#: lets ordinary threads sleep for 50 µs longer than they ask for, or until any timer of their
#: processor expires: a prompt in that time would wake the client as well, into the rehearsal.
MARGIN, SPREADS = 100_000, 3
#: Part of the interval between states that rehearsals may take, with the time that it takes to wake
#: up for them. A law that takes longer gains little by them. And the most that is added to MARGIN:
#: what was fetched so long before is gone again.
LONGEST = 8
#: ns between states for which rehearsals are of use: of those that are closer, each is one for the
#: next. And by how much one may begin too early.
MIN_INTERVAL, MAX_INTERVAL, EARLY = 3 * MARGIN, 20_000_000, 10_000
#: Rehearsals that their duration is averaged over.
SMOOTHING = 8


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
def expects_rehearsal(session):
    """Whether a rehearsal is to be held before the next state: where enough is known of when states
    come, and it does not take too long."""
    if session.rehearses == 0 or not MIN_INTERVAL <= session.interval <= MAX_INTERVAL:
        return False
    return session.lag <= session.interval // LONGEST


@kernel
def beginning(session):
    """ns, when a rehearsal has to begin to be over before the next state."""
    earlier = min(SPREADS * session.spread, session.interval // LONGEST)
    return session.due - earlier - MARGIN - session.lag


@kernel
def rehearse_if_due(handle, serve, mine, session, stand_in):
    """Hold a rehearsal if it is time for one. Returns False where that is still to come."""
    begin, awake = beginning(session), now(mine.clock)
    if awake < begin - EARLY:
        return False
    end = awake
    if awake < session.due - MARGIN // 2:  # else the state would find it going on
        rehearse(handle, serve, mine, session, stand_in)
        end = now(mine.clock)
        session.rehearsals += 1
        session.rehearsed += end - awake
    lag = min(end - begin, 2 * session.interval // LONGEST)  # the machine may have been elsewhere
    session.lag += (lag - session.lag) // SMOOTHING
    return True


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
