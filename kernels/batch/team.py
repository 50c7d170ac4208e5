"""Threads that help with a batch. What they do is in helpers.py: none needs the interpreter."""

from __future__ import annotations

import functools
import threading
import weakref
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.kernels.batch.helpers import SEAT, SEAT_BYTES
from torqued.kernels.batch.jobs import Job
from torqued.kernels.batch.wide_work import WideWorkspace
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.jit import address_of
from torqued.kernels.primitives.system_calls import FUTEX_CALL

entry_address = functools.cache(address_of)


class Team:
    """Helpers of one thread's batches. They end with this object."""

    def __init__(self, workspaces: Sequence[WideWorkspace]) -> None:
        """One for each workspace."""
        count = len(workspaces) if FUTEX_CALL >= 0 else 0
        block = np.zeros((count + 1) * SEAT_BYTES, np.uint8)
        start = -block.ctypes.data % SEAT_BYTES
        self._seats: Any = block[start : start + count * SEAT_BYTES].view(SEAT).view(np.recarray)
        self._first: int = self._seats.ctypes.data
        self._told = 0  # how many have been told of a job
        self._kept: list[Any] = []  # what they compute with, until they are done
        for k, workspace in enumerate(workspaces[:count]):
            self._seats[k].handle = workspace.handle
            given = self._first + k * SEAT_BYTES, (self._seats, workspace)
            threading.Thread(target=_help, args=given, name=f"batch_{k}", daemon=True).start()
        weakref.finalize(self, _dismiss, self._first, count, self._seats, self._kept).atexit = False

    def call(self, helpers: int) -> None:
        """There will be a job for so many."""
        COMPILED.call_helpers(self._first, min(helpers, len(self._seats)))

    def post(self, helpers: int, job: Job, counter: NDArray[np.int64], count: int) -> None:
        """Have so many compute `count` states, of which all that compute take some at a time from
        a counter."""
        self.settle()  # a job that was interrupted
        self._kept[:] = job, counter
        self._told = min(helpers, len(self._seats))
        function, taken = entry_address(job.entry), counter.ctypes.data
        COMPILED.post_job(self._first, self._told, function, job.address, taken, count)

    def settle(self) -> list[int]:
        """Until nobody computes any more; the states at which helpers gave up."""
        if self._told == 0:
            return []
        given_up = COMPILED.settle_job(self._first, self._told)
        found = self._seats.given_up[: self._told].tolist() if given_up else []
        self._told = 0
        self._kept.clear()
        return [state for state in found if state >= 0]


def _help(address: int, kept: Any) -> None:
    """One helper; `kept` is what it needs until it leaves."""
    COMPILED.help_with_batches(address)


def _dismiss(first: int, seats: int, *kept: Any) -> None:
    COMPILED.settle_job(first, seats)
    COMPILED.dismiss_helpers(first, seats)
