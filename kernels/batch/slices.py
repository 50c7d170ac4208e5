"""Many states, shared by threads that run beside each other; the caller's thread works too.

Where calls go through Python, threads take slices of states in order, each with a robot of its own:
kernels release the interpreter lock. Where compiled code has many states to do, none needs the
interpreter (team.py).
"""

from __future__ import annotations

import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager
from functools import cached_property
from typing import TYPE_CHECKING

from torqued.common.errors import TorquedError
from torqued.kernels.batch.landing import largest_cache
from torqued.kernels.batch.team import Team
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

    def __init__(self, robot: Robot, cache: int) -> None:
        """`cache` as a `WideWorkspace` takes it."""
        self._original, self._cache = robot, cache

    @cached_property
    def robot(self) -> Robot:
        """For states one by one."""
        return self._original.copy()

    @cached_property
    def wide(self) -> WideWorkspace:
        model = self._original.model
        return WideWorkspace(model.world, model.bodies, self._original.nq_free, self._cache)


#: Slices that the caller's thread does alone, and then with all others, to see whether they help:
#: where a state then takes at most such a share of the time.
ALONE, TOGETHER, PAYS = 2, 3, 0.9

#: (desk, first, last): what is done for the states of a slice.
Work = Callable[[Desk, int, int], None]


class Slices:
    """A number of threads, each with a desk of its own while it works."""

    def __init__(self, robot: Robot, threads: int, progress: Progress | None) -> None:
        self.threads = threads
        self.progress = progress
        self._robot = robot
        self._cache = largest_cache() if threads > 1 else 0
        self._desks: list[Desk] = []
        self._pool: ThreadPoolExecutor | None = None
        self._pool_process = 0

    @cached_property
    def desk(self) -> Desk:
        """The caller's."""
        return Desk(self._robot, self._cache)

    @cached_property
    def team(self) -> Team:
        """Threads beside the caller's, for compiled code."""
        return Team([Desk(self._robot, self._cache).wide for _ in range(self.threads - 1)])

    def _hire(self, task: Task, desks: Iterable[Desk]) -> Iterator[Future[None]]:
        """Threads beside the caller's, for Python; none in a program that is about to end."""
        if self._pool is None or self._pool_process != os.getpid():  # a fork leaves threads behind
            self._pool = ThreadPoolExecutor(self.threads - 1, "batch_calls")
            self._pool_process = os.getpid()
        for desk in desks:
            try:
                yield self._pool.submit(task.help_with, desk)
            except RuntimeError as error:
                if "shutdown" not in str(error):
                    raise
                return

    def run(self, count: int, size: int, work: Work) -> None:
        """`work(desk, first, last)` for all slices of `size` states, in order.

        Threads share the interpreter: where calls are mostly Python, two take twice as long as one.
        So the caller's thread begins alone, and the others leave where it was as fast without them.

        Raises the error of the first state that has one; an interruption ends all threads' work
        after the slices that they have taken.
        """
        task = Task(count, bounds(count, size, self.threads), work)
        others = min(self.threads, available_cores(), task.slices - ALONE) - 1
        futures: list[Future[None]] = []
        try:
            with self._desk() as desk, ExitStack() as desks:
                if others > 0:
                    task.take_part(desk, self.progress, ALONE - 1)
                    alone = task.pace(desk, self.progress, 1)
                    given = [desks.enter_context(self._desk()) for _ in range(others)]
                    futures += self._hire(task, given)
                    together = task.pace(desk, self.progress, TOGETHER)
                    task.has_helpers = together < PAYS * alone
                task.take_part(desk, self.progress)
        except BaseException:
            task.ended = True
            raise
        finally:
            wait(futures)
        for future in futures:
            future.result()
        if task.errors:
            raise min(task.errors, key=lambda found: found[0])[1]
        if self.progress:
            self.progress(count, count)

    @contextmanager
    def _desk(self) -> Iterator[Desk]:
        """One that nobody sits at."""
        desk = self._desks.pop() if self._desks else Desk(self._robot, self._cache)
        try:
            yield desk
        finally:
            self._desks.append(desk)


def bounds(count: int, size: int, threads: int) -> list[int]:
    """Where slices begin and the last one ends: of `size` states each, at first and towards the end
    of a quarter of that, so that threads are soon tried and end at about the same time."""
    if threads == 1 or count <= size:  # no more than one is at work
        return [*range(0, count, size), count]
    short = max(1, size // 4)
    head = min(count, (ALONE + TOGETHER * threads) * short)
    tail = head + max(0, count - head - threads * size) // size * size
    starts = *range(0, head, short), *range(head, tail, size), *range(tail, count, short)
    return [*starts, count]


class Task:
    """One batch, of whose slices threads take one at a time, in order: when one fails, those before
    it are finished, and what is told is the first fault of all."""

    def __init__(self, count: int, bounds: Sequence[int], work: Work) -> None:
        self._count, self._bounds, self._work = count, bounds, work
        self.slices = len(bounds) - 1
        self.ended = False  # nothing more is taken
        self.has_helpers = True  # other threads than the caller's are wanted
        self.errors: list[tuple[int, TorquedError]] = []  # in the order of states
        self._next = itertools.count()  # taken in one step of the interpreter: no lock
        self._done = 0

    def take_part(self, desk: Desk, progress: Progress | None, most: int | None = None) -> None:
        """The part of the caller's thread: at most so many slices."""
        for _ in itertools.count() if most is None else range(most):
            if not self._take(desk):
                return
            if progress:
                progress(min(self._done, self._count - 1), self._count)

    def help_with(self, desk: Desk) -> None:
        """Another thread's part."""
        while self.has_helpers and self._take(desk):
            pass

    def pace(self, desk: Desk, progress: Progress | None, slices: int) -> float:
        """Take so many; how many seconds passed for each state that was done by anybody."""
        start, done = time.perf_counter(), self._done
        self.take_part(desk, progress, slices)
        return (time.perf_counter() - start) / max(self._done - done, 1)

    def _take(self, desk: Desk) -> bool:
        """Do the next slice; whether there was one."""
        k = next(self._next)
        if k >= self.slices or self.ended:
            return False
        first, last = self._bounds[k], self._bounds[k + 1]
        try:
            self._work(desk, first, last)
        except TorquedError as error:
            self.errors.append((k, error))
            self.ended = True
        except BaseException:
            self.ended = True
            raise
        self._done += last - first
        return True
