"""Prompts: a thread that wakes another for its rehearsals. Compiled.

The thread that answers a session's states could set itself a timer for its next rehearsal. But on
the processor that it shares with the client, the client waits until that is done, and to set a
timer takes longer than all of the law does. So it sleeps without one, and this one, which nobody
waits for, sets the timers.

Who is woken by it begins on its processor. So it goes to where the newest state was answered, which
is where a rehearsal has to fetch what the next one needs.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import typeof
from numpy.typing import NDArray

from torqued.client.page_layout import STATES
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.primitives.system_calls import (
    move_to_processor,
    now,
    sleep_on,
    wake_sleeper,
)
from torqued.server.loop.records import SHARED
from torqued.server.loop.rehearsal import EARLY, LONGEST, beginning, expects_rehearsal
from torqued.server.loop.session_states import OPEN

#: ns between looks at a session that has no rehearsals, or no more states; and after how many of
#: them that are twice as far apart each time.
PAUSE, MAX_DOUBLINGS = 20_000_000, 10
#: How slowly it is forgotten that rehearsals took too long to be held.
FORGETTING = 16


class Prompter(NamedTuple):
    """What the thread has for itself."""

    slot: NDArray[np.int64]  # (1,) of the session
    clock: NDArray[np.int64]  # (2,) scratch of the clock calls
    word: NDArray[np.uint32]  # (1,) that it sleeps on; 0
    processors: NDArray[np.uint64]  # (16,) scratch, a bit for each


def prompter(slot: int) -> Prompter:
    """For the session in a slot."""
    scratch = np.zeros(2, np.int64), np.zeros(1, np.uint32), np.zeros(16, np.uint64)
    return Prompter(np.array([slot]), *scratch)


PROMPTER = typeof(prompter(0))


@kernel
def sleep_for(own, nanoseconds):
    """Or until the word is woken; see `join` of arrivals.py."""
    sleep_on(np.uint64(own.word.ctypes.data), 0, nanoseconds, own.clock)


@entry(SHARED, PROMPTER)
def prompt_rehearsals(shared, own):
    """Wake the thread of a session when its rehearsals are due, until the session ends."""
    session = shared.sessions[own.slot[0]]
    seen = prompted = np.int64(-1)  # states so far, at the last look and at the last prompt
    overdue = 0  # looks since the next should have come
    processor = np.int64(-1)
    while session.state == OPEN:
        states = session.states
        if not expects_rehearsal(session):
            if states != seen and session.lag > session.interval // LONGEST:
                session.lag -= session.lag // FORGETTING
            seen = states
            sleep_for(own, PAUSE)
            continue
        if session.processor != processor:
            processor = session.processor
            move_to_processor(processor, own.processors)
        early = beginning(session) - now(own.clock)
        if states != prompted:
            overdue = 0
        else:
            early += session.interval
            if early <= EARLY:  # where it stays away, looks become seldom
                early = min(session.interval << overdue, PAUSE)
                overdue = min(overdue + 1, MAX_DOUBLINGS)
        if early > EARLY:
            sleep_for(own, early)
            continue
        prompted = states
        wake_sleeper(session.page + np.uint64(STATES))
