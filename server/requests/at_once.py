"""Operations that a batch computes several states at a time, by `Robot.batch`: in threads, on all
cores but the loop's, with results written where they are sent from or read from.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple, Protocol

import numpy as np

from torqued.kernels import Robot
from torqued.kernels.batch.batch import Batch
from torqued.kernels.dynamics.quantities import QUANTITIES, sized
from torqued.kernels.input_checks import Fields, text, texts
from torqued.kernels.model.description import Array
from torqued.server.requests.fields import wrenches
from torqued.server.requests.limits import fits_into_a_reply
from torqued.server.requests.shared_results import LARGEST, SharedFile, SharedFiles, size_for

Shapes = dict[str, tuple[int, ...]]


class Stacks(Protocol):
    """The numbers of all states, checked for their count."""

    stacks: dict[str, Array]
    wrenches: dict[str, Array]
    count: int


class Vectors(NamedTuple):
    """An operation that is a method with one result."""

    arguments: tuple[str, ...]
    result: str
    like: str  # the argument whose shape the result has


VECTORS = {
    "inverse_dynamics": Vectors(("q", "v", "a"), "tau", "v"),
    "forward_dynamics": Vectors(("q", "v", "tau"), "a", "v"),
    "solve_mass": Vectors(("q", "b"), "x", "b"),
    "coriolis_product": Vectors(("q", "v", "w"), "product", "v"),
}


class Matrices(NamedTuple):
    """Derivatives, by the field `of`: a method with several results (N, nv, nv)."""

    arguments: tuple[str, ...]
    results: tuple[str, ...]


MATRICES = {
    "inverse_dynamics": Matrices(("q", "v", "a"), ("dtau_dq", "dtau_dv")),
    "forward_dynamics": Matrices(("q", "v", "tau"), ("da_dq", "da_dv", "da_dtau")),
}


def several_at_once(name: str, fields: Fields) -> bool:
    """Whether a batch of this operation can be computed so."""
    if text(fields, "coordinates", "native") != "native":
        return False
    if name == "derivatives":
        of = fields.get("of")
        if not isinstance(of, str) or of not in MATRICES:
            return False
        # Where other fields are there, or one is not, a single state's call says what is wrong.
        return fields.keys() - {"coordinates"} == {"of", *MATRICES[of].arguments}
    return name in (*VECTORS, "dynamics") or (name == "kinematics" and "order" not in fields)


def run_at_once(
    robot: Robot,
    name: str,
    fields: Fields,
    states: Stacks,
    report: Callable[[int, int], None],
    memory: str | bool,
    limited: bool,
) -> dict[str, Any]:
    """Stacked results, or where they are in shared memory."""
    batch = batch_of(robot)
    batch.progress = report
    if name in VECTORS:
        vectors = VECTORS[name]
        shapes = {vectors.result: states.stacks[vectors.like].shape}
        given = [states.stacks[key] for key in vectors.arguments]
        if wrenches(fields):
            given.append(states.wrenches)  # type: ignore[arg-type]  # a map by frame

        def compute(out: dict[str, Array]) -> dict[str, Any]:
            return {vectors.result: getattr(batch, name)(*given, out=out[vectors.result])}
    elif name == "derivatives":
        of = text(fields, "of", "")
        matrices = MATRICES[of]
        given = [states.stacks[key] for key in matrices.arguments]
        names = ("M", *matrices.results) if of == "inverse_dynamics" else matrices.results
        shapes = {key: (states.count, robot.nv, robot.nv) for key in names}

        def compute(out: dict[str, Array]) -> dict[str, Any]:
            if "M" in out:  # a batch of its own: progress is of both
                batch.progress = None
                batch.mass_matrix(given[0], out=out["M"])
                batch.progress = report
            results = tuple(out[key] for key in matrices.results)
            getattr(batch, f"{of}_derivatives")(*given, out=results)
            return out
    else:
        want, frames = wanted(name, fields), texts(fields, "frames", ())
        shapes = {
            word: (states.count, *sized(QUANTITIES[word], robot.nv, len(frames))) for word in want
        }

        def compute(out: dict[str, Array]) -> dict[str, Any]:
            q, v = states.stacks["q"], states.stacks.get("v")
            kind = text(fields, "representation", "hybrid")
            return batch.dynamics(q, v, want, frames, kind, out=out).as_dict()

    if memory and (found := in_memory(shapes, compute, memory)) is not None:
        return found
    if limited:
        fits_into_a_reply(size_for(shapes), "ask for fewer states at a time")
    return compute({key: np.empty(shape) for key, shape in shapes.items()})


def wanted(name: str, fields: Fields) -> tuple[str, ...]:
    """The quantities that come, each once."""
    if name == "dynamics":
        return tuple(dict.fromkeys(texts(fields, "want", ("M", "C", "g"))))
    return ("pose", "J") if fields.get("v") is None else ("pose", "J", "Jdot_v")


class InMemory(dict[str, Any]):
    """What a reply says of results in shared memory.

    `again()` computes them once more, to the same places, from the numbers that are then where the
    states were.
    """

    def __init__(
        self, file: SharedFile, found: Mapping[str, Any], again: Callable[[], Any]
    ) -> None:
        arrays = file.described(found)
        super().__init__(memory={"file": file.name, "size": file.size, "arrays": arrays})
        self.file, self.again = file, again


def in_memory(
    shapes: Shapes, compute: Callable[[dict[str, Array]], dict[str, Any]], memory: str | bool
) -> InMemory | None:
    """Where results are in shared memory; None where there is none, or not so much."""
    size = size_for(shapes)
    if not 0 < size <= LARGEST:
        return None
    shared = SHARED.for_results(size, memory if isinstance(memory, str) else None)
    if shared is None:
        return None
    again = partial(compute, shared.arrays(shapes))
    try:
        return InMemory(shared, again(), again)
    except BaseException:
        if shared.name != memory:  # which its client has, and may offer again
            SHARED.drop(shared)
        raise


SHARED = SharedFiles()
#: Batches that are kept: each lane of the worker has a robot of its own.
MAX_BATCHES = 16
_kept: list[Batch] = []


def batch_of(robot: Robot) -> Batch:
    """With its threads and their memory, kept from one batch to the next of the same robot."""
    for batch in list(_kept):
        if batch.robot is robot:
            return batch
    _kept.append(robot.batch())
    del _kept[:-MAX_BATCHES]
    return batch_of(robot)


def use_threads(robot: Robot, threads: int | None) -> None:
    """So many from now on for batches of this robot; None: one for each core."""
    _kept[:] = [robot.batch(threads)]
