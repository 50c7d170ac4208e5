"""The thread of a session whose states are answered as they arrive."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from torqued.client.memory import futex
from torqued.client.memory.page_layout import STATES
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.model.model import Model
from torqued.kernels.primitives.workspace import LoopWorkspace
from torqued.server.loop.arrival_loop import arrivals
from torqued.server.loop.loop_records import Shared
from torqued.server.loop.realtime import name_thread
from torqued.server.transport.memory_pages import Page

#: s between two attempts to wake a thread that is to end: it may be about to sleep.
RETRY_DELAY = 0.001


class ArrivalThread:
    """Begins with `start` and ends when the session in its slot is no longer open."""

    def __init__(
        self, model: Model, shared: Shared, slot: int, page: Page, settings: Callable[[], object]
    ) -> None:
        self._page = page
        self._own = arrivals(slot)
        #: session_lock.py; the record has its address.
        self.lock: NDArray[np.uint64] = np.zeros(1, np.uint64)
        workspace = LoopWorkspace(model.world, model.bodies.copy())  # payloads change bodies
        answer = COMPILED.answer_arrivals

        def run() -> None:
            name_thread()
            settings()
            answer(workspace.claim(), shared, self._own)

        self._thread = threading.Thread(target=run, name="arrivals", daemon=True)

    def start(self) -> None:
        """Call this once the session's record is filled."""
        self._thread.start()

    @property
    def ages(self) -> NDArray[np.int64]:
        """Histogram of the ages of the states that were answered."""
        return np.array(self._own.loop[0].age)

    def join(self) -> None:
        """Wait for its end, once the session is no longer open."""
        while self._thread.is_alive():
            futex.wake(self._page.address + STATES)
            self._thread.join(RETRY_DELAY)
