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
from torqued.kernels.batch.slices import Desk, Slices
from torqued.kernels.batch.stacks import of_state, result_array
from torqued.kernels.input_checks import shown
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
    def call(self: StateByState, q: Any, *args: Any, **options: Any) -> Any:
        if not options and type(q) is ndarray and len(q) == 1:
            # One state: little more than its call, in as few steps as there can be.
            row = alone(q, args, own) if args else ()
            if row is not None:
                single = getattr(self.robot, name)
                try:
                    found = single(*row) if row else single(q[0])
                except TorquedError as error:
                    raise of_state(error, 0) from error
                return found[None] if type(found) is ndarray else with_first(found)
        coordinates = options.pop("coordinates", NATIVE)
        native = isinstance(coordinates, str) and coordinates == NATIVE
        if self.narrow or len_of(q) == 1 or not native:
            return self.each(name, q, *args, coordinates=coordinates, **options)
        self.expect(len_of(q))
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

    def expect(self, count: int) -> None:
        """So many states will come, for a method that computes several at a time."""

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
                raise (of_state(error, k) if is_of_a_state(error) else error) from error

        arrays = writeable_arrays(out)
        with filled_with_nan(*arrays):
            first = one(self.robot, 0)
        others = [x for x in stacked.values() if isinstance(x, ndarray)]
        result = (
            empty_stack(first, count) if out is None else given_stack(first, count, out, others)
        )

        def slice_of(desk: Desk, start: int, last: int) -> None:
            for k in range(start, last):
                put(result, k, one(desk.robot, k))

        with filled_with_nan(*arrays):
            self.slices.run(count, SLICE, slice_of)
        return result

    def _alone(self, name: str, given: Mapping[str, Any], out: Any) -> Any:
        """The method of one state: no threads, and hardly anything beside the call."""
        _, stacked = self._stacked(name, given)
        own = {key: at(x, 0) if key in stacked else x for key, x in given.items()}
        with filled_with_nan(*writeable_arrays(out)):
            try:
                found = getattr(self.robot, name)(**own)
            except TorquedError as error:
                raise (of_state(error, 0) if is_of_a_state(error) else error) from error
        if out is None:
            return found[None] if type(found) is np.ndarray else with_first(found)
        others = [x for x in stacked.values() if isinstance(x, ndarray)]
        result = given_stack(found, 1, out, others)
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
    try:
        dimensions = np.ndim(x)
    except ValueError:  # rows of different lengths
        wanted = "rows of one length"
        raise InputError(f"{name}: {shown(x)}, expected {wanted}", name, None, wanted) from None
    if dimensions == 0:
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


def is_of_a_state(error: TorquedError) -> bool:
    """Whether it is one state that is wrong, and not what is common to all."""
    field = getattr(error, "field", None)
    return field is None or field in STACKED or field.startswith("f_ext[")


def writeable_arrays(out: Any) -> list[Array]:
    """Those of the caller's that can hold NaN."""
    given = out if isinstance(out, tuple) else (out,)
    return [
        x for x in given if isinstance(x, ndarray) and x.dtype.kind == "f" and x.flags.writeable
    ]


def given_stack(value: Any, count: int, out: Any, others: Sequence[Array]) -> Any:
    """The caller's arrays, as many as there are results; `others` are those of the arguments."""
    if isinstance(value, np.ndarray):
        return result_array("out", out, (count, *value.shape), others)
    if isinstance(value, tuple) and not is_dataclass(value):
        found: list[Any] = []
        for x, y in zip(value, require_tuple(out, len(value)), strict=True):
            found.append(given_stack(x, count, y, (*others, *found)))
        return tuple(found)
    raise InputError("out: expected nothing for these results", "out", None, "nothing")


def require_tuple(out: Any, count: int) -> tuple[Any, ...]:
    """So many arrays of the caller's."""
    if not isinstance(out, tuple) or len(out) != count:
        wanted = f"{count} arrays in a tuple"
        raise InputError(f"out: expected {wanted} for these results", "out", None, wanted)
    return out


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
