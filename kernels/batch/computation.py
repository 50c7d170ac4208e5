"""Several states at a time, in threads; and one by one what that gives up on."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import TorquedError
from torqued.kernels.batch.jobs import Job
from torqued.kernels.batch.stacks import Given, Stacks, of_state, padded
from torqued.kernels.batch.state_by_state import StateByState, filled_with_nan
from torqued.kernels.batch.worker_pool import Grain, Scratch
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.numba_internals import config
from torqued.kernels.model.description import Array
from torqued.kernels.primitives.wide import WIDTH
from torqued.kernels.result_checks import result_array

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: A thread's share takes several tens of microseconds, a piece some milliseconds.
GRAIN = Grain(step=WIDTH, piece=512 * WIDTH, share=32 * WIDTH)

#: (inputs, results) → the job of an entry of algorithms.py or evaluation.py.
Wide = Callable[[Sequence[Array], Sequence[Array]], Job]
#: (robot, k) → results of one state.
One = Callable[["Robot", int], Sequence[Any]]


class WideComputation(StateByState["Robot"]):
    """What all methods for several states at a time do."""

    @property
    def narrow(self) -> bool:
        # Without the compiler, or without joints, nothing can be done several at a time; and robots
        # that may reach too far are looked at state by state.
        robot = self.robot
        return bool(config.DISABLE_JIT) or robot.nv_free == 0 or robot.needs_precision_check

    @property
    def _stacks(self) -> Stacks:
        return Stacks(self.robot.tree, self.robot.frame_table)

    def _state(self, q: Any, **given: Any) -> tuple[Array, list[Array], Given]:
        """Configurations, other arguments (N, nv) by name, and both together for `_compute`."""
        found = self._stacks.state(q, **given)
        q, *rest = found.stacks.values()
        return q, rest, found

    def _compute(
        self, state: Given, wide: Wide, inputs: Sequence[Array], outs: Sequence[Array], one: One
    ) -> None:
        """Fill `outs`: several states at once by `wide`, and by `one(robot, k)` those of a chunk
        that it gives up on. Refuses wrong states."""
        count = state.count
        few = count < WIDTH
        given = [padded(x, WIDTH) for x in inputs] if few else inputs
        found = [np.empty((WIDTH, *x.shape[1:])) for x in outs] if few else outs
        job = wide(given, found)
        compute = getattr(COMPILED, job.entry)

        def states(scratch: Scratch, first: int, last: int) -> None:
            while first < last:
                given_up = compute(scratch.wide.handle, job.address, first, max(last, WIDTH))
                if given_up < 0:
                    return
                first = given_up + WIDTH
                one_by_one(scratch.robot, given_up, min(first, count))

        def one_by_one(robot: Robot, first: int, last: int) -> None:
            for k in range(first, last):
                self._stacks.require_right(state, k, k + 1)
                try:
                    values = one(robot, k)
                except TorquedError as error:
                    raise of_state(error, k) from error
                for array, value in zip(found, values, strict=True):
                    array[k] = value

        self.pool.run(count, GRAIN, states, self.progress)
        if few:
            for array, value in zip(outs, found, strict=True):
                array[...] = value[:count]

    def _vectors(self, state: Given, wide: Wide, out: Any, one: One) -> Array:
        """A result (N, nv), from arrays in the robot's coordinates."""
        tree = self.robot.tree
        q, *inputs = state.stacks.values()
        result = result_array("out", out, (len(q), tree.nv), [q, *inputs])
        with filled_with_nan(result):
            if not tree.follows:
                self._compute(state, wide, [q, *inputs], [result], one)
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
