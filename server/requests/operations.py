"""The table of operations in the daemon: each row with its function, and with the fields of laws.

The rows are in client/requests/operation_table.py. The function of an operation has its name, in
a module for where it is carried out, or is a method of the servo. Dispatch, rights, batches and
the worker go by this table.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any

from torqued.client.requests.operation_table import (
    DAEMON,
    KERNEL,
    LOOP,
    READ,
    TABLE,
    WORKER,
    Row,
)
from torqued.common import errors
from torqued.kernels import Robot
from torqued.kernels.control.options import GUARDS, MEASURED, OPTIONS, SESSION_OPTIONS
from torqued.kernels.input_checks import Fields
from torqued.server.access.rights import right_to_open
from torqued.server.loop.links import LINK_OPTIONS
from torqued.server.requests import (
    administration,
    computations,
    constraints,
    derivatives,
    inverse_kinematics,
    simulation,
)
from torqued.server.requests.batch import Report, run_batch
from torqued.server.requests.batch_arrays import BatchArrays, names_in
from torqued.server.requests.limits import Cost
from torqued.server.requests.operation import (
    ESTIMATES,
    RIGHTS_BY_FIELDS,
    Operation,
    operation,
)

#: Where an operation is carried out → modules, one of which has its function.
MODULES: dict[str, tuple[ModuleType, ...]] = {
    KERNEL: (computations, constraints, derivatives, inverse_kinematics),
    WORKER: (simulation,),
    DAEMON: (administration,),
}

#: Operations on a state, which `batch` carries out for many.
BATCHED = tuple(row.name for row in TABLE if row.is_of_a_state)

#: Fields of `batch` itself.
OF_A_BATCH = ("operation", "memory")


def batch_of(fields: Fields) -> tuple[Operation, dict[str, Any]]:
    """The operation of a batch and the fields that it takes."""
    name = fields["operation"]
    if not isinstance(name, str) or name not in BATCHED:
        raise errors.error(
            "bad_field",
            f"operation: {name!r} is unknown, allowed: {', '.join(BATCHED)}",
            field="operation",
            value=name,
            expected=f"one of {', '.join(BATCHED)}",
        )
    rest = {key: value for key, value in fields.items() if key not in OF_A_BATCH}
    return OPERATIONS[name], OPERATIONS[name].fields_of(rest)


def right_to_batch(message: Fields) -> str:
    """The right of the operation that the batch carries out."""
    name = message.get("operation")
    if isinstance(name, str) and name in BATCHED:
        return OPERATIONS[name].right
    return READ


def cost_of_batch(robot: Robot, fields: Fields) -> Cost:
    """Always the worker's; refuses at once what the fields alone show to be wrong."""
    batch_of({**fields, **dict.fromkeys(names_in(fields), 0.0)})
    return Cost(0, float("inf"))


@operation(cost_of_batch, right_to_batch)
def batch(robot: Robot, fields: Fields, report: Report) -> Mapping[str, Any]:
    """Any operation on a state, for many states."""
    if not fields.get("memory"):
        return run_batch(robot, *batch_of(fields), report)
    names_in(fields)
    memory = BatchArrays(fields["memory"])
    given = batch_of({**fields, **memory.states})
    return memory.reply(run_batch(robot, *given, report, allocate=memory.allocate))


#: Optional fields that laws have, beside those of the row.
_OF_LAWS = {
    "control": (*MEASURED, *OPTIONS),
    "open": (*OPTIONS, *GUARDS, *SESSION_OPTIONS, *LINK_OPTIONS),
}


def _fields_of_batches() -> tuple[str, ...]:
    """The fields of all operations that a batch may carry out."""
    rows = [row for row in TABLE if row.is_of_a_state]
    fields = [(*row.required, *row.optional, *_OF_LAWS.get(row.name, ())) for row in rows]
    return tuple(dict.fromkeys(field for one in fields for field in one))


def _function(row: Row) -> Callable[..., Any]:
    if row.name == "batch":
        return batch
    if row.carried_out_by != LOOP:
        modules = MODULES[row.carried_out_by]
        functions = (vars(module)[row.name] for module in modules if row.name in vars(module))
        function: Callable[..., Any] = next(functions)
        return function

    def of_session(servo: Any, fields: Fields, caller: Any) -> Any:
        return (getattr(servo.orders, row.name, None) or getattr(servo, row.name))(fields, caller)

    return of_session


def _operation(row: Row) -> Operation:
    further = _OF_LAWS.get(row.name, ())
    return Operation(
        name=row.name,
        socket=row.socket,
        right=row.right,
        carried_out_by=row.carried_out_by,
        required=row.required,
        optional=(
            (*_fields_of_batches(), *row.optional)
            if row.name == "batch"
            else (*row.optional, *further)
        ),
        reply=row.reply,
        run=_function(row),
        right_by_fields=RIGHTS_BY_FIELDS.get(row.name),
        cost=ESTIMATES.get(row.name),
    )


RIGHTS_BY_FIELDS["open"] = right_to_open

#: Name on the wire → its row.
OPERATIONS = {row.name: _operation(row) for row in TABLE}


def names_on(socket: str) -> tuple[str, ...]:
    """Names of everything that a socket takes."""
    return tuple(row.name for row in TABLE if row.socket == socket)
