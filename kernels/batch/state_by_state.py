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
from typing import TYPE_CHECKING, Any, Concatenate, Generic, TypeVar

import numpy as np

from torqued.common.errors import InputError, TorquedError
from torqued.common.results import Result
from torqued.kernels import signatures
from torqued.kernels.batch.stacks import of_state
from torqued.kernels.batch.worker_pool import Grain, Progress, Scratch, WorkerPool, available_cores
from torqued.kernels.input_checks import shown, whole_number
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import result_array
from torqued.kernels.signatures import P, T

if TYPE_CHECKING:
    from torqued.kernels.charts.charted_robot import ChartedRobot
    from torqued.kernels.robot.robot import Robot

#: Arguments of a state: a row for each in a batch. So is what `f_ext` has for each frame.
STACKED = frozenset(
    ("q", "v", "a", "jerk", "snap", "tau", "w", "b", "dt", "q0", "q1", "v_ref", "a_ref")
)
MAX_THREADS = 1024
#: A state is some microseconds of Python.
GRAIN = Grain(step=1, piece=16, share=64)

ndarray = np.ndarray

Method = TypeVar("Method", bound=Callable[..., Any])
AnyRobot = TypeVar("AnyRobot", bound="Robot | ChartedRobot")


def vectorized(method: Method) -> Method:
    """A method that computes several states at a time; state by state where that cannot be."""
    name = method.__name__

    @functools.wraps(method)
    def call(self: StateByState[Any], q: Any, *args: Any, **options: Any) -> Any:
        if self.narrow:
            return self.each(name, q, *args, **options)
        return method(self, q, *args, **options)

    return call  # type: ignore[return-value]


def many(
    method: Callable[Concatenate[Any, P], T],
) -> Callable[[Callable[..., Any]], Callable[Concatenate[Any, P], T]]:
    """The same with the signature of a method of `Robot`; takes all arguments in order, `out` at
    the end."""
    name = method.__name__

    def decorate(function: Callable[..., Any]) -> Callable[Concatenate[Any, P], T]:
        def compute(self: StateByState[Any], *values: Any) -> Any:
            if self.narrow:
                return self.each(name, *values[:-1], out=values[-1])
            return function(self, *values)

        call = signatures.like(method)(compute)
        call.__doc__ = function.__doc__ or f"Of N states, (N, …): {method.__doc__}"
        return call

    return decorate


def len_of(x: Any) -> int:
    try:
        return len(x)
    except TypeError:
        return 0


class StateByState(Generic[AnyRobot]):
    """Many states of one robot. For one thread at a time, as the robot itself."""

    def __init__(
        self, robot: AnyRobot, threads: int | None = None, progress: Progress | None = None
    ) -> None:
        """`threads` is how many work, by default one for each core that this process may use;
        `progress(done, total)` is called from the caller's thread now and then."""
        if threads is None:
            threads = available_cores()
        self.robot = robot
        self.pool = WorkerPool(robot, whole_number("threads", threads, 1, MAX_THREADS))
        self.progress = progress
        self._names: dict[str, tuple[str, ...]] = {}

    @property
    def narrow(self) -> bool:
        """Whether nothing can be computed several at a time."""
        return True

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self), (self.robot.copy(), self.pool.threads, self.progress)

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
        count, stacked = self._stacked(name, given)
        common = {key: x for key, x in given.items() if key not in stacked}

        def one(robot: Robot | ChartedRobot, k: int) -> Any:
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

        def states(scratch: Scratch, start: int, last: int) -> None:
            for k in range(start, last):
                put(result, k, first if k == 0 else one(scratch.robot, k))

        with filled_with_nan(*arrays):
            self.pool.run(count, GRAIN, states, self.progress)
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
                del stacked["f_ext"]  # the robot names the fault
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
    if isinstance(value, Result):
        return type(value)(empty_stack(value.as_dict(), count))
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


def put(stack: Any, k: int, value: Any) -> None:
    """One state's results into their places."""
    if isinstance(stack, Result):
        put(stack.as_dict(), k, value.as_dict())
    elif isinstance(stack, Mapping):
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
