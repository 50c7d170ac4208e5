"""The threads of a session whose states are answered as they arrive."""

from __future__ import annotations

import threading
from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from torqued.client import futex
from torqued.client.page_layout import STATES
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.model.model import Model
from torqued.kernels.primitives.workspace import LoopWorkspace
from torqued.server.loop.arrival_loop import arrivals
from torqued.server.loop.promptness import name_thread
from torqued.server.loop.prompts import prompter
from torqued.server.loop.records import Shared
from torqued.server.loop.stand_in import StandInMemory
from torqued.server.transport.memory_pages import Page

#: s between two tries to wake a thread that is to end: it may have been about to sleep.
WAKE_AGAIN = 0.001


def _thread(name: str, run: Callable[[], None]) -> threading.Thread:
    return threading.Thread(target=run, name=name, daemon=True)


class ArrivalThreads:
    """One that answers, and where there are rehearsals one that prompts it (prompts.py). They begin
    with `start` and end when the session in their slot is no longer open."""

    def __init__(
        self,
        model: Model,
        shared: Shared,
        slot: int,
        page: Page,
        settings: Callable[[], object],
        stand_in: StandInMemory,
        rehearses: bool,
    ) -> None:
        self._page, self._stand_in = page, stand_in
        self._own = arrivals(slot, stand_in.stand_in)
        #: Whose turn it is; turns.py. The record has its address.
        self.turn: NDArray[np.uint64] = np.zeros(1, np.uint64)
        workspace = LoopWorkspace(model.world, model.bodies.copy())  # payloads change bodies
        self._prompter = prompter(slot)
        answer, prompt = COMPILED.answer_arrivals, COMPILED.prompt_rehearsals

        def answering() -> None:
            name_thread()
            settings()
            answer(workspace.claim(), shared, self._own)

        def prompting() -> None:
            name_thread()
            settings()
            prompt(shared, self._prompter)

        #: With the address of the word that each sleeps on.
        self._threads = [(_thread("arrivals", answering), page.address + STATES)]
        if rehearses:
            self._threads.append((_thread("prompts", prompting), self._prompter.word.ctypes.data))

    def start(self) -> None:
        """To be called when the session's record is filled."""
        for thread, _ in self._threads:
            thread.start()

    @property
    def ages(self) -> NDArray[np.int64]:
        """Histogram of the ages of the states that were answered."""
        return np.array(self._own.loop[0].age)

    def join(self) -> None:
        """Wait for their end, once the session is no longer open."""
        for thread, word in self._threads:
            while thread.is_alive():
                futex.wake(word)
                thread.join(WAKE_AGAIN)
