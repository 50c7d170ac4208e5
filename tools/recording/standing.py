"""How processes that read the ring yield to the loop, and to whatever else runs here.

A process that is niced may still keep a processor until its slice is over when the loop wakes up
there (server/loop/timer_slack.py says where not). One of SCHED_IDLE gives it up at once, but gets
next to nothing where others are busy. So readers are idle while that costs them nothing.
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
#: How much a reading process yields to others where it cannot be idle; 19 is the most.
NICENESS = 5
#: s that a ring has to hold of what comes for its reader to be idle.
SAFE = 4.0
#: s for which a reader waited for a processor from which on it is held up, and s that it is not
#: idle then.
HELD_UP, WIDE_AWAKE = 0.5, 30.0


class Standing:
    """Of a process that reads a ring, with all of its threads: idle for as long as it can be held
    up safely, otherwise niced. `look` belongs to the thread that reads.

    processor    the loop's, where it has one: it is left to the loop, if there are others
    """

    def __init__(self, processor: int | None = None) -> None:
        self.niceness = min(19, os.getpriority(os.PRIO_PROCESS, 0) + NICENESS)
        of_all_threads(lambda thread: os.setpriority(os.PRIO_PROCESS, thread, self.niceness))
        others = os.sched_getaffinity(0) - {processor}
        if processor is not None and others:
            of_all_threads(lambda thread: os.sched_setaffinity(thread, others))
        self.is_idle = False
        self._may_return = may_return(self.niceness)
        self._looked: float | None = None
        self._waited = self._awake_until = 0.0

    def look(self, backlog: float) -> None:
        """To be called before each poll; `backlog` is the part of the ring that it will take."""
        now, in_all = time.monotonic(), waited()
        before, self._looked = self._looked, now
        # A reader that was stopped, or that slept, has not been kept from a processor.
        held_up, self._waited = in_all - self._waited, in_all
        if before is None:
            return  # what came before was its start
        passed = now - before
        if held_up > HELD_UP:
            self._awake_until = now + WIDE_AWAKE
        safe = backlog * SAFE < passed and now > self._awake_until
        if self._may_return and safe != self.is_idle:
            policy = os.SCHED_IDLE if safe else os.SCHED_OTHER
            none = os.sched_param(0)
            of_all_threads(lambda thread: os.sched_setscheduler(thread, policy, none))
            self.is_idle = safe


def of_all_threads(change: Callable[[int], object]) -> None:
    """Of this process; those that they start have the same."""
    for path in Path("/proc/self/task").iterdir():
        with contextlib.suppress(ProcessLookupError):  # it has ended meanwhile
            change(int(path.name))


def waited() -> float:
    """s for which the calling thread could have run and had no processor; without the kernel's
    account of that, s that have passed."""
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
