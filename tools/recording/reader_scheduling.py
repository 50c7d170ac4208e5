"""Scheduling of the processes that read the ring: they yield to the loop.

A niced process may keep its processor until its slice is over when the loop wakes up there.
A SCHED_IDLE process gives it up at once, but starves on a busy machine. So readers are idle
while the ring holds enough for that to be safe.
"""

from __future__ import annotations

import contextlib
import os
import re
import resource
import time
from collections.abc import Callable
from pathlib import Path

#: Number of the capability, capabilities(7).
CAP_SYS_NICE = 23
#: Niceness of a reader that cannot be idle; the maximum is 19.
NICENESS = 5
#: Seconds of records that a ring has to hold for its reader to be idle.
SAFE = 4.0
#: Seconds of waiting for a processor that count as starved, and how long the reader is not idle
#: after that.
STARVED, NOT_IDLE = 0.5, 30.0


class ReaderPriority:
    """Priority of all threads of a reading process: idle while that is safe, otherwise niced.

    Only the reading thread calls `update`.

    processor    the loop's, if it is pinned: the reader uses the others, if there are any
    """

    def __init__(self, processor: int | None = None) -> None:
        self.niceness = min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
        of_all_threads(lambda thread: os.setpriority(os.PRIO_PROCESS, thread, self.niceness))
        others = os.sched_getaffinity(0) - {processor}
        if processor is not None and others:
            of_all_threads(lambda thread: os.sched_setaffinity(thread, others))
        self.is_idle = False
        self._may_return = may_return(self.niceness)
        self._updated: float | None = None
        self._waited = self._awake_until = 0.0

    def update(self, backlog: float) -> None:
        """Call before each poll; `backlog` is the share of the ring that it will read."""
        now, in_all = time.monotonic(), waited()
        before, self._updated = self._updated, now
        # Time in which the reader was stopped or slept does not count as waiting.
        starved, self._waited = in_all - self._waited, in_all
        if before is None:
            return  # the time before was startup
        passed = now - before
        if starved > STARVED:
            self._awake_until = now + NOT_IDLE
        safe = backlog * SAFE < passed and now > self._awake_until
        if self._may_return and safe != self.is_idle:
            policy = os.SCHED_IDLE if safe else os.SCHED_OTHER
            none = os.sched_param(0)
            of_all_threads(lambda thread: os.sched_setscheduler(thread, policy, none))
            self.is_idle = safe


def of_all_threads(change: Callable[[int], object]) -> None:
    """Apply to all threads of this process; threads started later inherit it."""
    for path in Path("/proc/self/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            change(int(path.name))


def waited() -> float:
    """Seconds that the calling thread was runnable without a processor; elapsed time if the kernel
    does not count that."""
    try:
        return 1e-9 * int(Path("/proc/thread-self/schedstat").read_text().split()[1])
    except FileNotFoundError:
        return time.monotonic()


def may_return(niceness: int) -> bool:
    """Whether this process may leave SCHED_IDLE again: by CAP_SYS_NICE, or a limit. sched(7)"""
    limit = resource.getrlimit(resource.RLIMIT_NICE)[0]
    status = Path("/proc/self/status").read_text()
    granted = int(re.findall(r"CapEff:\s*([0-9a-f]+)", status)[0], 16)
    is_capable = bool(granted & 1 << CAP_SYS_NICE)
    return is_capable or limit == resource.RLIM_INFINITY or limit >= 20 - niceness
