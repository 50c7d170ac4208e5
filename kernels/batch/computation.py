"""Several states at a time, in threads; and one by one what that gives up on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import TorquedError
from torqued.kernels.batch.jobs import Job
from torqued.kernels.batch.sharing import end_of_window, end_with
from torqued.kernels.batch.slices import Slices
from torqued.kernels.batch.stacks import Given, Stacks, of_state, padded, result_array
from torqued.kernels.batch.state_by_state import StateByState, filled_with_nan
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.model.description import Array
from torqued.kernels.primitives.wide import WIDTH

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: States for each thread: several tens of microseconds of work, which it is worth waking for.
SLICE = 32 * WIDTH

#: (inputs, results) → what an entry of algorithms.py or evaluation.py is told.
Wide = Callable[[Sequence[Array], Sequence[Array]], Job]
#: (robot, k) → results of one state.
One = Callable[["Robot", int], Sequence[Any]]


class WideComputation(StateByState):
    """What all methods for several states at a time do."""

    def __init__(self, robot: Robot, slices: Slices, narrow: bool) -> None:
        super().__init__(robot, slices, narrow)
        self._stacks = Stacks(robot.tree, robot.frame_table)
        self._remembers = False
        #: Computes the last batch once more, from the numbers that are in its arguments by then and
        #: into the same results; None unless that is one job, and was to be remembered.
        self.repeat: Callable[[], None] | None = None

    def remember(self, next_one: bool) -> None:
        """Forget the last batch; whether the next one is to be remembered, with all its arrays."""
        self._remembers, self.repeat = next_one, None

    def expect(self, count: int) -> None:
        """So many states will come: threads that will help with them may wake up meanwhile."""
        if count > SLICE and self.slices.threads > 1 and not self.narrow:
            self.slices.team.call(self._helpers(count))

    def _helpers(self, count: int) -> int:
        """How many threads beside the caller's are worth waking."""
        return min(self.slices.threads, -(-count // SLICE)) - 1

    def _state(self, q: Any, **given: Any) -> tuple[Array, list[Array], Given]:
        """Configurations, other arguments (N, nv) by name, and both together for `_compute`."""
        found = self._stacks.state(q, **given)
        q, *rest = found.stacks.values()
        return q, rest, found

    def _compute(
        self,
        state: Given,
        wide: Wide,
        inputs: Sequence[Array],
        outs: Sequence[Array],
        one: One,
        whole: bool = False,
    ) -> None:
        """Fill `outs`: several states at once by `wide`, and by `one(robot, k)` those of a chunk
        that it gives up on. Refuses wrong states. `whole`: this is all that the batch takes."""
        count = state.count
        few = count < WIDTH
        given = [padded(x, WIDTH) for x in inputs] if few else inputs
        found = [np.empty((WIDTH, *x.shape[1:])) for x in outs] if few else outs

        def one_by_one(first: int, last: int) -> None:
            for k in range(first, min(last, count)):
                self._stacks.require_right(state, k, k + 1)
                try:
                    values = one(self.slices.desk.robot, k)
                except TorquedError as error:
                    raise of_state(error, k) from error
                for array, value in zip(found, values, strict=True):
                    array[k] = value

        job = wide(given, found)
        self._carry_out(job, count, one_by_one)
        if self._remembers and whole and not few:
            self.repeat = partial(self._carry_out, job, count, one_by_one)
        if few:
            for array, value in zip(outs, found, strict=True):
                array[...] = value[:count]

    def _carry_out(self, job: Job, count: int, one_by_one: Callable[[int, int], None]) -> None:
        """Compute all states of a job, in threads; chunks that it gives up on one by one.

        Raises the error of the first state that has one: of those before it, all are computed. An
        interruption ends all threads' work after the states that they have taken.
        """
        compute, handle = getattr(COMPILED, job.entry), self.slices.desk.wide.handle
        taken = np.zeros(1, np.int64)
        counter, progress = taken.ctypes.data, self.slices.progress
        helpers = self._helpers(count)
        errors: list[tuple[int, TorquedError]] = []  # in the order of states

        def go_on(given_up: int, stop: int) -> None:
            """After a chunk at which compiled code gave up, -1 for none, take states up to
            `stop`."""
            first = last = 0
            try:
                while True:
                    if given_up >= 0:
                        one_by_one(given_up, given_up + WIDTH)
                        first, last = given_up + WIDTH, end_with(given_up, count)
                    given_up = compute(handle, job.address, first, last, counter, stop)
                    if given_up < 0:
                        return
            except TorquedError as error:
                errors.append((count if error.state is None else error.state, error))
                taken[0] = count  # nothing more is taken

        if helpers:
            self.slices.team.post(helpers, job, taken, count)
        try:
            done = 0
            while done < count:
                go_on(-1, end_of_window(done, count))
                done = int(taken[0])
                if progress and not errors:
                    progress(min(done, count - 1), count)
        except BaseException:
            taken[0] = count
            raise
        finally:
            left = self.slices.team.settle() if helpers else ()
        for given_up in left:
            go_on(given_up, 0)
        if errors:
            raise min(errors, key=lambda found: found[0])[1]
        if progress:
            progress(count, count)

    def _vectors(
        self,
        state: Given,
        wide: Wide,
        out: Any,
        one: One,
    ) -> Array:
        """A result (N, nv), from arrays in the robot's coordinates."""
        tree = self.robot.tree
        q, *inputs = state.stacks.values()
        result = result_array("out", out, (len(q), tree.nv), [q, *inputs])
        with filled_with_nan(result):
            if not tree.follows:
                self._compute(state, wide, [q, *inputs], [result], one, whole=True)
                return result
            free, apart = np.empty((len(q), tree.nv_free)), {}

            def set_apart(robot: Robot, k: int) -> Sequence[Any]:
                """What one state's call gives is in the robot's coordinates already."""
                (apart[k],) = one(robot, k)
                return [0.0]

            taken = [self._stacks.q(q), *map(self._stacks.v, inputs)]
            self._compute(state, wide, taken, [free], set_apart)
            self._stacks.projected("vector", free, result)
            for k, found in apart.items():
                result[k] = found
        return result
