"""From a command's arguments to a run: the table, the fields and the size of chunks."""

from __future__ import annotations

import argparse
from typing import Any

from torqued.common.errors import InputError, TorquedError
from torqued.common.stacked import STACKED
from torqued.kernels import Robot
from torqued.kernels.charts import chart_of
from torqued.kernels.input_checks import choice, whole_number
from torqued.server.requests.batch import size_of
from torqued.server.requests.operation import Operation
from torqued.server.requests.operations import BATCHED, OPERATIONS
from torqued.server.requests.replies import as_request_error
from torqued.server.worker.model_bytes import pack
from torqued.tools.tables.chunk import compute, in_table
from torqued.tools.tables.plan import Folder, Plan, digest, stamp
from torqued.tools.tables.reading import Table, open_table
from torqued.tools.tables.writing import check_results

#: Bytes of results per chunk, and its minimum and maximum number of states.
#: Chunks begin at multiples of 64, so that states are computed together with the same neighbours
#: however many there are.
CHUNK_BYTES = 32 * 1024 * 1024
MIN_STATES, MAX_STATES, STEP = 64, 1_048_576, 64


def planned(args: argparse.Namespace, robot: Robot) -> tuple[Plan, bytes, Folder, int]:
    """The run, the robot as bytes, the chunk directory, and the number of chunks done."""
    operation = OPERATIONS[choice("--operation", args.operation, BATCHED)]
    fields = common_fields(args, operation)
    widths = widths_of(robot, operation, fields)
    required = tuple(name for name in operation.required if name in STACKED)
    missing = [name for name in operation.required if name not in STACKED and name not in fields]
    if missing:
        how = "use --of" if missing[0] == "of" else "which has no option"
        raise InputError(f"--operation {operation.name} requires {missing[0]!r}, {how}")
    table = open_table(args.file, widths, required)
    chunk = args.chunk or chunk_for(robot, operation, fields, table)
    model = pack(robot.model)
    plan = Plan(
        table=str(args.file.absolute()),
        **stamp(args.file),
        model=digest(model),
        operation=operation.name,
        fields=fields,
        widths=widths,
        required=list(required),
        count=table.count,
        chunk=whole_number("--chunk", chunk, 1, MAX_STATES),
    )
    if args.out.suffix == ".npy" and table.count:  # one state shows whether it has one result
        check_results(compute(plan, robot, 0, table.rows(0, 1)))
    folder = Folder.of(args.out)
    return plan, model, folder, folder.begin(plan, model)


def common_fields(args: argparse.Namespace, operation: Operation) -> dict[str, Any]:
    """Fields that all states share, as the options have them."""
    given: dict[str, Any] = {
        "of": args.of,
        "want": _names(args.want),
        "frames": _names(args.frames),
        "representation": args.representation,
        "coordinates": args.coordinates,
    }
    fields = {key: value for key, value in given.items() if value is not None}
    for key in fields:
        if key not in (*operation.required, *operation.optional):
            raise InputError(f"{operation.name} does not accept --{key}")
    return fields


def _names(text: str | None) -> list[str] | None:
    return None if text is None else [word.strip() for word in text.split(",") if word.strip()]


def widths_of(robot: Robot, operation: Operation, fields: dict[str, Any]) -> dict[str, int]:
    """How many columns each field of a state has, in the operation's order."""
    chart = chart_of(robot, fields.get("coordinates", "native"))
    sizes = {"q": chart.nq, "dt": 1}
    taken = (name for name in (*operation.required, *operation.optional) if name in STACKED)
    return {name: sizes.get(name, chart.nv) for name in taken}


def chunk_for(robot: Robot, operation: Operation, fields: dict[str, Any], table: Table) -> int:
    """States per chunk, from the size of the first result."""
    first = {name: value[0] for name, value in table.rows(0, 1).items()}
    try:
        result = operation.compute(robot, operation.fields_of({**fields, **first}))
    except TorquedError as error:
        named = as_request_error(error)
        if named.field in first:
            named.state = 0
        raise in_table(named, 0) from None
    states = CHUNK_BYTES // max(1, size_of(result))
    return min(max(states // STEP * STEP, MIN_STATES), MAX_STATES)
