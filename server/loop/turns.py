"""Whose turn it is to serve a session: of the loop, or of a thread that answers arrivals. Compiled.

Sessions on the loop's clock have no such word (address 0): it is always the loop's turn.
"""

from __future__ import annotations

import numpy as np

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.primitives.atomics import store_long, swap_long
from torqued.kernels.primitives.system_calls import now, sleep_until

NOBODYS, OF_LOOP, OF_ARRIVALS = 0, 1, 2
#: ns between two tries of who has waited for a turn in vain: its owner has no processor just now.
TRY_AGAIN = 20_000


@kernel
def has_turn(session, whose):
    """Take the turn where nobody has it. Never waits."""
    if session.turn == 0:
        return True
    return swap_long(session.turn, np.uint64(NOBODYS), np.uint64(whose)) == NOBODYS


@kernel
def wait_for_turn(session, whose, clock):
    """Take the turn as soon as the other gives it back, which takes a few microseconds."""
    while not has_turn(session, whose):
        sleep_until(now(clock) + TRY_AGAIN, clock)


@kernel
def end_turn(session):
    """Give it back: what was written meanwhile is seen by who has it next."""
    if session.turn != 0:
        store_long(session.turn, np.uint64(NOBODYS))
