"""The peer of the servo: a compiled loop that sleeps until each deadline and does nothing else."""

from __future__ import annotations

import numpy as np
from numba import njit
from numpy.typing import NDArray

from torqued.kernels.primitives.system_calls import now, sleep_until
from torqued.server.loop.loop_records import BINS, BINS_PER_OCTAVE


@njit(nogil=True)
def bare_loop(period, latenesses, clock):
    """Fill `latenesses`, ns, one by one. Deadlines that have passed are skipped, as the servo does:
    otherwise one long pause would count many times."""
    deadline = now(clock)
    for k in range(len(latenesses)):
        deadline += period
        time = now(clock)
        if time > deadline + period:
            deadline += (time - deadline) // period * period
        sleep_until(deadline, clock)
        latenesses[k] = now(clock) - deadline


def bare_latenesses(period_ns: int, ticks: int) -> NDArray[np.int64]:
    """How late each tick of a bare loop was, ns."""
    latenesses = np.zeros(ticks, np.int64)
    bare_loop(period_ns, latenesses, np.zeros(2, np.int64))
    return latenesses


def in_bins(latenesses_ns: NDArray[np.int64]) -> NDArray[np.int64]:
    """Counted as the servo counts."""
    octaves = np.log2(np.maximum(1.0, latenesses_ns * 1e-3))
    bins = np.minimum(BINS - 1, (BINS_PER_OCTAVE * octaves).astype(int))
    return np.bincount(bins, minlength=BINS)
