"""A process that stands still for a while, whatever happens meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal
from pathlib import Path

from support.eventually import eventually


def is_stopped(pid):
    """Whether all its threads are: one that waits for a processor stops when it gets one."""
    states = [task.read_text().rpartition(")")[2].split()[0] for task in stats_of(pid)]
    return set(states) <= {"T", "t"}


def stats_of(pid):
    return list(Path(f"/proc/{pid}/task").glob("*/stat"))


@contextlib.contextmanager
def standing_still(pid):
    """Stopped inside of the block; a test that fails there leaves nobody waiting for it."""
    os.kill(pid, signal.SIGSTOP)
    try:
        eventually(lambda: is_stopped(pid))
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):  # killed meanwhile
            os.kill(pid, signal.SIGCONT)
