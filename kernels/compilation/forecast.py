"""How long kernels take to compile, and what a person reads meanwhile."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager

from torqued.common.durations import about

#: s that kernels took on a processor of 2024; others about OTHERS.
SECONDS = {
    "run_servo": 4.0,
    "serve_session": 18.0,
    "evaluate": 14.0,
    "follow_references": 15.0,
    "guard_torques": 13.0,
    "stream_quantities": 12.0,
    "pd_torque": 7.0,
}
OTHERS = 2.0
#: s of compiling as predicted after which the pace so far counts as much as the table.
TRUST = 10.0


def expected(names: Collection[str]) -> float:
    """s of one process."""
    return sum(SECONDS.get(name, OTHERS) for name in names)


class Forecast:
    """The time that is left, by kernels that are missing in the cache."""

    def __init__(
        self,
        missing: Collection[str],
        processes: int,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._missing, self._all = list(missing), expected(missing)
        self._processes, self._clock, self._begin = processes, clock, clock()

    def left(self, is_ready: Callable[[str], bool]) -> float:
        """s; 0 once all are there."""
        self._missing = [name for name in self._missing if not is_ready(name)]
        left = expected(self._missing)
        passed = self._clock() - self._begin
        return left * (passed + TRUST / self._processes) / (self._all - left + TRUST)


def has_reader() -> bool:
    """Whether a person reads standard error."""
    return sys.stderr is not None and sys.stderr.isatty()


@contextmanager
def notice(name: str) -> Iterator[None]:
    """A line on the terminal for as long as a kernel compiles."""
    seconds = about(expected([name]))
    line = f"torqued: compiling {name} for this machine, once; {seconds}"
    print(line, end="", file=sys.stderr, flush=True)
    try:
        yield
    finally:
        print(f"\r{' ' * len(line)}\r", end="", file=sys.stderr, flush=True)
