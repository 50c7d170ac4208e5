"""`batch`: one operation for many states, in a worker process.

    stacked fields → fields of each state → the operation → stacked results

Numbers that belong to a state (`STACKED`) come with one more dimension in front, as long as there
are states; everything else is common to all. Results are stacked in the same way.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import msgpack
import numpy as np

from torqued.common.errors import InputError, NumericalError, RequestError, TorquedError, error
from torqued.kernels import Robot
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.input_checks import QUATERNION_TOLERANCE, Fields, mapping, text, texts
from torqued.kernels.model.description import Array
from torqued.server.requests.fields import wrenches
from torqued.server.requests.limits import fits_into_a_reply
from torqued.server.requests.operation import Operation
from torqued.server.requests.replies import as_request_error, require_finite

#: Fields with one more dimension in front; so have what is in `f_ext` and `references`.
STACKED = ("q", "v", "a", "jerk", "tau", "w", "b", "dt")

#: Told how many states are done, and of how many.
Report = Callable[[int, int], None]


def run_batch(robot: Robot, operation: Operation, fields: Fields, report: Report) -> dict[str, Any]:
    """The stacked results of an operation for many states; an error names the wrong state."""
    states = States(fields)
    result_of = _each(robot, operation.run, states)
    first = result_of(0)
    fits_into_a_reply(states.count * size_of(first), "ask for fewer states at a time")
    stacked = {key: empty_stack(value, states.count) for key, value in first.items()}
    put(stacked, 0, first)
    if operation.name == "dynamics":
        result_of = native_dynamics(robot, fields, states) or result_of
    for k in range(1, states.count):
        report(k, states.count)
        put(stacked, k, result_of(k))
    _require_all_finite(stacked, states.count)
    report(states.count, states.count)
    return stacked


def _require_all_finite(stacked: Mapping[str, Any], count: int) -> None:
    """Refuse results with NaN or infinity in them, and name the first state that has."""
    try:
        require_finite(stacked)
    except NumericalError:
        for k in range(count):
            try:
                require_finite(row(stacked, k))
            except NumericalError as problem:
                raise of_state(as_request_error(problem), k) from problem
        raise


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
        self.common = {key: value for key, value in fields.items() if key not in self.stacks}
        if "q" not in self.stacks:
            raise InputError("q: nil, expected a row for each state", "q", None, "(N, nq)")
        self.count = len(self.stacks["q"])
        if self.count == 0:
            raise InputError("q: no states, expected at least one", "q", 0, "at least one state")
        for key, stack in {**self.stacks, **self.wrenches, **self.references}.items():
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
        return self.common | own


def rows(name: str, value: Any) -> Array:
    """A stacked field as an array with at least one dimension; what is in it is checked later."""
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
    """The operation for one state after the other, with errors that name it."""

    def result_of(k: int) -> dict[str, Any]:
        try:
            return run(robot, states.fields(k))
        except TorquedError as problem:
            raise of_state(as_request_error(problem), k) from problem

    return result_of


def of_state(problem: RequestError, k: int) -> RequestError:
    """The same error, which names the state where it is not a field common to all."""
    field = problem.field
    if field is not None and field not in STACKED and not field.startswith("f_ext"):
        return problem
    return error(
        problem.code,
        f"state {k}: {problem}",
        field=field,
        value=problem.value,
        expected=problem.expected,
        state=k,
    )


def native_dynamics(
    robot: Robot, fields: Fields, states: States
) -> Callable[[int], dict[str, Any]] | None:
    """`dynamics` by its kernel alone, in native coordinates and where all states are good.

    Checks are made for all states at once, and each state's results go where the last one's were.
    None where a state is wrong: checking them one by one finds which. Common fields have been
    found good with the first state.
    """
    q, v = states.stacks["q"], states.stacks.get("v")
    v = np.zeros((states.count, robot.nv)) if v is None else v
    if text(fields, "coordinates", "native") != "native" or not all_good(robot, q, v):
        return None
    want = texts(fields, "want", ("M", "C", "g"))
    frames = texts(fields, "frames", ())
    plan = robot.plan(want, frames, text(fields, "representation", "hybrid"))
    out = plan.allocate()
    evaluate, handle = COMPILED.evaluate, robot.work.handle
    mimics = robot.model.mimics
    if mimics.present:
        q_own, q = np.ascontiguousarray(q), np.empty((len(q), robot.nq_free))
        v_own, v = np.ascontiguousarray(v), np.empty((len(v), robot.nv_free))
        COMPILED.expand_positions(mimics.q_index, mimics.q_multiplier, mimics.offset, q_own, q)
        COMPILED.expand_rows(mimics.v_index, mimics.multiplier, v_own, v)

    def results() -> dict[str, Any]:
        return robot.results_of(plan, out)

    always_here = None if mimics.present else results()

    def result_of(k: int) -> dict[str, Any]:
        evaluate(handle, q[k], v[k], plan.flags, plan.frames, plan.representation, out)
        return always_here or results()

    return result_of


def all_good(robot: Robot, q: Array, v: Array) -> bool:
    """Whether all states have the right size, finite numbers and unit quaternions."""
    if q.shape[1:] != (robot.nq,) or v.shape[1:] != (robot.nv,):
        return False
    quaternions = (q[:, start : start + 4] for _, start in robot.quaternions)
    norms = (np.linalg.norm(quaternion, axis=1) for quaternion in quaternions)
    return bool(
        np.isfinite(q).all()
        and np.isfinite(v).all()
        and all((np.abs(norm - 1.0) <= QUATERNION_TOLERANCE).all() for norm in norms)
    )


def size_of(value: Any) -> int:
    """Bytes that a result takes in a reply, without the heads of arrays."""
    if isinstance(value, np.ndarray):
        return value.nbytes
    if isinstance(value, float):
        return 8
    if isinstance(value, Mapping):
        return sum(size_of(item) for item in value.values())
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
    """One state's results into their places."""
    for key, value in result.items():
        if isinstance(value, Mapping):
            put(stacked[key], k, value)
        else:
            stacked[key][k] = value


def row(stacked: Mapping[str, Any], k: int) -> dict[str, Any]:
    """One state's results, as they were put in."""
    return {
        key: row(value, k) if isinstance(value, Mapping) else value[k]
        for key, value in stacked.items()
    }
