"""What all viewers share: the ring polled at a pace, time of day, and an end in order."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

from torqued.tools.recording.reader import Batch, Reader
from torqued.tools.recording.standing import Standing

#: Seconds between two polls of the ring: a fifth of what the smallest ring holds.
POLL_INTERVAL = 0.02
#: Seconds between two polls without a viewer, and the share of a ring from which on that would be
#: too long: each poll may fall on a tick.
IDLE_INTERVAL, FILLING = 0.2, 0.05


class Stopping:
    """Work until a stop, by a signal or after so many seconds."""

    def __init__(self, seconds: float = float("inf")) -> None:
        self._end = time.monotonic() + seconds
        self._stopping = threading.Event()

    def stop(self, *_: Any) -> None:
        self._stopping.set()

    def stop_on_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.stop)

    @property
    def goes_on(self) -> bool:
        return not self._stopping.is_set() and time.monotonic() < self._end

    def pause(self, seconds: float) -> None:
        """So long, or until a stop."""
        self._stopping.wait(seconds)

    def looks(self, pause: float) -> Iterator[None]:
        """One after the other, with a pause between them."""
        while self.goes_on:
            yield
            self.pause(pause)


class Following(Stopping):
    """Polls a ring until a stop, in a process that yields to the loop."""

    def __init__(self, reader: Reader, seconds: float = float("inf")) -> None:
        super().__init__(seconds)
        self.reader = reader
        self._standing = Standing(reader.processor)

    def batches(
        self, pause: float = POLL_INTERVAL, is_watched: Callable[[], bool] = lambda: True
    ) -> Iterator[Batch]:
        """What comes, poll by poll; also where nothing came."""
        while self.goes_on:
            backlog = self.reader.backlog
            self._standing.look(backlog)
            yield self.reader.poll()
            idle = backlog < FILLING and not is_watched()
            self.pause(max(pause, IDLE_INTERVAL) if idle else pause)


def since_1970() -> int:
    """ns to add to a time of CLOCK_MONOTONIC for the time of day, as clocks stand now."""
    return time.time_ns() - time.monotonic_ns()
