"""Many states in slices, shared by threads that run beside each other.

Kernels release the interpreter lock, so that threads are all it takes to use several cores. The
caller's thread works too. Slices are handed out in order: when one fails, those before it are
finished, and what is told is the first fault of all.
"""

from __future__ import annotations

import itertools
import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cached_property
from typing import TYPE_CHECKING

from torqued.common.errors import TorquedError
from torqued.kernels.batch.wide_work import WideWorkspace

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Told how many states are done, and of how many.
Progress = Callable[[int, int], None]


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
    def _pool(self) -> ThreadPoolExecutor:
        return ThreadPoolExecutor(self.threads - 1, thread_name_prefix="batch")

    def run(self, count: int, size: int, work: Callable[[Desk, int, int], None]) -> None:
        """`work(desk, first, last)` for all slices of `size` states.

        Raises the error of the first state that has one; an interruption ends all threads' work
        after their slice.
        """
        task = _Task(count, size, work)
        helpers: list[Future[None]] = []
        if task.slices > 1 and self.threads > 1:
            wanted = min(self.threads, task.slices) - 1
            helpers = [self._pool.submit(self._take_part, task, None) for _ in range(wanted)]
        try:
            self._take_part(task, self.progress)
        except BaseException:
            task.ended.set()
            raise
        finally:
            for helper in helpers:
                helper.result()
        if task.errors:
            raise min(task.errors, key=lambda found: found[0])[1]
        if self.progress:
            self.progress(count, count)

    def _take_part(self, task: _Task, progress: Progress | None) -> None:
        desk = self._desks.pop() if self._desks else Desk(self._robot)
        try:
            task.take_part(desk, progress)
        finally:
            self._desks.append(desk)


class _Task:
    """One batch, of which threads take slices."""

    def __init__(self, count: int, size: int, work: Callable[[Desk, int, int], None]) -> None:
        self.count, self.size, self.work = count, size, work
        self.slices = -(-count // size)
        self.ended = threading.Event()
        self.errors: list[tuple[int, TorquedError]] = []
        self._next = itertools.count()  # taken in one step of the interpreter: no lock
        self._done = 0

    def take_part(self, desk: Desk, progress: Progress | None) -> None:
        for k in self._next:
            if k >= self.slices or self.ended.is_set():
                return
            first, last = k * self.size, min((k + 1) * self.size, self.count)
            try:
                self.work(desk, first, last)
            except TorquedError as error:
                self.errors.append((k, error))
                self.ended.set()
            self._done += last - first
            if progress:
                progress(min(self._done, self.count - 1), self.count)
