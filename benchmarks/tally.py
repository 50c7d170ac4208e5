"""Blocks of the servo with one session, and what is counted in them."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from torqued.benchmarks.latency import Histogram
from torqued.client import Client
from torqued.server.daemon import Daemon
from torqued.server.loop.loop_records import BINS

RATE = 1000.0  # Hz
SETTLE = 0.05  # s, at the beginning of a block, not counted


class Tally:
    """Latenesses and compute times of one contender over its blocks."""

    def __init__(self) -> None:
        self.bins = np.zeros(BINS, np.int64)
        self.compute = np.zeros(BINS, np.int64)
        self.longest_us = 0.0
        self.max_us = 0.0
        self.missed = 0

    def histogram(self) -> Histogram:
        return Histogram(self.bins, self.max_us)

    def compute_histogram(self) -> Histogram:
        return Histogram(self.compute, self.longest_us)

    def add(self, other: Tally) -> None:
        self.bins += other.bins
        self.compute += other.compute
        self.longest_us = max(self.longest_us, other.longest_us)
        self.max_us = max(self.max_us, other.max_us)
        self.missed += other.missed


def servo_block(daemon: Daemon, ticks: int, tally: Tally) -> None:
    """The servo with one session for that many ticks."""
    with served(daemon) as loop:
        count_ticks(loop, ticks, tally)


@contextmanager
def served(daemon: Daemon) -> Iterator[Any]:
    """The servo with one session; the loop's record."""
    servo = daemon.servo
    in_its_thread(daemon, servo.start)
    with Client(daemon.endpoints.request, timeout=10.0) as client:
        hello = client.hello()
        with client.session("stream", want=["M", "C"]) as session:
            session.send(hello.neutral, np.ones(hello.nv))
            yield servo.shared.loop[0]
    in_its_thread(daemon, lambda: servo.stop(0))


def count_ticks(loop: Any, ticks: int, tally: Tally) -> None:
    """What the loop counts meanwhile, after a moment to settle."""
    time.sleep(SETTLE)
    loop.latest = loop.longest = 0
    before, missed = loop.lateness.copy(), int(loop.missed)
    computed = loop.compute.copy()
    time.sleep(ticks / RATE)
    tally.bins += loop.lateness - before
    tally.compute += loop.compute - computed
    tally.longest_us = max(tally.longest_us, float(loop.longest) * 1e-3)
    tally.missed += int(loop.missed) - missed
    tally.max_us = max(tally.max_us, float(loop.latest) * 1e-3)


def in_its_thread(daemon: Daemon, task: Callable[[], object]) -> None:
    """Do something where the daemon opens and closes sessions: others may be doing so just now."""
    done = threading.Event()

    def carry_out() -> None:
        try:
            task()
        finally:
            done.set()

    daemon.events.hand_over(carry_out)
    done.wait()
