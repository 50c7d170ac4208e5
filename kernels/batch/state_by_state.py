"""Names of `Robot` for many states, one call after the other: in threads, each with a copy of the
robot. Everything can be had so; `Batch` has what can be computed several states at a time.

Calls in Python share the interpreter, so that more threads pay only where kernels take long.
"""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import is_dataclass
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from torqued.common.errors import InputError, TorquedError
from torqued.kernels.batch.slices import Desk, InSlices, Slices
from torqued.kernels.batch.stacks import of_state, result_array
from torqued.kernels.model.description import Array

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Arguments of a state: a row for each in a batch. So is what `f_ext` has for each frame.
STACKED = frozenset(
    ("q", "v", "a", "jerk", "snap", "tau", "w", "b", "dt", "q0", "q1", "v_ref", "a_ref")
)
#: States of a slice. Each is some microseconds of Python.
SLICE = 16

NATIVE = "native"
ndarray = np.ndarray

Method = TypeVar("Method", bound=Callable[..., Any])


def several_at_once(method: Method) -> Method:
    """A method for many states in native coordinates; others go state by state."""
    name = method.__name__
    # Arguments after self and q: whether there is one for each state.
    own = tuple(key in STACKED for key in list(inspect.signature(method).parameters)[2:])

    @functools.wraps(method)
    def call(
        self: StateByState, q: Any, *args: Any, coordinates: Any = "native", **options: Any
    ) -> Any:
        if coordinates is NATIVE and not options and type(q) is ndarray and len(q) == 1:
            # One state: little more than its call, in as few steps as there can be.
            row = alone(q, args, own) if args else (q[0],)
            if row is not None:
                try:
                    found = getattr(self.robot, name)(*row)
                except TorquedError as error:
                    raise of_state(error, 0) from error
                return found[None] if type(found) is ndarray else with_first(found)
        if self.narrow or len_of(q) == 1 or (coordinates is not NATIVE and coordinates != NATIVE):
            return self.each(name, q, *args, coordinates=coordinates, **options)
        return method(self, q, *args, **options)

    return call  # type: ignore[return-value]


def alone(q: Array, args: Sequence[Any], own: Sequence[bool]) -> Sequence[Any] | None:
    """The arguments of a single call, of a batch of one; None where they are not plain arrays of
    one row. `own` says of which there is one for each state."""
    x = args[0]
    if len(args) == 1:
        if own[0]:
            return (q[0], x[0]) if type(x) is ndarray and len(x) == 1 else None
        return (q[0], x) if type(x) is str else None
    if len(args) == 2 and own[0] and own[1]:
        y = args[1]
        if type(x) is ndarray and type(y) is ndarray and len(x) == len(y) == 1:
            return q[0], x[0], y[0]
        return None
    row = [q[0]]
    for value, mine in zip(args, own, strict=False):
        if mine and (type(value) is not ndarray or len(value) != 1):
            return None
        if not mine and type(value) is dict:  # wrenches, a row for each state
            return None
        row.append(value[0] if mine else value)
    return row


def len_of(x: Any) -> int:
    try:
        return len(x)
    except TypeError:
        return 0


class StateByState:
    """Of one robot."""

    def __init__(self, robot: Robot, slices: Slices, narrow: bool) -> None:
        self.robot = robot
        self.slices = slices
        #: Nothing can be computed several at a time.
        self.narrow = narrow
        self._names: dict[str, tuple[str, ...]] = {}

    def __getattr__(self, name: str) -> Any:
        """The method of that name of `Robot`."""
        if name.startswith("_") or not self._parameters(name):
            raise AttributeError(f"a batch has no {name!r}", name=name, obj=self)
        return functools.partial(self.each, name)

    def _parameters(self, name: str) -> tuple[str, ...]:
        """Those of a method of `Robot` that takes states; none of what does not."""
        if name not in self._names:
            method = getattr(type(self.robot), name, None)
            names = list(inspect.signature(method).parameters)[1:] if callable(method) else []
            self._names[name] = tuple(names) if names and names[0] in STACKED else ()
        return self._names[name]

    def each(self, name: str, *args: Any, out: Any = None, **options: Any) -> Any:
        """`Robot.<name>` of every state; results are stacked."""
        names = self._parameters(name)
        if len(args) > len(names):
            raise TypeError(f"{name} takes {', '.join(names)}: {len(args)} arguments were given")
        given = dict(zip(names, args, strict=False)) | options
        if len_of(args[0] if args else given.get(names[0])) == 1:
            return self._alone(name, given, out)
        count, stacked = self._stacked(name, given)
        common = {key: x for key, x in given.items() if key not in stacked}

        def one(robot: Robot, k: int) -> Any:
            try:
                return getattr(robot, name)(
                    **common, **{key: at(x, k) for key, x in stacked.items()}
                )
            except TorquedError as error:
                raise of_state(error, k) from error

        first = one(self.robot, 0)
        result = empty_stack(first, count) if out is None else given_stack(first, count, out)
        arrays = [x for x in (out if isinstance(out, tuple) else (out,)) if x is not None]

        def slice_of(desk: Desk, start: int, last: int) -> None:
            for k in range(start, last):
                put(result, k, one(desk.robot, k))

        with filled_with_nan(*arrays):
            self.slices.run(InSlices(count, SLICE, self.slices.threads, slice_of))
        return result

    def _alone(self, name: str, given: Mapping[str, Any], out: Any) -> Any:
        """The method of one state: no threads, and hardly anything beside the call."""
        own = {}
        for key, x in given.items():
            if key in STACKED and x is not None:
                if len(x) != 1:
                    raise InputError(f"{key}: {len(x)} states, but q has 1", key, len(x), "1 state")
                x = x[0]
            elif key == "f_ext" and x is not None:
                x = at(x, 0)
            own[key] = x
        try:
            found = getattr(self.robot, name)(**own)
        except TorquedError as error:
            raise of_state(error, 0) from error
        if out is None:
            return found[None] if type(found) is np.ndarray else with_first(found)
        result = given_stack(found, 1, out)
        put(result, 0, found)
        return result

    def _stacked(self, name: str, given: Mapping[str, Any]) -> tuple[int, dict[str, Any]]:
        """How many states there are, and the arguments that each has its own of."""
        stacked = {
            key: x for key, x in given.items() if key in (*STACKED, "f_ext") and x is not None
        }
        counts = {}
        for key, x in stacked.items():
            if key != "f_ext":
                counts[key] = _count(key, x)
            elif isinstance(x, Mapping):
                counts |= {
                    f"f_ext[{frame!r}]": _count(f"f_ext[{frame!r}]", y) for frame, y in x.items()
                }
            else:
                del stacked["f_ext"]  # the robot tells what it is
                break
        first, *others = counts
        for key in others:
            if counts[key] != counts[first]:
                message = f"{key}: {counts[key]} states, but {first} has {counts[first]}"
                raise InputError(message, key, counts[key], f"{counts[first]} states")
        if counts[first] == 0:
            raise InputError(f"{first}: no states, expected at least one", first, 0, "one or more")
        return counts[first], stacked


def _count(name: str, x: Any) -> int:
    if np.ndim(x) == 0:
        wanted = "one more dimension in front"
        raise InputError(f"{name}: one number, expected one for each state", name, None, wanted)
    return len(x)


def at(x: Any, k: int) -> Any:
    """What belongs to state k."""
    return {frame: y[k] for frame, y in x.items()} if isinstance(x, Mapping) else x[k]


def empty_stack(value: Any, count: int) -> Any:
    """Where results go: arrays and numbers in arrays, tuples and maps likewise, all else in
    lists."""
    if isinstance(value, np.ndarray):
        return np.empty((count, *value.shape))
    if isinstance(value, float):
        return np.empty(count)
    if isinstance(value, Mapping):
        return {key: empty_stack(item, count) for key, item in value.items()}
    if isinstance(value, tuple) and not is_dataclass(value):
        return tuple(empty_stack(item, count) for item in value)
    return [None] * count


def given_stack(value: Any, count: int, out: Any) -> Any:
    """The caller's arrays, as many as there are results."""
    if isinstance(value, np.ndarray):
        return result_array("out", out, (count, *value.shape))
    if isinstance(value, tuple) and isinstance(out, tuple) and len(out) == len(value):
        return tuple(given_stack(x, count, y) for x, y in zip(value, out, strict=True))
    wanted = f"{len(value)} arrays in a tuple" if isinstance(value, tuple) else "nothing"
    raise InputError(f"out: expected {wanted} for these results", "out", None, wanted)


def with_first(value: Any) -> Any:
    """Results of one state as those of a batch."""
    stack = empty_stack(value, 1)
    put(stack, 0, value)
    return stack


def put(stack: Any, k: int, value: Any) -> None:
    """One state's results into their places."""
    if isinstance(stack, Mapping):
        for key, item in value.items():
            put(stack[key], k, item)
    elif isinstance(stack, tuple):
        for part, item in zip(stack, value, strict=True):
            put(part, k, item)
    else:
        stack[k] = value


@contextmanager
def filled_with_nan(*arrays: Array) -> Iterator[None]:
    """Arrays that are half written when something goes wrong say so."""
    try:
        yield
    except BaseException:
        for array in arrays:
            array.fill(np.nan)
        raise
