"""Times of calls that compete with each other, taken so that a busy machine is fair to all.

Contenders take turns in short windows of some calls each, over several states of a robot, in
alternating order: what disturbs the machine meets all of them. A run measures everything several
times over (`pooled`), so that a disturbance of seconds spoils no figure.

A window gives one mean time per call. The figure of a contender is the 10th percentile of its
windows: near the best that the machine does, without hanging on one lucky window.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

#: A function and its arguments. Timed as they are, since a wrapper would cost as much as a kernel.
Call = tuple[Callable[..., object], tuple[object, ...]]

#: Nanoseconds, never backwards.
Clock = Callable[[], int]

#: A window of several calls lasts no longer, so that turns stay short.
MAX_WINDOW_NS = 2_000_000


@dataclass(frozen=True)
class Plan:
    """How much to measure: passes over all states until both minima are reached."""

    seconds: float
    passes: int
    calls: int = 20  # in a window, less where calls are slow


@dataclass(frozen=True)
class Times:
    """What one contender needed for a call, in µs: a mean per window."""

    windows: NDArray[np.float64]

    @property
    def us(self) -> float:
        """The figure to compare by."""
        return float(np.percentile(self.windows, 10))

    @property
    def median_us(self) -> float:
        """What to expect on the machine as it was during the run."""
        return float(np.percentile(self.windows, 50))


def measure(
    contenders: Mapping[str, Sequence[Call]], plan: Plan, clock: Clock = time.perf_counter_ns
) -> dict[str, Times]:
    """Times of each contender, which gives one call per state; all have as many states."""
    (states,) = {len(calls) for calls in contenders.values()}
    names = list(contenders)
    windows: dict[str, list[float]] = {name: [] for name in names}
    with _no_garbage_collection():
        calls = calls_per_window(contenders, plan, clock)
        passes, start = 0, clock()
        while passes < plan.passes or clock() - start < plan.seconds * 1e9:
            for state in range(states):
                for name in names:
                    windows[name].append(window_mean(contenders[name][state], calls, clock))
            names.reverse()
            passes += 1
    return {name: Times(np.array(windows[name])) for name in contenders}


def pooled(parts: Sequence[Mapping[str, Times]]) -> dict[str, Times]:
    """The windows of several measurements of the same contenders as one."""
    return {
        name: Times(np.concatenate([part[name].windows for part in parts])) for name in parts[0]
    }


def calls_per_window(contenders: Mapping[str, Sequence[Call]], plan: Plan, clock: Clock) -> int:
    """As many as planned, or as fit into a short turn of the slowest contender."""
    slowest_us = max(window_mean(calls[0], 1, clock) for calls in contenders.values())
    return int(min(plan.calls, max(1, MAX_WINDOW_NS // max(1, int(slowest_us * 1e3)))))


def window_mean(call: Call, calls: int, clock: Clock) -> float:
    """Mean time of a call in µs, over `calls` of them."""
    function, arguments = call
    function(*arguments)  # so that caches hold this contender's data and not the other's
    start = clock()
    for _ in range(calls):
        function(*arguments)
    return (clock() - start) / calls / 1e3


@contextmanager
def _no_garbage_collection() -> Iterator[None]:
    """Its pauses belong to whatever was allocated before, not to the contender they meet."""
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if was_enabled:
            gc.enable()
