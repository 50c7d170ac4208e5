"""Arrays of many states: checked on their way in, and where results go.

An error about one state is the error that a call for it alone would raise, with `state K:` before
it and `state` set.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.common.errors import InputError, NumericalError, TorquedError
from torqued.common.masked import check_unmasked
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.input_checks import QUATERNION_TOLERANCE, numbers, shown
from torqued.kernels.model.description import Array
from torqued.kernels.primitives.array_checks import all_finite
from torqued.kernels.robot.frame_table import FrameTable
from torqued.kernels.robot.tree import FreeTree


def of_state(error: TorquedError, k: int) -> TorquedError:
    """The error of one state among many."""
    if error.state is not None:
        return error
    named: TorquedError
    if isinstance(error, InputError):
        named = InputError(f"state {k}: {error}", error.field, error.value, error.expected)
    else:
        named = NumericalError(f"state {k}: {error}")
    named.state = k
    return named


@dataclass(frozen=True)
class Given:
    """What a batch was given of each state, by the names of arguments; q is the first of them."""

    stacks: Mapping[str, Array]

    @property
    def count(self) -> int:
        """How many states there are."""
        return len(self.stacks["q"])


#: Where none are.
NO_QUATERNIONS = np.empty(0, np.int64)


class Stacks:
    """What goes into a batch, for one robot."""

    def __init__(self, tree: FreeTree, frames: FrameTable) -> None:
        self._tree, self._frames = tree, frames
        self._quaternions = np.array([start for _, start in tree.quaternions], np.int64)

    def state(self, q: Any, **given: Any) -> Given:
        """Configurations (N, nq), N at least 1, and other arguments (N, nv) by name. The
        method that computes with their numbers checks these."""
        tree = self._tree
        stacks = {"q": _counted("q", _floats("q", q, (tree.nq,)), None)}
        for name, x in given.items():
            if x is None and name == "v":  # rest
                stacks[name] = np.zeros((len(stacks["q"]), tree.nv))
                continue
            stacks[name] = _counted(name, _floats(name, x, (tree.nv,)), len(stacks["q"]))
        return Given(stacks)

    def require_right(self, given: Given, first: int, last: int) -> None:
        """Refuse the first of some states that has a number that is not finite, or a quaternion
        in q that is none."""
        found = []
        for name, stack in given.stacks.items():
            starts = self._quaternions if name == "q" else NO_QUATERNIONS
            k = COMPILED.first_wrong_row(stack, starts, QUATERNION_TOLERANCE, first, last)
            if k >= 0:
                found.append((k, name))
        if not found:
            return
        k, name = min(found, key=lambda wrong: wrong[0])
        try:
            if name == "q":
                self._tree.own_q(given.stacks[name][k])
            else:
                numbers(name, given.stacks[name][k], (self._tree.nv,))
        except InputError as error:
            raise of_state(error, k) from None

    def rows(self, name: str, value: Any, count: int, *shape: int) -> Array:
        """Finite numbers (count, *shape)."""
        stack = _counted(name, _floats(name, value, shape), count)
        if not all_finite(stack.reshape(len(stack), -1)):
            good = np.isfinite(stack.reshape(len(stack), -1)).all(axis=1)
            k = int(np.argmin(good))
            try:
                numbers(name, stack[k], stack.shape[1:])
            except InputError as error:
                raise of_state(error, k) from None
        return stack

    def q(self, own: Array) -> Array:
        """The free tree's coordinates for the robot's."""
        if not self._tree.follows:
            return own
        mimics, free = self._tree.model.mimics, np.empty((len(own), self._tree.nq_free))
        COMPILED.expand_positions(mimics.q_index, mimics.q_multiplier, mimics.offset, own, free)
        return free

    def v(self, own: Array) -> Array:
        """The free tree's velocities for the robot's."""
        if not self._tree.follows:
            return own
        mimics, free = self._tree.model.mimics, np.empty((len(own), self._tree.nv_free))
        COMPILED.expand_rows(mimics.v_index, mimics.multiplier, own, free)
        return free

    def wrenches(self, f_ext: Any, count: int) -> tuple[NDArray[np.void], Array]:
        """Frames, and [moment; force] of each at its origin, (N, frames, 6)."""
        if f_ext is not None and not isinstance(f_ext, Mapping):
            wanted = "a map from frames to wrenches"
            message = f"f_ext: {shown(f_ext)}, expected {wanted}"
            raise InputError(message, "f_ext", None, wanted)
        given = f_ext or {}
        frames = self._frames.records(tuple(given), field="f_ext")
        stacks = [self.rows(f"f_ext[{name!r}]", x, count, 6) for name, x in given.items()]
        wrenches = np.stack(stacks, axis=1) if stacks else np.empty((count, 0, 6))
        return frames, np.ascontiguousarray(wrenches)

    def projected(self, projection: str, free: Array, out: Array) -> None:
        """Results of the free tree as the robot's; the names are of quantities.py."""
        if projection == "none":
            out[...] = free
        elif projection == "matrix":
            half = self._last_axis(free)
            out[...] = self._last_axis(half.swapaxes(1, 2)).swapaxes(1, 2)
        elif projection == "tensor":
            for axis in (1, 2, 3):
                free = self._last_axis(free.swapaxes(axis, 3)).swapaxes(axis, 3)
            out[...] = free
        else:  # vector, rows
            out[...] = self._last_axis(free)

    def _last_axis(self, free: Array) -> Array:
        mimics, n = self._tree.model.mimics, self._tree.nv
        rows = np.ascontiguousarray(free).reshape(-1, free.shape[-1])
        out = np.empty((len(rows), n))
        COMPILED.project_rows(mimics.v_index, mimics.multiplier, rows, out)
        return out.reshape(*free.shape[:-1], n)


def _counted(name: str, stack: Array, count: int | None) -> Array:
    """As many as there are states; any count above 0 where it is None."""
    if count is None and len(stack) == 0:
        raise InputError(f"{name}: no states, expected at least one", name, 0, "one or more")
    if count is not None and len(stack) != count:
        wanted = f"{count} states"
        message = f"{name}: {len(stack)} states, but q has {count}"
        raise InputError(message, name, len(stack), wanted)
    return stack


def _floats(name: str, value: Any, shape: tuple[int, ...]) -> Array:
    """As float64 (N, *shape) in row order; whether its numbers are finite is asked later."""
    if not isinstance(value, np.ndarray) or value.dtype.kind not in "iuf":
        return numbers(name, value, (-1, *shape))
    if value.shape[1:] != shape or value.ndim == 0:
        wanted = str((-1, *shape)).replace("-1", "any")
        message = f"{name}: shape {value.shape}, expected {wanted}"
        raise InputError(message, name, list(value.shape), f"shape {wanted}")
    check_unmasked(name, value)
    stack = np.ascontiguousarray(value, dtype=np.float64)
    return stack if stack.flags.aligned else stack.copy()


def padded(stack: Array, count: int) -> Array:
    """With the last state repeated up to so many."""
    return np.concatenate([stack, np.repeat(stack[-1:], count - len(stack), axis=0)])
