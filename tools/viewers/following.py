"""What viewers share: polling the ring, time of day, a clean end, and poses of frames."""

from __future__ import annotations

import contextlib
import queue
import signal
import time
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, Any

from torqued.tools.recording.reader import Batch, Reader
from torqued.tools.recording.reader_scheduling import ReaderPriority

if TYPE_CHECKING:
    from torqued.kernels import Robot
    from torqued.kernels.model.description import Array

#: Seconds between two polls of the ring: a fifth of what the smallest ring holds.
POLL_INTERVAL = 0.02
#: Seconds between two polls without a subscriber, as each may delay a tick; and the share of the
#: ring above which that is too long.
IDLE_INTERVAL, MAX_IDLE_BACKLOG = 0.2, 0.05


class Stopping:
    """Work that ends by a signal or after so many seconds."""

    def __init__(self, seconds: float = float("inf")) -> None:
        self._end = time.monotonic() + seconds
        # An Event would not do: its lock may be held where a signal's handler wants it.
        self._stops: queue.SimpleQueue[None] = queue.SimpleQueue()

    def stop(self, *_: Any) -> None:
        """From any thread, and from a signal's handler."""
        self._stops.put(None)

    def stop_on_signals(self) -> None:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self.stop)

    @property
    def goes_on(self) -> bool:
        return self._stops.empty() and time.monotonic() < self._end

    def pause(self, seconds: float) -> None:
        """Sleep so long, or until `stop`."""
        with contextlib.suppress(queue.Empty):
            self._stops.put(self._stops.get(timeout=seconds))  # stays stopped

    def looks(self, pause: float) -> Iterator[None]:
        """Yields until the end, with a pause after each."""
        while self.goes_on:
            yield
            self.pause(pause)


class Following(Stopping):
    """Polls a ring until it ends, with a priority that yields to the loop."""

    def __init__(self, reader: Reader, seconds: float = float("inf")) -> None:
        super().__init__(seconds)
        self.reader = reader
        self._priority = ReaderPriority(reader.processor)

    def batches(
        self, pause: float = POLL_INTERVAL, is_watched: Callable[[], bool] = lambda: True
    ) -> Iterator[Batch]:
        """One batch per poll, possibly empty."""
        while self.goes_on:
            backlog = self.reader.backlog
            self._priority.update(backlog)
            yield self.reader.poll()
            is_idle = backlog < MAX_IDLE_BACKLOG and not is_watched()
            self.pause(max(pause, IDLE_INTERVAL) if is_idle else pause)


def since_1970() -> int:
    """ns to add to a time of CLOCK_MONOTONIC for the time of day, as clocks stand now."""
    return time.time_ns() - time.monotonic_ns()


def frame_poses(
    robot: Robot, q: Any, names: Iterable[str] | None = None
) -> dict[str, tuple[Array, Array]]:
    """Frame → position (3,) m and quaternion x y z w (4,) in the world, of some frames or all."""
    # Imported here: viewers of plain numbers do not need the kernels.
    from torqued.kernels.charts.rotation import quaternion_of

    chosen = robot.frame_names if names is None else names
    poses = {name: robot.frame_pose(q, name) for name in chosen}
    return {name: (pose[:3, 3], quaternion_of(pose[:3, :3])) for name, pose in poses.items()}
