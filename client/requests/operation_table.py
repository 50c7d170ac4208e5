"""The table of operations of a daemon, a row each.

Both clients, the daemon (server/requests/operations.py), the C++ client (cpp/torqued/tables.hpp)
and docs/PROTOCOL.md go by this table. Beside its row an operation has a function of its name in
the daemon, a method of its name in the clients, and its row in the document.
"""

from __future__ import annotations

from typing import NamedTuple

#: Sockets. Operations of the control socket never wait behind work.
REQUEST, CONTROL = "request", "control"

#: Rights, of a key over TCP; each holds those before it.
READ, COMMAND, ADMINISTRATE = RIGHTS = ("read", "command", "administrate")

#: Where an operation is carried out, and the arguments of its function:
#: KERNEL  (robot, fields)           in the main thread, or in the worker where it may take long
#: WORKER  (robot, fields, report)   in the worker process
#: LOOP    (servo, fields, caller)   in the main thread
#: DAEMON  (daemon, fields, caller)  in the thread of the operation's socket
KERNEL, WORKER, LOOP, DAEMON = "kernel", "worker", "loop", "daemon"

#: s that long work may take; and orders that check gains at all poses of the robot.
LONG_WORK, LONG_ORDER = 60.0, 10.0


class Row(NamedTuple):
    """Fields, reply and right of an operation, and where it is carried out."""

    name: str
    socket: str  # REQUEST or CONTROL
    right: str
    carried_out_by: str  # KERNEL, WORKER, LOOP or DAEMON
    required: tuple[str, ...]  # fields
    optional: tuple[str, ...]
    reply: tuple[str, ...]  # fields; a sentence where they depend on the request
    #: Sent once, never again after a silence: the first may have been carried out, or still be.
    once: bool = False
    seconds: float = 0.0  # that a client waits at least

    @property
    def is_of_a_state(self) -> bool:
        """Whether it computes something for a configuration: what `batch` does for many."""
        return "q" in self.required and self.carried_out_by == KERNEL


def words(text: str) -> tuple[str, ...]:
    return tuple(text.split(", ")) if text else ()


def _computation(
    name: str,
    required: str,
    optional: str,
    reply: str,
    right: str = READ,
    once: bool = False,
    seconds: float = 0.0,
) -> Row:
    """An operation on a state."""
    fields = words(required), words(optional), words(reply)
    return Row(name, REQUEST, right, KERNEL, *fields, once, seconds)


def _work(name: str, required: str, optional: str, reply: str) -> Row:
    """Long work, of the worker."""
    fields = words(required), words(optional), words(reply)
    return Row(name, REQUEST, READ, WORKER, *fields, True, LONG_WORK)


def _order(
    name: str,
    required: str = "session",
    optional: str = "",
    reply: str = "session",
    right: str = COMMAND,
    once: bool = False,
    seconds: float = 0.0,
) -> Row:
    """An operation on a session, which the loop carries out."""
    fields = words(required), words(optional), words(reply)
    return Row(name, REQUEST, right, LOOP, *fields, once, seconds)


def _administration(
    name: str,
    right: str,
    required: str = "",
    optional: str = "",
    reply: str = "",
    socket: str = CONTROL,
    once: bool = False,
    seconds: float = 0.0,
) -> Row:
    """An operation on the daemon itself."""
    fields = words(required), words(optional), words(reply)
    return Row(name, socket, right, DAEMON, *fields, once, seconds)


#: Fields of a session's state, in `take` and `look`.
_STATE = "law, mode, q, v, references, status, at_wall, remaining, commander"

#: `control`, `open` and `batch` also take the options of laws, which the daemon adds.
TABLE = (
    _administration(
        "hello",
        READ,
        reply="name, base, nq, nv, joints, joint_slices, locked, frames, limits, neutral, "
        "postures, gravity_vector, warnings, conventions, operations, endpoints, rights, rate, "
        "deadline, realtime",
        socket=REQUEST,
    ),
    _computation("dynamics", "q", "v, want, frames, representation, coordinates", "those wanted"),
    _computation("inverse_dynamics", "q, v, a", "f_ext, coordinates", "tau"),
    _computation("forward_dynamics", "q, v, tau", "f_ext, coordinates", "a"),
    _computation("solve_mass", "q, b", "coordinates", "x"),
    _computation("coriolis_product", "q, v, w", "coordinates", "product"),
    _computation(
        "kinematics",
        "q, frames",
        "v, a, jerk, order, representation, coordinates",
        "pose, J, Jdot_v, velocity, acceleration, Jdot, jerk, Jddot",
    ),
    _computation(
        "contact_dynamics",
        "q, v, tau, contacts",
        "solver, f_ext, coordinates",
        "a, force, G, gamma, inverse_inertia, rank_deficient, conflicting, redundant, pulls, "
        "slips, tips",
    ),
    _computation(
        "impact",
        "q, v, contacts",
        "restitution, after, coordinates",
        "v, impulse, energy_lost, rank_deficient, conflicting",
    ),
    _computation(
        "constraint_terms", "q, v, constraints", "coordinates", "G, position, velocity, gamma"
    ),
    _computation(
        "assemble",
        "q, constraints",
        "v, weights, tolerance, iterations, coordinates",
        "q, v, position_error, velocity_error, iterations, converged",
        once=True,
        seconds=LONG_WORK,
    ),
    _computation(
        "constrained_inverse_dynamics",
        "q, v, a, constraints",
        "actuated, weights, f_ext, coordinates",
        "tau, efforts, a, force, exact, acceleration_error, fully_actuated",
    ),
    _computation(
        "derivatives",
        "of, q, v",
        "a, jerk, snap, tau, dt, f_ext, contacts, coordinates",
        "those that of names",
    ),
    _computation("integrate", "q, v, dt", "coordinates", "q"),
    _computation(
        "inverse_kinematics",
        "q, targets",
        "tolerance, iterations, restarts, seed, coordinates",
        "q, status, errors, left_over, reached, iterations, starts",
    ),
    _computation("control", "law, q, v", "references", "the outputs of the law, status", COMMAND),
    _work("batch", "operation", "memory", "the operation's, stacked"),
    _work(
        "simulate",
        "q, seconds, dt",
        "v, tau, law, gains, references, method, contacts, every, coordinates",
        "time, q, v, tau",
    ),
    _order(
        "open",
        "law",
        "",
        "session, transport, clock, spin, endpoint, owner, server_key, memory, law, gains, "
        "payload, friction, axes, state_bytes, output_bytes, state, references, outputs, period, "
        "stale_after, hold, fade, fallback, without_states, stability, command_endpoint",
        once=True,
        seconds=LONG_ORDER,
    ),
    _order(
        "tune",
        "session, gains",
        "over, check",
        "session, over, gains, overridden",
        seconds=LONG_ORDER,
    ),
    _order("take", "session", "take_over, lease", f"session, lease, {_STATE}", once=True),
    _order("give"),
    _order("hold"),
    _order("move", "session, references", "seconds, speed, times", "session, seconds", once=True),
    _order("command", "session, references"),
    _order("resume"),
    _order("look", reply=f"session, {_STATE}", right=READ),
    _order("payload", "session, frame, mass", "center, inertia, over", "session, over, payload"),
    # A client may always close its own session; the loop checks the right to close others'.
    _order("close", right=READ, once=True),
    _administration("ping", READ, reply="ready, name, robot, kernels"),
    _administration(
        "stats",
        READ,
        reply="name, robot, ready, uptime, requests, refused, outcomes, unsent, memory, servo, "
        "sessions, realtime, kernels, worker, observation",
    ),
    _administration("stop", COMMAND, optional="session", reply="stopped"),
    _administration("recover", COMMAND, reply="stopped"),
    _administration("sessions", READ, reply="sessions"),
    _administration(
        "reload",
        ADMINISTRATE,
        reply="name, base, nq, nv, warnings, restart",
        once=True,
        seconds=LONG_WORK,
    ),
    _administration("log_level", ADMINISTRATE, required="level", reply="level"),
    _administration("recorder", ADMINISTRATE, required="report"),
    _administration("shutdown", ADMINISTRATE),
)

#: Name on the wire → its row.
ROWS = {row.name: row for row in TABLE}

#: Operations of the control socket; those that are sent once; those that are long work → s.
ON_CONTROL = frozenset(row.name for row in TABLE if row.socket == CONTROL)
ONCE = frozenset(row.name for row in TABLE if row.once)
LONG = {row.name: row.seconds for row in TABLE if row.seconds}

#: Field → what it is on the wire.
FIELD_TYPES = {
    **dict.fromkeys(("q", "v", "a", "jerk", "snap", "tau", "w", "b", "dt"), "numbers"),
    **dict.fromkeys(("restitution", "over", "motor_q", "motor_v"), "numbers"),
    **dict.fromkeys(("external_torque", "measured_wrench"), "numbers"),
    **dict.fromkeys(("effort_limit", "rate_limit", "load_lower", "load_upper"), "numbers"),
    **dict.fromkeys(("point", "hold", "fade", "fallback_damping", "frozen_after"), "numbers"),
    **dict.fromkeys(("low_pass", "seconds", "speed", "times", "lease", "delay", "spin"), "numbers"),
    **dict.fromkeys(("tolerance", "after", "weights", "mass", "center", "inertia"), "numbers"),
    **dict.fromkeys(("representation", "coordinates", "solver", "operation", "law"), "text"),
    **dict.fromkeys(("frame", "axes", "axes_in", "level", "fallback", "without_states"), "text"),
    **dict.fromkeys(("of", "method", "transport", "clock", "check"), "text"),
    **dict.fromkeys(("want", "frames"), "list of texts"),
    **dict.fromkeys(("f_ext", "references"), "map of numbers"),
    **dict.fromkeys(
        ("gains", "limits", "springs", "force", "admittance", "report", "memory"), "map"
    ),
    **dict.fromkeys(("contacts", "constraints", "tasks", "targets"), "list of maps"),
    **dict.fromkeys(("walls", "reference_limits", "friction"), "map or truth value"),
    **dict.fromkeys(("iterations", "every", "order", "restarts", "seed", "session"), "integer"),
    "actuated": "numbers or list of texts",
    "observer": "map or true",
    "take_over": "truth value",
    "payload": "map or list of maps",
    "integral": "map, truth value or number",
}
