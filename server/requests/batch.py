"""`batch`: one operation for many states, in a worker process.

    stacked fields → fields of each state → the operation → stacked results
                   → several states at a time (vectorized.py) ↗

Numbers that belong to a state (`STACKED`) come with one more dimension in front, as long as there
are states; everything else is common to all. Results are stacked in the same way.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from typing import Any

import msgpack
import numpy as np

from torqued.common.errors import InputError, RequestError, TorquedError, error
from torqued.common.stacked import STACKED
from torqued.kernels import Robot
from torqued.kernels.input_checks import Fields, mapping
from torqued.kernels.model.description import Array
from torqued.server.requests.batch_arrays import Shapes, size_for
from torqued.server.requests.fields import wrenches
from torqued.server.requests.inverse_kinematics import TargetStacks
from torqued.server.requests.limits import fits_into_a_reply
from torqued.server.requests.operation import Operation
from torqued.server.requests.replies import as_request_error
from torqued.server.requests.vectorized import Allocate, is_vectorizable, run_vectorized

#: Called with how many states are done, and of how many.
Report = Callable[[int, int], None]

ADVICE = "ask for fewer states at a time"


def run_batch(
    robot: Robot,
    operation: Operation,
    fields: Fields,
    report: Report,
    limited: bool = True,
    allocate: Allocate | None = None,
) -> dict[str, Any]:
    """The stacked results of an operation for many states; an error names the wrong state.

    `limited` results fit into a reply. Those that are computed several states at a time go to the
    arrays that `allocate` gives, by default new ones.
    """
    states = States(fields)
    result_of = _each(robot, operation.run, states)
    if is_vectorizable(robot, operation.name, fields) and states.count > 1:
        places = allocate or (_limited if limited else _unlimited)
        try:
            return run_vectorized(robot, operation, fields, states, report, places)
        except Exception as problem:
            if getattr(problem, "state", None) is None:  # the fault is not in one state
                result_of(0)  # raises it as a single request would
            raise
    first = result_of(0)  # finds faults in common fields, and the size of results
    if limited:
        fits_into_a_reply(states.count * size_of(first), ADVICE)
    stacked = {key: empty_stack(value, states.count) for key, value in first.items()}
    put(stacked, 0, first)
    for k in range(1, states.count):
        report(k, states.count)
        put(stacked, k, result_of(k))
    report(states.count, states.count)
    return stacked


def _unlimited(shapes: Shapes) -> dict[str, Array]:
    """New arrays for results."""
    return {name: np.empty(shape) for name, shape in shapes.items()}


def _limited(shapes: Shapes) -> dict[str, Array]:
    """The same, of results that fit into a reply."""
    fits_into_a_reply(size_for(shapes), ADVICE)
    return _unlimited(shapes)


class States:
    """The fields of a batch, state by state."""

    def __init__(self, fields: Fields) -> None:
        self.stacks = {
            key: rows(key, fields[key]) for key in STACKED if fields.get(key) is not None
        }
        self.wrenches = {
            frame: rows(f"f_ext[{frame!r}]", value)
            for frame, value in (wrenches(fields) or {}).items()
        }
        self.references = {
            name: rows(f"references[{name!r}]", value)
            for name, value in mapping(fields, "references").items()
        }
        self.targets = TargetStacks(fields)
        self.common = {key: value for key, value in fields.items() if key not in self.stacks}
        if "q" not in self.stacks:
            raise InputError("q: nil, expected a row for each state", "q", None, "(N, nq)")
        self.count = len(self.stacks["q"])
        if self.count == 0:
            raise InputError("q: no states, expected at least one", "q", 0, "at least one state")
        aims = {f"targets[{k}].value": stack for k, stack in self.targets.stacks.items()}
        for key, stack in {**self.stacks, **self.wrenches, **self.references, **aims}.items():
            if len(stack) != self.count:
                message = f"{key}: {len(stack)} states, but q has {self.count}"
                raise InputError(message, key, len(stack), f"{self.count} states")

    def fields(self, k: int) -> dict[str, Any]:
        """The fields of one state, as a request for it alone would have them."""
        own = {key: stack[k] for key, stack in self.stacks.items()}
        if self.wrenches:
            own["f_ext"] = {frame: stack[k] for frame, stack in self.wrenches.items()}
        if self.references:
            own["references"] = {name: stack[k] for name, stack in self.references.items()}
        return self.common | own | self.targets.fields(k)


def rows(name: str, value: Any) -> Array:
    """A stacked field as an array with at least one dimension; its numbers are checked later."""
    try:
        array = np.ascontiguousarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        wanted = "numbers, stacked state by state"
        raise InputError(f"{name}: expected {wanted}: {error}", name, None, wanted) from None
    if np.ndim(value) == 0:
        message = f"{name}: one number, expected one for each state"
        raise InputError(message, name, None, "one more dimension in front")
    return array


def _each(
    robot: Robot, run: Callable[[Robot, Fields], dict[str, Any]], states: States
) -> Callable[[int], dict[str, Any]]:
    """The operation for state k; errors name the state."""

    def result_of(k: int) -> dict[str, Any]:
        try:
            return run(robot, states.fields(k))
        except TorquedError as problem:
            refused = as_request_error(problem)
            if refused.field in STACKED and refused.field not in states.stacks:
                raise  # all states lack it
            if is_of_shape(refused):
                raise of_all(refused, states.count) from problem
            raise of_state(refused, k) from problem

    return result_of


def is_of_shape(problem: RequestError) -> bool:
    """Whether it is about the shape of a state's numbers, which is the same for all states."""
    field, expected = problem.field or "", problem.expected or ""
    return (field in STACKED or field.startswith("f_ext[")) and expected.startswith("shape ")


def of_all(problem: RequestError, count: int) -> RequestError:
    """An error about the shape of one state's numbers, in terms of the batch."""
    expected = str(problem.expected)
    one = problem.field == "q" and not problem.value  # then its numbers were taken for states
    states: int | str = "N" if one else count
    expected = re.sub(r"\(([^)]*)\)", lambda found: stacked_shape(found[1], states), expected)
    shape = (count, *problem.value)
    message = f"{problem.field}: shape {shape}, expected {expected.removeprefix('shape ')}"
    return error(problem.code, message, field=problem.field, value=list(shape), expected=expected)


def stacked_shape(shape: str, count: int | str) -> str:
    """A shape as an error spells it, for so many states."""
    return f"({count}, {shape.removesuffix(',')})" if shape else f"({count},)"


def of_state(problem: RequestError, k: int) -> RequestError:
    """The same error, which names the state where it is not a field common to all."""
    field = problem.field
    if field is not None and field not in STACKED and not field.startswith(("f_ext", "targets")):
        return problem
    return error(
        problem.code,
        f"state {k}: {problem}",
        field=field,
        value=problem.value,
        expected=problem.expected,
        state=k,
    )


def size_of(value: Any) -> int:
    """Bytes that a result takes in a reply, without the heads of arrays."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, float):
        return 8
    if isinstance(value, Mapping):
        return sum(size_of(item) for item in value.values())
    if isinstance(value, list):
        return sum(size_of(item) for item in value)
    return len(msgpack.packb(value))


def empty_stack(value: Any, count: int) -> Any:
    """Where results go: arrays and numbers in arrays, maps by key, all else in lists."""
    if isinstance(value, np.ndarray):
        return np.empty((count, *value.shape))
    if isinstance(value, float):
        return np.empty(count)
    if isinstance(value, Mapping):
        return {key: empty_stack(item, count) for key, item in value.items()}
    return [None] * count


def put(stacked: Mapping[str, Any], k: int, result: Mapping[str, Any]) -> None:
    """Put the results of state k into their places."""
    for key, value in result.items():
        if isinstance(value, Mapping):
            put(stacked[key], k, value)
        else:
            stacked[key][k] = value
