"""How processes that read the ring yield to the loop, and to whatever else runs here.

A process that is niced still keeps a processor until its slice is over when the loop wakes up
there. One of SCHED_IDLE gives it up at once; it gets next to nothing where others are busy.
"""

from __future__ import annotations

import os
import re
import resource
import time
from pathlib import Path

#: Number of the capability, capabilities(7).
CAP_SYS_NICE = 23
#: How much a reading process yields to others where it cannot be idle; 19 is the most.
NICENESS = 5
#: s that a ring has to hold of what comes for its recorder to be idle.
SAFE = 4.0
#: s between looks at the ring from which on a recorder is held up, and s that it is not idle then.
HELD_UP, WIDE_AWAKE = 0.5, 30.0


def stand_back() -> str:
    """Run where nobody else wants to: for processes that may lose ticks. What was granted."""
    niceness = os.nice(NICENESS)
    try:
        os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    except OSError as error:
        return f"niceness {niceness}; SCHED_IDLE was not granted: {error.strerror}"
    return "SCHED_IDLE"


class Standing:
    """Of a recorder, which is to lose nothing: idle for as long as it can be held up safely.

    To be used in the thread that records.
    """

    def __init__(self) -> None:
        self.niceness = os.nice(NICENESS)
        self.is_idle = False
        self._may_return = may_return(self.niceness)
        self._looked = time.monotonic()
        self._awake_until = 0.0

    def look(self, backlog: float) -> None:
        """To be called before each poll; `backlog` is the part of the ring that it will take."""
        now = time.monotonic()
        passed, self._looked = now - self._looked, now
        if passed > HELD_UP:
            self._awake_until = now + WIDE_AWAKE
        safe = backlog * SAFE < passed and now > self._awake_until
        if self._may_return and safe != self.is_idle:
            policy = os.SCHED_IDLE if safe else os.SCHED_OTHER
            os.sched_setscheduler(0, policy, os.sched_param(0))
            self.is_idle = safe


def may_return(niceness: int) -> bool:
    """Whether this process may leave SCHED_IDLE again: by CAP_SYS_NICE, or a limit. sched(7)"""
    limit = resource.getrlimit(resource.RLIMIT_NICE)[0]
    status = Path("/proc/self/status").read_text()
    granted = int(re.findall(r"CapEff:\s*([0-9a-f]+)", status)[0], 16)
    is_capable = bool(granted & 1 << CAP_SYS_NICE)
    return is_capable or limit == resource.RLIM_INFINITY or limit >= 20 - niceness
