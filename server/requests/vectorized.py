"""Batches of operations that `Robot.batch` computes several states at a time, in threads on all
cores but the loop's. Results go straight into the reply's or the client's memory.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from torqued.kernels import Robot
from torqued.kernels.batch.batch import Batch
from torqued.kernels.dynamics.quantities import QUANTITIES, sized
from torqued.kernels.input_checks import Fields, text, texts
from torqued.kernels.model.description import Array
from torqued.server.requests.derivatives import DERIVATIVES
from torqued.server.requests.fields import wrenches
from torqued.server.requests.operation import Operation

Shapes = dict[str, tuple[int, ...]]
#: Gives arrays for results by name.
Allocate = Callable[[Shapes], dict[str, Array]]


class Stacks(Protocol):
    """The numbers of all states, checked for their count."""

    stacks: dict[str, Array]
    wrenches: dict[str, Array]
    count: int


#: Operations that are a method of their name with one result, of the shape of the last argument.
VECTORS = ("inverse_dynamics", "forward_dynamics", "solve_mass", "coriolis_product")
#: Derivatives by the field `of`, and their results (N, nv, nv) beside M.
MATRICES = {
    "inverse_dynamics": ("dtau_dq", "dtau_dv"),
    "forward_dynamics": ("da_dq", "da_dv", "da_dtau"),
}


def is_vectorizable(robot: Robot, name: str, fields: Fields) -> bool:
    """Whether `Robot.batch` computes this operation."""
    if text(fields, "coordinates", "native") != "native" or batch_of(robot).narrow:
        return False
    if name == "derivatives":
        of = fields.get("of")
        if not isinstance(of, str) or of not in MATRICES:
            return False
        # With other fields, or without one of these, the call for one state raises the error.
        return fields.keys() - {"coordinates"} == {"of", *arguments_of(of)}
    return name in (*VECTORS, "dynamics") or (name == "kinematics" and "order" not in fields)


def arguments_of(derivative: str) -> tuple[str, ...]:
    """What derivatives take of a state."""
    return "q", "v", *DERIVATIVES[derivative].needs


def run_vectorized(
    robot: Robot,
    operation: Operation,
    fields: Fields,
    states: Stacks,
    report: Callable[[int, int], None],
    allocate: Allocate,
) -> dict[str, Any]:
    """Stacked results."""
    batch = batch_of(robot)
    batch.progress = report
    if operation.name in VECTORS:
        given: list[Any] = [states.stacks[key] for key in operation.required]
        (result,) = operation.reply
        out = allocate({result: given[-1].shape})
        if wrenches(fields):
            given.append(states.wrenches)
        getattr(batch, operation.name)(*given, out=out[result])
        return out
    if operation.name == "derivatives":
        of = text(fields, "of", "")
        given, results = [states.stacks[key] for key in arguments_of(of)], MATRICES[of]
        names = ("M", *results) if of == "inverse_dynamics" else results
        out = allocate({name: (states.count, robot.nv, robot.nv) for name in names})
        if "M" in out:  # another batch: progress is that of the derivatives
            batch.progress = None
            batch.mass_matrix(given[0], out=out["M"])
            batch.progress = report
        getattr(batch, f"{of}_derivatives")(*given, out=tuple(out[name] for name in results))
        return out
    want, frames = wanted(operation.name, fields), texts(fields, "frames", ())
    sizes = {word: sized(QUANTITIES[word], robot.nv, len(frames)) for word in want}
    out = allocate({word: (states.count, *size) for word, size in sizes.items()})
    q, v = states.stacks["q"], states.stacks.get("v")
    representation = text(fields, "representation", "hybrid")
    return batch.dynamics(q, v, want, frames, representation, out=out).as_dict()


def wanted(name: str, fields: Fields) -> tuple[str, ...]:
    """The wanted quantities, each once."""
    if name == "dynamics":
        return tuple(dict.fromkeys(texts(fields, "want", ("M", "C", "g"))))
    return ("pose", "J") if fields.get("v") is None else ("pose", "J", "Jdot_v")


#: Batches that are kept: each thread of the worker has its own robot.
MAX_BATCHES = 16
_kept: list[Batch] = []


def batch_of(robot: Robot) -> Batch:
    """The robot's batch, with its threads and their memory; kept for the next request."""
    for batch in list(_kept):
        if batch.robot is robot:
            return batch
    _kept.append(robot.batch())
    del _kept[:-MAX_BATCHES]
    return batch_of(robot)


def use_threads(robot: Robot, threads: int | None) -> None:
    """Set the threads for batches of this robot; None: one for each core."""
    _kept[:] = [robot.batch(threads)]
