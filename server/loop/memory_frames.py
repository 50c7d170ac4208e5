"""Frames of a session through shared memory, laid out by client/memory/page_layout.py. Compiled.

The client may write anything at any time. So what is read here goes only into this session's
buffer, and a frame is checked only after it has been copied there.
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

#: Result of reading: no state, one that is now in the buffer, or one that is not whole.
NOTHING, WHOLE, TORN = 0, 1, 2
#: Attempts to read a whole frame while the client overtakes each of them.
TRIES = 4


@kernel
def copy_frame(source, target, size):
    """Copy `size` bytes; frames are whole words of 8 bytes, and aligned."""
    words = size // 8
    taken = carray(pointer(source), words, np.uint64)
    put = carray(pointer(target), words, np.uint64)
    for k in range(words):
        put[k] = taken[k]


@kernel
def slot_of(session, first, size, count):
    """Address of the slot of frame `count`; slots of `size` bytes begin at `first`."""
    return session.page + np.uint64(first + (count % SLOTS) * size)


@kernel
def states_written(session):
    """How many states the client has written, modulo 2³²."""
    return np.int64(load_word(session.page + np.uint64(STATES)))


@kernel
def take_from_page(session):
    """Copy the newest state into the session's buffer. Returns NOTHING, WHOLE or TORN.

    A client that dies while it writes a state has not counted it, so it is not read. A count
    without its frame is garbage, and is skipped once.
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
    """Copy the output frame into its slot, and wake the client if it sleeps."""
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
    """Wait until the client has written another state, or for `longest` ns; may return early.

    A session with `spin` polls the page for that time before it sleeps.
    """
    if session.spin > 0:
        poll_for_state(session, clock)
    if states_written(session) == session.page_taken:
        sleep_for_state(session, longest, clock)


@kernel
def poll_for_state(session, clock):
    """Poll for another state, for the session's `spin`."""
    begin = now(clock)
    time = begin
    while time - begin < session.spin and states_written(session) == session.page_taken:
        give_way()
        time = now(clock)
    session.spun += time - begin


@kernel
def sleep_for_state(session, longest, clock):
    """Sleep until the client wakes this thread, at most `longest` ns."""
    sleeps = session.page + np.uint64(DAEMON_SLEEPS)
    store_word(sleeps, np.uint32(1))
    fence()  # either the client sees this, or we see its state
    if states_written(session) == session.page_taken:
        sleep_on(session.page + np.uint64(STATES), session.page_taken, longest, clock)
    store_word(sleeps, np.uint32(0))
