"""A process that stands still for a while, whatever happens meanwhile."""

from __future__ import annotations

import contextlib
import os
import signal


@contextlib.contextmanager
def standing_still(pid):
    """Stopped inside of the block; a test that fails there leaves nobody waiting for it."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):  # killed meanwhile
            os.kill(pid, signal.SIGCONT)
