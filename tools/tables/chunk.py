"""One chunk of states: read, compute, store. The same on every engine."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np

from torqued.common.errors import InputError, TorquedError
from torqued.kernels import Robot
from torqued.kernels.batch.stacks import of_state
from torqued.kernels.model.description import Array
from torqued.server.requests.batch import run_batch
from torqued.server.requests.operations import OPERATIONS
from torqued.server.requests.replies import as_request_error
from torqued.server.worker.model_bytes import unpack
from torqued.tools.tables.plan import Folder, Plan
from torqued.tools.tables.reading import Table, open_table


@lru_cache(maxsize=4)
def robot_of(model: bytes) -> Robot:
    """Loaded once in a process."""
    return Robot(unpack(model))


@lru_cache(maxsize=4)
def begun_in(folder: Path) -> tuple[Plan, bytes, Table]:
    """The run of a folder, which workers that see its files read for themselves."""
    plan, model = Folder(folder).load()
    return plan, model, table_of(plan)


def table_of(plan: Plan) -> Table:
    return open_table(Path(plan.table), plan.widths, tuple(plan.required))


def compute(plan: Plan, robot: Robot, k: int, states: Mapping[str, Array]) -> dict[str, Array]:
    """Results of a chunk by name; an error names the state by its row of the whole table."""
    operation = OPERATIONS[plan.operation]
    fields = operation.fields_of({**plan.fields, **states})
    try:
        stacked = run_batch(robot, operation, fields, lambda done, total: None, limited=False)
    except TorquedError as error:
        raise in_table(error, plan.part(k)[0]) from None
    return flat(stacked)


def in_table(error: TorquedError, first: int) -> TorquedError:
    """The error of a state of a chunk, with its row in the table; it can be sent to others."""
    found = as_request_error(error)
    text = str(found).removeprefix(f"state {found.state}: ")
    plain = InputError(text, found.field, None, found.expected)
    return plain if found.state is None else of_state(plain, first + found.state)


def flat(results: Mapping[str, Any], before: str = "") -> dict[str, Array]:
    """Results of frames as `J/hand`; truth values and lists as arrays."""
    found: dict[str, Array] = {}
    for key, value in results.items():
        if isinstance(value, Mapping):
            found |= flat(value, f"{before}{key}/")
        else:
            found[f"{before}{key}"] = np.ascontiguousarray(value)
    return found


def do_chunk(folder: Path, k: int) -> int:
    """For a worker with access to the files; returns the chunk's number."""
    plan, model, table = begun_in(folder)
    place = Folder(folder)
    if not place.chunk(k).exists():
        place.keep(k, compute(plan, robot_of(model), k, table.rows(*plan.part(k))))
    return k


def compute_chunk(
    plan: Plan, model: bytes, k: int, states: Mapping[str, Array]
) -> tuple[int, dict[str, Array]]:
    """For a worker without access: states come with the task, results are returned."""
    return k, compute(plan, robot_of(model), k, states)
