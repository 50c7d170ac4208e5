"""Threads of a batch: each computes one range of its states.

All states cost about the same, so the ranges are fixed before the threads begin. The caller's
thread computes the first range, threads of a pool the others. Kernels release the interpreter lock.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor, wait
from functools import cached_property, partial
from itertools import pairwise
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from torqued.common.errors import TorquedError
from torqued.kernels.batch.wide_work import WideWorkspace
from torqued.kernels.model.model import Model
from torqued.kernels.primitives.workspace import OwnershipError

if TYPE_CHECKING:
    from torqued.kernels.charts.charted_robot import ChartedRobot
    from torqued.kernels.robot.robot import Robot

#: Called with the number of states that are done, and of all.
Progress = Callable[[int, int], None]


def available_cores() -> int:
    """Processors that this process may use."""
    return len(os.sched_getaffinity(0))


class Scratch:
    """What one thread computes with: made when it is first needed."""

    def __init__(self, robot: Robot | ChartedRobot) -> None:
        self._original = robot

    @cached_property
    def robot(self) -> Any:
        """A copy, for states one by one."""
        return self._original.copy()

    @cached_property
    def wide(self) -> WideWorkspace:
        """For several states at a time."""
        robot = cast("Robot", self._original)  # only native states are computed so
        return WideWorkspace(robot.model.world, robot.model.bodies, robot.nq_free)


#: (scratch, first, last): computes these states.
Work = Callable[[Scratch, int, int], None]


class Grain(NamedTuple):
    """How a batch is divided, in states."""

    step: int  # ranges begin at multiples of it
    piece: int  # computed between two looks at errors, progress and interruptions
    share: int  # for which it is worth waking a thread


class Ranges:
    """One batch, a range of states for each thread."""

    def __init__(self, count: int, threads: int, grain: Grain, work: Work) -> None:
        self.count, self._grain, self._work = count, grain, work
        self._bounds = split(0, count, threads, grain.step)
        self._done = [0] * threads
        self.cancelled = False

    @property
    def done(self) -> int:
        """States that are computed."""
        return sum(self._done)

    def compute(
        self, k: int, scratch: Scratch, progress: Progress | None = None
    ) -> TorquedError | None:
        """Range k; the error of its first state that has one."""
        first, last = self._bounds[k], self._bounds[k + 1]
        pieces = max(1, (last - first) // self._grain.piece)
        for start, end in pairwise(split(first, last, pieces, self._grain.step)):
            if self.cancelled:
                return None
            try:
                self._work(scratch, start, end)
            except TorquedError as error:
                return error
            self._done[k] = end - first
            if progress:
                progress(min(self.done, self.count - 1), self.count)
        return None


def split(first: int, last: int, parts: int, step: int) -> list[int]:
    """Bounds of parts of about one length; each begins whole steps after the first one."""
    steps = (last - first) // step
    return [*(first + steps * k // parts * step for k in range(parts)), last]


class WorkerPool:
    """A number of threads, the caller's among them, each with its own scratch memory."""

    def __init__(self, robot: Robot | ChartedRobot, threads: int) -> None:
        self.threads, self._robot = threads, robot
        self._calls: set[object] = set()  # those that are under way
        self._executor: ThreadPoolExecutor | None = None
        self._process = 0
        self._renew()

    def _renew(self) -> None:
        """Leave present threads, and what they compute with, to themselves."""
        self._model = self._robot_model()
        self._scratches = [Scratch(self._robot) for _ in range(self.threads)]
        self._executor = None  # its threads end with what they have begun

    def run(self, count: int, grain: Grain, work: Work, progress: Progress | None = None) -> None:
        """Compute all states. Raises the error of the first one that has one; an interruption ends
        all threads' work after the pieces that they have begun. One call at a time, also of those
        that `progress` makes: scratch memory is in use."""
        call = object()
        try:
            self._calls.add(call)
            if len(self._calls) > 1:
                raise OwnershipError(
                    "the batch is in use by another call, expected one at a time; "
                    "give each thread its own with robot.copy().batch()"
                )
            self._run(count, grain, work, progress)
        finally:
            self._calls.discard(call)

    def _robot_model(self) -> Model:
        """The one that the robot has now: `set_inertia` gives it another."""
        native: Any = getattr(self._robot, "robot", self._robot)  # a chart has the robot's
        return cast(Model, native.model)

    def _run(self, count: int, grain: Grain, work: Work, progress: Progress | None) -> None:
        if self._robot_model() is not self._model:
            self._renew()
        threads = max(1, min(self.threads, -(-count // grain.share)))
        ranges = Ranges(count, threads, grain, work)
        futures: list[Future[TorquedError | None]] = []
        try:
            for k in range(1, threads):
                futures.append(self._submit(partial(ranges.compute, k, self._scratches[k])))
            errors = [ranges.compute(0, self._scratches[0], progress)]
            errors += [future.result() for future in futures]
        except BaseException:  # an interruption, also of the waiting
            ranges.cancelled = True
            self._renew()
            wait(futures)
            raise
        for error in errors:
            if error is not None:
                raise error
        if progress:
            progress(count, count)

    def _submit(self, call: Callable[[], TorquedError | None]) -> Future[TorquedError | None]:
        """The call in a thread of the pool; in this one where the program is about to end."""
        if self._executor is None or self._process != os.getpid():  # a fork leaves threads behind
            self._executor = ThreadPoolExecutor(self.threads - 1, "batch")
            self._process = os.getpid()
        try:
            return self._executor.submit(call)
        except RuntimeError as error:
            if "shutdown" not in str(error):
                raise
            done: Future[TorquedError | None] = Future()
            done.set_result(call())
            return done
