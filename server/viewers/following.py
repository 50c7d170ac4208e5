"""What all viewers share: the ring polled at a pace, time of day, and an end in order."""

from __future__ import annotations

import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

from torqued.server.observation.reader import Batch, Reader

#: Seconds between two looks at the ring: a fifth of what the smallest ring holds.
LOOK = 0.02


class Following:
    """Polls a ring until it is told to stop, by a signal or after so many seconds."""

    def __init__(self, reader: Reader, seconds: float = float("inf")) -> None:
        self.reader = reader
        self._end = time.monotonic() + seconds
        self._stopping = threading.Event()

    def stop(self, *_: Any) -> None:
        self._stopping.set()

    def stop_on_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.stop)

    def batches(self, pause: float = LOOK) -> Iterator[Batch]:
        """What comes, look by look; also where nothing came."""
        while not self._stopping.is_set() and time.monotonic() < self._end:
            yield self.reader.poll()
            self._stopping.wait(pause)


def since_1970() -> int:
    """ns to add to a time of CLOCK_MONOTONIC for the time of day, as clocks stand now."""
    return time.time_ns() - time.monotonic_ns()


def titles(size: int, names: list[str]) -> list[str]:
    """What to call the numbers of an array: after joints where there is one for each."""
    return names if len(names) == size else [str(k) for k in range(size)]
