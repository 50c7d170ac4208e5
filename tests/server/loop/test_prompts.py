"""Prompts: a session's thread is woken for its rehearsals, and else left alone."""

import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from eventually import eventually

from torqued.client import futex
from torqued.client.page_layout import STATES
from torqued.kernels.compilation.entries import COMPILED
from torqued.server.loop.prompts import prompter
from torqued.server.loop.records import shared_memory
from torqued.server.loop.rehearsal import MARGIN, MIN_INTERVAL
from torqued.server.loop.session_states import CLOSING, OPEN

PERIOD = 1_000_000  # ns
SLOT = 3


class Prompts:
    """A prompter at work on a session that the test makes up, and a sleeper that it wakes."""

    def __init__(self, interval=PERIOD):
        self.shared = shared_memory(PERIOD)
        self.page = np.zeros(32, np.uint64)
        self.record = self.shared.sessions[SLOT]
        self.record.state, self.record.page = OPEN, self.page.ctypes.data
        self.record.rehearses, self.record.interval = 1, interval
        self.record.processor = min(os.sched_getaffinity(0))
        self.record.due = time.monotonic_ns() + interval
        self.own = prompter(SLOT)
        self.woken = 0
        prompt = COMPILED.prompt_rehearsals
        self.thread = threading.Thread(target=prompt, args=(self.shared, self.own), daemon=True)
        self._sleeper = threading.Thread(target=self._sleep, daemon=True)

    def __enter__(self):
        self.thread.start()
        self._sleeper.start()
        return self

    def _sleep(self):
        word = futex.Word(self.page.ctypes.data + STATES)
        word._limit.nanoseconds = 50_000_000
        while self.record.state == OPEN:
            self.woken += word._wait(0, word._until) == 0  # else its time was over

    def state(self):
        """One that came now."""
        self.record.due = time.monotonic_ns() + int(self.record.interval)
        self.record.states += 1

    def wakes_for_a_state(self):
        """Whoever sleeps; tried again where nobody was asleep when the prompt came."""
        before = self.woken
        return eventually(lambda: self.state() or self.woken > before)

    def __exit__(self, *_):
        self.record.state = CLOSING
        while self.thread.is_alive():
            futex.wake(self.own.word.ctypes.data)
            self.thread.join(0.001)
        self._sleeper.join()


def test_every_state_has_its_prompt():
    with Prompts() as prompts:
        for _ in range(20):
            assert prompts.wakes_for_a_state()


@pytest.mark.parametrize("interval", [1, 1000, MARGIN, MIN_INTERVAL, PERIOD])
def test_sessions_whose_states_stay_away_take_no_processor(interval):
    with Prompts(interval) as prompts:
        prompts.state()
        time.sleep(0.1)
        usage = Path(f"/proc/self/task/{prompts.thread.native_id}/schedstat")
        begin, used = time.monotonic_ns(), int(usage.read_text().split()[0])
        time.sleep(0.5)
        used = int(usage.read_text().split()[0]) - used
        assert used < 0.05 * (time.monotonic_ns() - begin)


@pytest.mark.parametrize("field", ["rehearses", "interval"])
def test_sessions_without_rehearsals_are_left_alone(field):
    prompts = Prompts()
    prompts.record[field] = 0
    with prompts:
        time.sleep(0.2)
    assert prompts.woken == 0


def test_there_is_one_prompt_for_a_state_and_none_in_silence():
    with Prompts() as prompts:
        for _ in range(3):
            assert prompts.wakes_for_a_state()
            time.sleep(0.2)
            assert prompts.woken <= prompts.record.states + 1  # one before the first


def test_it_goes_to_where_states_are_answered():
    with Prompts() as prompts:
        for processor in sorted(os.sched_getaffinity(0)):
            prompts.record.processor = processor
            prompts.state()
            there = {processor}
            eventually(lambda there=there: os.sched_getaffinity(prompts.thread.native_id) == there)


def test_rehearsals_that_took_too_long_are_tried_again_later():
    prompts = Prompts()
    prompts.record.lag = PERIOD // 4
    with prompts:
        time.sleep(0.1)
        assert prompts.record.lag > PERIOD // 5  # as long as no states come
        eventually(lambda: prompts.state() or prompts.record.lag <= PERIOD // 8)
        assert prompts.wakes_for_a_state()
