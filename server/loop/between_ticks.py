"""What a session is between two ticks: numbers of one tick, none of the next among them.

A tick changes much of a session's memory step by step: references in effect, for one, are first
what is wanted and then what limits allow. Who serves a session keeps its `changes` odd meanwhile.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np

from torqued.common import errors
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.primitives.atomics import fence, store_long
from torqued.server.loop.records import SESSION

#: Byte of a session's record where `changes` is.
CHANGES = np.uint64(SESSION.fields["changes"][1])  # type: ignore[index]
#: s from one look to the next, and for all of them: whoever serves the session may have lost its
#: processor in the middle of a tick.
PAUSE, PATIENCE = 2e-5, 1.0

Found = TypeVar("Found")


@kernel
def begin_changes(session):
    session.changes += 1
    fence()


@kernel
def end_changes(session, address):
    store_long(address + CHANGES, np.uint64(session.changes + 1))


def between_ticks(record: Any, read: Callable[[], Found]) -> Found:
    """What `read` finds while nobody serves the session; it should copy and do nothing else."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        before = int(record.changes)
        if before % 2 == 0:
            found = read()
            if record.changes == before:
                return found
        time.sleep(PAUSE)
    raise errors.error(
        "busy",
        f"session {record.number} was being served whenever it was looked at, for {PATIENCE:g} s",
    )
