"""Many states in slices, shared by threads that run beside each other.

Kernels release the interpreter lock, so that threads are all it takes to use several cores. The
caller's thread works too. Slices are handed out in order: when one fails, those before it are
finished, and what is told is the first fault of all.
"""

from __future__ import annotations

import itertools
import os
import threading
import time
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property
from queue import SimpleQueue
from typing import TYPE_CHECKING

import numpy as np

from torqued.common.errors import TorquedError
from torqued.kernels.batch.sharing import end_of_window
from torqued.kernels.batch.wide_work import WideWorkspace

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Told how many states are done, and of how many.
Progress = Callable[[int, int], None]

#: s that the caller's thread watches for the end of another's last slice before it sleeps.
LONGEST_WATCH = 1e-4


def available_cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


class Desk:
    """What one thread at a time computes with: made when it is first needed."""

    def __init__(self, robot: Robot) -> None:
        self._original = robot

    @cached_property
    def robot(self) -> Robot:
        """For states one by one."""
        return self._original.copy()

    @cached_property
    def wide(self) -> WideWorkspace:
        model = self._original.model
        return WideWorkspace(model.world, model.bodies, self._original.nq_free)


class Slices:
    """A number of threads, each with a desk of its own while it works."""

    def __init__(self, robot: Robot, threads: int, progress: Progress | None) -> None:
        self.threads = threads
        self.progress = progress
        self._robot = robot
        self._desks: list[Desk] = []

    @cached_property
    def _helpers(self) -> SimpleQueue[Part | None]:
        """Where threads beside the caller's wait for work. An executor does the same with a lock
        and a condition for each of them, a tenth of a batch of two milliseconds."""
        parts: SimpleQueue[Part | None] = SimpleQueue()
        for k in range(self.threads - 1):
            threading.Thread(target=_help, args=(parts,), name=f"batch_{k}", daemon=True).start()
        weakref.finalize(self, _dismiss, parts, self.threads - 1)
        return parts

    def run(self, task: Task) -> None:
        """Carry out a task.

        Raises the error of the first state that has one; an interruption ends all threads' work
        after the states that they have taken.
        """
        helpers: list[Part] = []
        for _ in range(min(self.threads, task.slices) - 1):
            helpers.append(Part(self._take_part, task))
            self._helpers.put(helpers[-1])
        try:
            self._take_part(task, self.progress)
        except BaseException:
            task.end()
            raise
        finally:
            for helper in helpers:
                helper.wait()
        if task.errors:
            raise min(task.errors, key=lambda found: found[0])[1]
        if self.progress:
            self.progress(task.count, task.count)

    def _take_part(self, task: Task, progress: Progress | None) -> None:
        try:
            desk = self._desks.pop()
        except IndexError:
            desk = Desk(self._robot)
        try:
            task.take_part(desk, progress)
        finally:
            self._desks.append(desk)


class Part:
    """One thread's part of a batch."""

    def __init__(self, take_part: Callable[[Task, None], None], task: Task) -> None:
        self._take_part, self._task = take_part, task
        self._over = threading.Event()
        self._error: BaseException | None = None

    def do(self) -> None:
        try:
            self._take_part(self._task, None)
        except BaseException as error:
            self._error = error
            self._task.end()
        finally:
            self._over.set()

    def wait(self) -> None:
        """Until it is over; raises what went wrong beside the errors of states."""
        # All end at about the same time: to fall asleep and be woken would take longer.
        until = time.perf_counter() + LONGEST_WATCH
        while not self._over.is_set() and time.perf_counter() < until:
            time.sleep(0)  # the other thread needs the interpreter to end
        self._over.wait()
        if self._error is not None:
            raise self._error


def _help(parts: SimpleQueue[Part | None]) -> None:
    """What a thread beside the caller's does."""
    while (part := parts.get()) is not None:
        part.do()
        del part  # it holds the batch, which may have been given up meanwhile


def _dismiss(parts: SimpleQueue[Part | None], threads: int) -> None:
    for _ in range(threads):
        parts.put(None)


def bounds(count: int, size: int, threads: int) -> list[int]:
    """Where slices begin and the last one ends: of `size` states each, towards the end of a quarter
    of that, so that threads end at about the same time."""
    if threads == 1 or count <= size:  # no more than one is at work
        return [*range(0, count, size), count]
    tail = max(0, count - threads * size) // size * size
    return [*range(0, tail, size), *range(tail, count, max(1, size // 4)), count]


class Task(ABC):
    """One batch, of whose states threads take some at a time, in order: when one fails, those
    before it are finished, and what is told is the first fault of all."""

    def __init__(self, count: int, slices: int) -> None:
        self.count = count
        self.slices = slices  # as many threads may be of use
        self.ended = False
        self.errors: list[tuple[int, TorquedError]] = []  # in the order of states

    def end(self) -> None:
        """Nothing more is taken."""
        self.ended = True

    @abstractmethod
    def take_part(self, desk: Desk, progress: Progress | None) -> None:
        """One thread's part."""


class InSlices(Task):
    """`work(desk, first, last)` for all slices of `size` states."""

    def __init__(
        self, count: int, size: int, threads: int, work: Callable[[Desk, int, int], None]
    ) -> None:
        self._bounds = bounds(count, size, threads)
        self._work = work
        self._next = itertools.count()  # taken in one step of the interpreter: no lock
        self._done = 0
        super().__init__(count, len(self._bounds) - 1)

    def take_part(self, desk: Desk, progress: Progress | None) -> None:
        for k in self._next:
            if k >= self.slices or self.ended:
                return
            first, last = self._bounds[k], self._bounds[k + 1]
            try:
                self._work(desk, first, last)
            except TorquedError as error:
                self.errors.append((k, error))
                self.end()
            self._done += last - first
            if progress:
                progress(min(self._done, self.count - 1), self.count)


class Shared(Task):
    """States that compiled code takes from a count (sharing.py): `work(desk, counter, stop)`
    computes until those before `stop` are taken, and raises errors of states."""

    def __init__(self, count: int, size: int, work: Callable[[Desk, int, int], None]) -> None:
        super().__init__(count, -(-count // size))
        self._work = work
        self._taken = np.zeros(1, np.int64)

    def end(self) -> None:
        super().end()
        self._taken[0] = self.count

    def take_part(self, desk: Desk, progress: Progress | None) -> None:
        taken = 0
        while taken < self.count and not self.ended:
            try:
                self._work(desk, self._taken.ctypes.data, end_of_window(taken, self.count))
            except TorquedError as error:
                self.errors.append((self.count if error.state is None else error.state, error))
                self.end()
            taken = int(self._taken[0])
            if progress and not self.ended:
                progress(min(taken, self.count - 1), self.count)
