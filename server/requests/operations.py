"""The table of operations: everything that a daemon can be asked for, a row each.

Dispatch, rights, batches, the worker and docs/PROTOCOL.md go by this table; a test keeps the
document equal to it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from torqued.common import errors
from torqued.kernels import Robot
from torqued.kernels.control.controller import GUARDS, OPTIONS, SESSION_OPTIONS
from torqued.kernels.control.springs import MEASURED
from torqued.server.access.rights import ADMINISTRATE, COMMAND, READ, right_to_open
from torqued.server.loop.link_options import LINK_OPTIONS
from torqued.server.requests import administration, computations, sessions, simulation, work
from torqued.server.requests.batch import Report, run_batch
from torqued.server.requests.batch_memory import BatchMemory, names_in
from torqued.server.requests.constraints import work_of_assembly, work_of_terms, work_of_torques
from torqued.server.requests.inverse_kinematics import work_of_search
from torqued.server.requests.limits import Work
from torqued.server.requests.operation import (
    CONTROL,
    DAEMON,
    KERNEL,
    LOOP,
    REQUEST,
    WORKER,
    Fields,
    Operation,
)


def _computation(
    name: str,
    required: tuple[str, ...],
    optional: tuple[str, ...],
    reply: tuple[str, ...],
    estimate: Any = None,
    right: str = READ,
) -> Operation:
    """A row of an operation on a state, whose function has its name."""
    run = getattr(computations, name)
    return Operation(name, REQUEST, right, required, optional, reply, KERNEL, run, work=estimate)


#: Operations on a state, which `batch` carries out for many.
OF_A_STATE = (
    _computation(
        "dynamics",
        ("q",),
        ("v", "want", "frames", "representation", "coordinates"),
        ("those wanted",),
        work.dynamics,
    ),
    _computation("inverse_dynamics", ("q", "v", "a"), ("f_ext", "coordinates"), ("tau",)),
    _computation("forward_dynamics", ("q", "v", "tau"), ("f_ext", "coordinates"), ("a",)),
    _computation("solve_mass", ("q", "b"), ("coordinates",), ("x",), work.solve_mass),
    _computation("coriolis_product", ("q", "v", "w"), ("coordinates",), ("product",)),
    _computation(
        "kinematics",
        ("q", "frames"),
        ("v", "a", "jerk", "order", "representation", "coordinates"),
        ("pose", "J", "Jdot_v", "velocity", "acceleration", "Jdot", "jerk", "Jddot"),
        work.kinematics,
    ),
    _computation(
        "contact_dynamics",
        ("q", "v", "tau", "contacts"),
        ("solver", "f_ext", "coordinates"),
        (
            *("a", "force", "G", "gamma", "inverse_inertia", "rank_deficient", "conflicting"),
            *("redundant", "pulls", "slips", "tips"),
        ),
        work.contacts,
    ),
    _computation(
        "impact",
        ("q", "v", "contacts"),
        ("restitution", "after", "coordinates"),
        ("v", "impulse", "energy_lost", "rank_deficient", "conflicting"),
        work.contacts,
    ),
    _computation(
        "constraint_terms",
        ("q", "v", "constraints"),
        ("coordinates",),
        ("G", "position", "velocity", "gamma"),
        work_of_terms,
    ),
    _computation(
        "assemble",
        ("q", "constraints"),
        ("v", "weights", "tolerance", "iterations", "coordinates"),
        ("q", "v", "position_error", "velocity_error", "iterations", "converged"),
        work_of_assembly,
    ),
    _computation(
        "constrained_inverse_dynamics",
        ("q", "v", "a", "constraints"),
        ("actuated", "weights", "f_ext", "coordinates"),
        ("tau", "efforts", "a", "force", "exact", "acceleration_error", "fully_actuated"),
        work_of_torques,
    ),
    _computation(
        "derivatives",
        ("of", "q", "v"),
        ("a", "jerk", "snap", "tau", "dt", "f_ext", "contacts", "coordinates"),
        ("those that of names",),
        work.derivatives,
    ),
    _computation("integrate", ("q", "v", "dt"), ("coordinates",), ("q",)),
    _computation(
        "inverse_kinematics",
        ("q", "targets"),
        ("tolerance", "iterations", "restarts", "seed", "coordinates"),
        ("q", "status", "errors", "left_over", "reached", "iterations", "starts"),
        work_of_search,
    ),
    _computation(
        "control",
        ("law", "q", "v"),
        ("references", *MEASURED, *OPTIONS),
        ("the outputs of the law", "status"),
        work.control,
        COMMAND,
    ),
)


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


def batch(robot: Robot, fields: Fields, report: Report) -> Mapping[str, Any]:
    """Any operation on a state, for many states."""
    if not fields.get("memory"):
        return run_batch(robot, *batch_of(fields), report)
    names_in(fields)
    memory = BatchMemory(fields["memory"])
    given = batch_of({**fields, **memory.states})
    return memory.reply(run_batch(robot, *given, report, allocate=memory.allocate))


def right_to_batch(message: Fields) -> str:
    """That of the operation which is carried out for many states."""
    name = message.get("operation")
    if isinstance(name, str) and name in BATCHED:
        return OPERATIONS[name].right
    return READ


def work_of_batch(robot: Robot, fields: Fields) -> Work:
    """Always the worker's; what it is told of at once is refused at once."""
    batch_of({**fields, **dict.fromkeys(names_in(fields), 0.0)})
    return Work(0, float("inf"))


BATCHED = tuple(operation.name for operation in OF_A_STATE)

#: All fields of operations on a state but q.
_OTHERS = tuple(
    dict.fromkeys(
        field
        for operation in OF_A_STATE
        for field in operation.required + operation.optional
        if field != "q"
    )
)

#: What a session is doing, as `take` and `look` tell it.
_STATE = ("law", "mode", "q", "v", "references", "status", "remaining", "commander")


def _order(
    name: str,
    required: tuple[str, ...] = (),
    optional: tuple[str, ...] = (),
    reply: tuple[str, ...] = (),
    right: str = COMMAND,
) -> Operation:
    """A row of an order to a session, whose function has its name."""
    run = getattr(sessions, name)
    fields, answer = ("session", *required), ("session", *reply)
    return Operation(name, REQUEST, right, fields, optional, answer, LOOP, run)


TABLE = (
    Operation(
        "hello",
        REQUEST,
        READ,
        (),
        (),
        (
            *("name", "base", "nq", "nv", "joints", "frames", "limits", "neutral", "gravity"),
            *("warnings", "conventions", "operations", "endpoints", "rights", "rate"),
            *("deadline", "realtime"),
        ),
        DAEMON,
        administration.hello,
    ),
    *OF_A_STATE,
    Operation(
        "batch",
        REQUEST,
        READ,
        ("operation",),
        ("q", *_OTHERS, "memory"),
        ("the operation's", "stacked"),
        WORKER,
        batch,
        right_to_batch,
        work_of_batch,
    ),
    Operation(
        "simulate",
        REQUEST,
        READ,
        ("q", "v", "seconds", "dt"),
        ("tau", "law", "gains", "references", "method", "contacts", "every", "coordinates"),
        ("time", "q", "v", "tau"),
        WORKER,
        simulation.simulate,
        simulation.right_to_simulate,
        simulation.work_of_simulation,
    ),
    Operation(
        "open",
        REQUEST,
        COMMAND,
        ("law",),
        (*OPTIONS, *GUARDS, *SESSION_OPTIONS, *LINK_OPTIONS),
        (
            *("session", "transport", "clock", "spin"),
            *("endpoint", "owner", "server_key", "memory"),
            *("law", "gains", "payload", "friction", "axes"),
            *("state_bytes", "output_bytes", "state", "references", "outputs", "period"),
            *("stale_after", "hold", "fade", "fallback", "without_states", "stability"),
            "command_endpoint",
        ),
        LOOP,
        sessions.open_session,
        right_to_open,
    ),
    Operation(
        "tune",
        REQUEST,
        COMMAND,
        ("session", "gains"),
        ("over",),
        ("session", "over", "gains"),
        LOOP,
        sessions.tune_session,
    ),
    _order("take", (), ("take_over", "lease"), ("lease", *_STATE)),
    _order("give"),
    _order("hold"),
    _order("move", ("references",), ("seconds",), ("seconds",)),
    _order("command", ("references",)),
    _order("resume"),
    _order("look", reply=_STATE, right=READ),
    Operation(
        "payload",
        REQUEST,
        COMMAND,
        ("session", "frame", "mass"),
        ("centre", "inertia", "over"),
        ("session", "over", "payload"),
        LOOP,
        sessions.change_payload,
    ),
    # To close one's own session takes no right; the loop looks at others'.
    Operation("close", REQUEST, READ, ("session",), (), ("session",), LOOP, sessions.close_session),
    Operation(
        "ping",
        CONTROL,
        READ,
        (),
        (),
        ("ready", "name", "robot", "kernels"),
        DAEMON,
        administration.ping,
    ),
    Operation(
        "stats",
        CONTROL,
        READ,
        (),
        (),
        (
            *("name", "robot", "ready", "uptime", "requests", "refused", "outcomes"),
            *("unsent", "memory"),
            *("servo", "sessions", "realtime", "kernels", "worker", "observation"),
        ),
        DAEMON,
        administration.stats,
    ),
    Operation(
        "stop", CONTROL, COMMAND, (), ("session",), ("stopped",), DAEMON, administration.stop
    ),
    Operation("recover", CONTROL, COMMAND, (), (), ("stopped",), DAEMON, administration.recover),
    Operation("sessions", CONTROL, READ, (), (), ("sessions",), DAEMON, administration.sessions),
    Operation(
        "reload",
        CONTROL,
        ADMINISTRATE,
        (),
        (),
        ("name", "base", "nq", "nv", "warnings", "restart"),
        DAEMON,
        administration.reload,
    ),
    Operation(
        "log_level",
        CONTROL,
        ADMINISTRATE,
        ("level",),
        (),
        ("level",),
        DAEMON,
        administration.log_level,
    ),
    Operation(
        "recorder", CONTROL, ADMINISTRATE, ("report",), (), (), DAEMON, administration.recorder
    ),
    Operation("shutdown", CONTROL, ADMINISTRATE, (), (), (), DAEMON, administration.shutdown),
)

#: Name on the wire → its row.
OPERATIONS: dict[str, Operation] = {operation.name: operation for operation in TABLE}


def names_on(socket: str) -> tuple[str, ...]:
    """Names of everything that a socket takes."""
    return tuple(operation.name for operation in TABLE if operation.socket == socket)
