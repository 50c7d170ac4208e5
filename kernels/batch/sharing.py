"""How threads share the states of a batch: each takes the next few from a count that all have.

In compiled code, so that no thread waits for the interpreter while there are states left: what
waits for it sleeps, and to be woken takes longer than several states.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.primitives.atomics import load_long, swap_long
from torqued.kernels.primitives.layout import INTEGER
from torqued.kernels.primitives.wide import WIDTH

#: What entries take to know their states: first, last, the address of a count and where that stops.
SHARE = (INTEGER, INTEGER, INTEGER, INTEGER)
#: States that a thread takes at a time, and how many from the end on it takes less, so that threads
#: end at about the same time. What lies together is best written by one of them.
COARSE, FINE, TAIL = 16 * WIDTH, 4 * WIDTH, 64 * WIDTH
#: States that are taken before a look at what the interpreter has to say.
WINDOW = 32 * COARSE


def end_of_grain(first: int, stop: int) -> int:
    """Where the states end that are taken together, from `first` on."""
    return min(first + (COARSE if first + TAIL <= stop else FINE), stop)


grain_end = kernel(end_of_grain)


def end_of_window(state: int, count: int) -> int:
    """Where the states end between two such looks."""
    return min((state // WINDOW + 1) * WINDOW, count)


window_end: Any = kernel(end_of_window)


def end_with(state: int, count: int) -> int:
    """Where the states end that were taken together with this one."""
    stop = end_of_window(state, count)
    end = state // WINDOW * WINDOW
    while end <= state:
        end = end_of_grain(end, stop)
    return end


@kernel
def next_chunk(first, last, counter, stop):
    """The first state of the next chunk, and the last of those that this thread has taken: from
    first … last, then from what is left up to `stop` by the count at an address; -1 where nothing
    is. A chunk that would go beyond its end begins before it: some states are computed twice."""
    if first >= last:
        if counter == 0:
            return -1, -1
        first = np.int64(load_long(counter))
        while True:
            if first >= stop:
                return -1, -1
            last = grain_end(first, stop)
            found = np.int64(swap_long(counter, np.uint64(first), np.uint64(last)))
            if found == first:
                break
            first = found
    return max(0, min(first, last - WIDTH)), last
