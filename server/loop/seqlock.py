"""A consistent copy of a session: all numbers are of one tick.

A tick changes a session's memory step by step: references in effect, for example, are first the
wanted ones and then those within limits. The serving thread keeps `changes` odd meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from torqued.common import errors
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.primitives.atomics import fence, store_long
from torqued.server.loop.loop_records import SESSION

#: Byte of a session's record where `changes` is.
CHANGES = np.uint64(SESSION.fields["changes"][1])  # type: ignore[index]
#: s between reads, and for all of them: the serving thread may lose its processor within a tick.
POLL_INTERVAL, TIMEOUT = 2e-5, 1.0

Found = TypeVar("Found")


@kernel
def begin_changes(session):
    session.changes += 1
    fence()


@kernel
def end_changes(session, address):
    store_long(address + CHANGES, np.uint64(session.changes + 1))


def seqlock_read(record: Any, read: Callable[[], Found]) -> Found:
    """What `read` returns between two ticks; it should only copy."""
    end = time.monotonic() + TIMEOUT
    while time.monotonic() < end:
        before = int(record.changes)
        if before % 2 == 0:
            found = read()
            if record.changes == before:
                return found
        time.sleep(POLL_INTERVAL)
    raise errors.error(
        "busy",
        f"session {record.number} could not be read between ticks within {TIMEOUT:g} s",
    )
