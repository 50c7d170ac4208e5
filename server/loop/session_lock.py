"""The lock of a session: the loop holds it, or the thread that answers arrivals. Compiled.

A session on the loop's clock has no lock (address 0): only the loop serves it.
"""

from __future__ import annotations

import numpy as np

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.primitives.atomics import store_long, swap_long
from torqued.kernels.primitives.system_calls import now, sleep_until

UNLOCKED, BY_LOOP, BY_ARRIVALS = 0, 1, 2
#: ns between two attempts: the thread that holds the lock has lost its processor.
RETRY_DELAY = 20_000


@kernel
def try_acquire(session, owner):
    """Take the lock if it is free; whether it was. Never waits."""
    if session.lock == 0:
        return True
    return swap_long(session.lock, np.uint64(UNLOCKED), np.uint64(owner)) == UNLOCKED


@kernel
def acquire(session, owner, clock):
    """Take the lock as soon as the other thread releases it, which takes a few microseconds."""
    while not try_acquire(session, owner):
        sleep_until(now(clock) + RETRY_DELAY, clock)


@kernel
def release(session):
    """The next owner sees everything that was written under the lock."""
    if session.lock != 0:
        store_long(session.lock, np.uint64(UNLOCKED))
