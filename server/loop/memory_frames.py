"""Frames of a session through shared memory, laid out by client/memory/page_layout.py. Compiled.

The other side may write anything at any time. So nothing that is read here leads anywhere but into
this session's own buffer, and a frame is looked at only once it has been copied there.
"""

from __future__ import annotations

import numpy as np
from numba import carray

from torqued.client.memory.page_layout import (
    CLIENT_SLEEPS,
    COUNT_MASK,
    DAEMON_SLEEPS,
    LOCK_BYTES,
    OUTPUTS,
    SLOTS,
    STATES,
)
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.primitives.atomics import (
    fence,
    load_long,
    load_word,
    store_long,
    store_word,
)
from torqued.kernels.primitives.system_calls import give_way, now, sleep_on, wake_sleeper
from torqued.kernels.primitives.workspace import pointer

#: What a look for a state found: none, one that is now in the buffer, or one that is not whole.
NOTHING, WHOLE, TORN = 0, 1, 2
#: Looks for a frame that is whole, where a client overtakes each of them.
TRIES = 4


@kernel
def copy_frame(source, target, size):
    """So many bytes: frames are whole words of 8, and begin at a multiple of that."""
    words = size // 8
    taken = carray(pointer(source), words, np.uint64)
    put = carray(pointer(target), words, np.uint64)
    for k in range(words):
        put[k] = taken[k]


@kernel
def slot_of(session, first, size, count):
    """Address of the slot that frame `count` is in, of slots of so many bytes from `first` on."""
    return session.page + np.uint64(first + (count % SLOTS) * size)


@kernel
def states_written(session):
    """How many states the client has written, modulo 2³²."""
    return np.int64(load_word(session.page + np.uint64(STATES)))


@kernel
def take_from_page(session):
    """Copy the newest state into the session's buffer. Returns NOTHING, WHOLE or TORN.

    A client that dies while it writes a state has not counted it, so it is not read. A count whose
    frame is not there is garbage, and is passed over once.
    """
    count = session.page_taken
    for _ in range(TRIES):
        count = states_written(session)
        if count == session.page_taken:
            return NOTHING
        slot = slot_of(session, session.page_states, session.page_state_slot, count)
        whole = np.uint64(2 * count)
        if load_long(slot) == whole:
            copy_frame(slot + np.uint64(LOCK_BYTES), session.receive, session.receive_size)
            fence()
            if load_long(slot) == whole:
                session.page_taken = count
                return WHOLE
    session.page_taken = count
    return TORN


@kernel
def put_into_page(session):
    """Copy the output frame into its slot, and wake the client where it sleeps."""
    count = (session.page_sent + 1) & COUNT_MASK
    slot = slot_of(session, session.page_outputs, session.page_output_slot, count)
    store_long(slot, np.uint64(2 * count + 1))
    fence()
    copy_frame(session.send, slot + np.uint64(LOCK_BYTES), session.send_size)
    store_long(slot, np.uint64(2 * count))
    store_word(session.page + np.uint64(OUTPUTS), np.uint32(count))
    session.page_sent = count
    fence()  # either we see that the client sleeps, or it sees this frame before it does
    if load_word(session.page + np.uint64(CLIENT_SLEEPS)) != 0:
        wake_sleeper(session.page + np.uint64(OUTPUTS))


@kernel
def wait_for_state(session, longest, clock):
    """Until the client has written another state, or `longest` ns are over (FOREVER: until then);
    may return early.

    A session that spins watches the page first, for as long as it says, and then sleeps.
    """
    if session.spin > 0:
        watch_for_state(session, clock)
    if states_written(session) == session.page_taken:
        sleep_for_state(session, longest, clock)


@kernel
def watch_for_state(session, clock):
    """Look for another state again and again, no longer than the session says."""
    begin = now(clock)
    time = begin
    while time - begin < session.spin and states_written(session) == session.page_taken:
        give_way()
        time = now(clock)
    session.spun += time - begin


@kernel
def sleep_for_state(session, longest, clock):
    """Sleep until the client wakes us, `longest` ns at the most, or FOREVER."""
    sleeps = session.page + np.uint64(DAEMON_SLEEPS)
    store_word(sleeps, np.uint32(1))
    fence()  # either the client sees this, or we see its state
    if states_written(session) == session.page_taken:
        sleep_on(session.page + np.uint64(STATES), session.page_taken, longest, clock)
    store_word(sleeps, np.uint32(0))
