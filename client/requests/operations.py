"""Every operation of a daemon as a function that makes its request.

`OPERATIONS` is the table behind `Client` and `AsyncClient`: each entry becomes a method of both, in
the one waiting for the reply, in the other awaited. Numbers may be anything that numpy takes;
they go over the wire as float64.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torqued.client.requests import results
from torqued.client.requests.constrained_operations import (
    assemble,
    constrained_inverse_dynamics,
    constraint_terms,
    contact_dynamics,
    impact,
)
from torqued.client.requests.request_parts import (
    Request,
    arrays,
    arrays_of,
    as_array,
    as_number,
    constraints_of,
    names,
    numbers,
    only,
    put,
    target_of,
)
from torqued.client.requests.results import Array, Result
from torqued.common.stacked import STACKED


def hello() -> Request[results.Hello]:
    """The robot, its conventions, limits and the daemon's endpoints."""
    return Request("hello", {}, results.Hello)


def dynamics(
    q: Any,
    v: Any = None,
    want: Sequence[str] | None = None,
    frames: Sequence[str] | None = None,
    representation: str | None = None,
    coordinates: str | None = None,
) -> Request[results.Dynamics]:
    """Any subset of the dynamics quantities at q (nq,), v (nv,) in one pass over the robot.

    `want` names them (default M, C, g): M, Mdot, C, Gamma, g, bias, energy, com, momentum, and for
    each of `frames` J, Jdot_v, pose. `representation` is that of J: "hybrid" (default), "body",
    "spatial" or "mixed".
    """
    fields: dict[str, Any] = numbers(q=q)
    if v is not None:
        fields["v"] = as_array(v, "v")
    if want is not None:
        fields["want"] = names(want)
    if frames is not None:
        fields["frames"] = names(frames)
    put(fields, representation=representation, coordinates=coordinates)
    return Request("dynamics", fields, results.Dynamics)


def inverse_dynamics(
    q: Any,
    v: Any,
    a: Any,
    f_ext: Mapping[str, Any] | None = None,
    coordinates: str | None = None,
) -> Request[Array]:
    """Torques (nv,) N m for accelerations a (nv,); `f_ext` maps frames to wrenches (6,)."""
    fields = numbers(q=q, v=v, a=a)
    put(fields, f_ext=arrays(f_ext), coordinates=coordinates)
    return Request("inverse_dynamics", fields, only("tau"))


def forward_dynamics(
    q: Any,
    v: Any,
    tau: Any,
    f_ext: Mapping[str, Any] | None = None,
    coordinates: str | None = None,
) -> Request[Array]:
    """Accelerations (nv,) under torques tau (nv,); `f_ext` maps frames to wrenches (6,)."""
    fields = numbers(q=q, v=v, tau=tau)
    put(fields, f_ext=arrays(f_ext), coordinates=coordinates)
    return Request("forward_dynamics", fields, only("a"))


def solve_mass(q: Any, b: Any, coordinates: str | None = None) -> Request[Array]:
    """M⁻¹ b for b (nv,) or (nv, k), without M."""
    fields = numbers(q=q, b=b)
    put(fields, coordinates=coordinates)
    return Request("solve_mass", fields, only("x"))


def coriolis_product(q: Any, v: Any, w: Any, coordinates: str | None = None) -> Request[Array]:
    """C(q, v) w (nv,) for another velocity w (nv,), without C."""
    fields = numbers(q=q, v=v, w=w)
    put(fields, coordinates=coordinates)
    return Request("coriolis_product", fields, only("product"))


def kinematics(
    q: Any,
    frames: Sequence[str],
    v: Any = None,
    representation: str | None = None,
    coordinates: str | None = None,
    *,
    order: int | None = None,
    a: Any = None,
    jerk: Any = None,
) -> Request[results.Kinematics]:
    """Poses and Jacobians of frames by name, and J̇ v where v is given.

    With an `order`, their motions instead: 0 pose; from 1 on velocity, J; from 2 on acceleration,
    Jdot; 3 jerk, Jddot. `a` and `jerk` (nv,) are zero where they are not given.
    """
    fields: dict[str, Any] = numbers(q=q) | {"frames": names(frames)}
    for name, values in (("v", v), ("a", a), ("jerk", jerk)):
        if values is not None:
            fields[name] = as_array(values, name)
    put(fields, order=order, representation=representation, coordinates=coordinates)
    return Request("kinematics", fields, results.Kinematics)


def derivatives(
    of: str,
    q: Any,
    v: Any,
    a: Any = None,
    tau: Any = None,
    dt: float | None = None,
    f_ext: Mapping[str, Any] | None = None,
    contacts: Sequence[Any] | None = None,
    coordinates: str | None = None,
    jerk: Any = None,
    snap: Any = None,
) -> Request[results.Derivatives]:
    """Derivatives along the manifold, a column per velocity, of what `of` names.

    "inverse_dynamics" (at a): M, dtau_dq, dtau_dv. "second_order" (at a): dtau_dqdq, dtau_dvdv,
    dtau_dqdv, dM_dq. "inertia" (at a): dtau_dinertia. "geometry" (at a): dtau_dgeometry, joints.
    "rates" (at a, jerk and snap, the next rates of v in time): tau, tau_dot, tau_ddot.
    "forward_dynamics" (at tau): da_dq, da_dv, da_dtau. "contact_dynamics" (at tau, with contacts):
    those and dforce_dq, dforce_dv, dforce_dtau. "linearization" (at tau, with dt where it is to be
    sampled): A, B.
    """
    fields: dict[str, Any] = {"of": of} | numbers(q=q, v=v)
    for key, value in (("a", a), ("tau", tau), ("jerk", jerk), ("snap", snap)):
        if value is not None:
            fields[key] = as_array(value, key)
    if contacts is not None:
        fields["contacts"] = constraints_of(contacts)
    step = None if dt is None else as_number(dt, "dt")
    put(fields, dt=step, f_ext=arrays(f_ext), coordinates=coordinates)
    return Request("derivatives", fields, results.Derivatives)


def integrate(q: Any, v: Any, dt: float, coordinates: str | None = None) -> Request[Array]:
    """The configuration (nq,) after a constant velocity v (nv,) for dt s."""
    fields: dict[str, Any] = numbers(q=q, v=v) | {"dt": as_number(dt, "dt")}
    put(fields, coordinates=coordinates)
    return Request("integrate", fields, only("q"))


def inverse_kinematics(
    targets: Sequence[Any],
    q: Any,
    tolerance: float | None = None,
    iterations: int | None = None,
    restarts: int | None = None,
    seed: int | None = None,
    coordinates: str | None = None,
) -> Request[results.InverseKinematics]:
    """A configuration (nq,) within limits at which targets are reached, or nearest to them.

    Targets are maps with `value`, `frame`, `kind` ("pose", "position", "orientation", "com",
    "posture"), `point`, `axes`, `weight`, `radian`, `priority`; the search begins at q.
    """
    fields: dict[str, Any] = numbers(q=q) | {"targets": [target_of(x) for x in targets]}
    put(fields, tolerance=tolerance, iterations=iterations, restarts=restarts, seed=seed)
    put(fields, coordinates=coordinates)
    return Request("inverse_kinematics", fields, results.InverseKinematics)


def control(law: str, q: Any, v: Any, **options: Any) -> Request[results.Control]:
    """One torque of a control law, without a session; options as in `session`, and `references`.

    Of `elastic` also `motor_q` and `motor_v`.
    """
    fields = {"law": law} | numbers(q=q, v=v) | options
    return Request("control", fields, results.Control)


def payload(
    session: int,
    frame: str,
    mass: float,
    center: Any = None,
    inertia: Any = None,
    over: float | None = None,
) -> Request[list[dict[str, Any]]]:
    """What a frame of an open session's robot carries from now on; `Session.payload` explains it.

    `session` is its number. Gives all that the session carries, a map for each frame.
    """
    fields: dict[str, Any] = {"session": session, "frame": frame, "mass": as_number(mass, "mass")}
    put(fields, center=center, inertia=inertia, over=over)
    return Request("payload", fields, only("payload"))


def batch(operation: str, *, timeout: float | None = None, **fields: Any) -> Request[Result]:
    """An operation for many states: q, v, a, jerk, tau, w, b, dt with one more dimension in front.

    So are the results. Computed beside everything else, within `timeout` (default 60) s.
    """
    rows = {
        key: as_array(value, key) if key in STACKED and value is not None else value
        for key, value in fields.items()
    }
    return Request("batch", {"operation": operation} | rows, Result, timeout)


def simulate(
    q: Any,
    v: Any,
    seconds: float,
    dt: float,
    tau: Any = None,
    law: str | None = None,
    gains: Mapping[str, Any] | None = None,
    references: Mapping[str, Any] | None = None,
    method: str | None = None,
    contacts: Sequence[Any] | None = None,
    every: int | None = None,
    coordinates: str | None = None,
    *,
    timeout: float | None = None,
) -> Request[results.Simulation]:
    """The motion from q, v under torques tau ((nv,), or a row per step), or under a law.

    `method` is "rkmk4" (default), "rkmk2", "momentum" or "euler". Every `every`-th step is in the
    reply. Computed beside everything else, within `timeout` (default 60) s.
    """
    fields: dict[str, Any] = numbers(q=q, v=v)
    fields |= {"seconds": as_number(seconds, "seconds"), "dt": as_number(dt, "dt")}
    if tau is not None:
        fields["tau"] = as_array(tau, "tau")
    if contacts is not None:
        fields["contacts"] = constraints_of(contacts)
    given = None if references is None else arrays_of("references", references)
    put(fields, law=law, gains=gains, references=given, method=method, every=every)
    put(fields, coordinates=coordinates)
    return Request("simulate", fields, results.Simulation, timeout)


def ping() -> Request[results.Ping]:
    """Whether the daemon is ready; never waits behind work."""
    return Request("ping", {}, results.Ping)


def stats() -> Request[results.Stats]:
    """Counters and percentiles of the loop."""
    return Request("stats", {}, results.Stats)


def sessions() -> Request[list[dict[str, Any]]]:
    """The sessions that are open, whosever they are: a map for each, as in `stats`."""
    return Request("sessions", {}, only("sessions"))


def take(
    session: int, take_over: bool | None = None, lease: float | None = None
) -> Request[results.SessionState]:
    """Become the commander of a session, which then holds; `take_over`: in place of another.

    A commander that asks for nothing for `lease` s (default 1) counts as dead: the session holds.
    """
    fields: dict[str, Any] = {"session": session}
    put(fields, take_over=take_over, lease=lease)
    return Request("take", fields, results.SessionState)


def give(session: int) -> Request[None]:
    """Command a session no longer; it holds."""
    return Request("give", {"session": session}, lambda fields: None)


def hold(session: int) -> Request[None]:
    """Bring a session's references to rest and keep them there, whatever its states say."""
    return Request("hold", {"session": session}, lambda fields: None)


def move(
    session: int, references: Mapping[str, Any], seconds: float | None = None
) -> Request[float]:
    """Move to references, by name, in `seconds` (default: as fast as limits allow); then hold.

    The seconds that it takes.
    """
    given = arrays_of("references", references)
    fields: dict[str, Any] = {"session": session, "references": given}
    put(fields, seconds=seconds)
    return Request("move", fields, only("seconds"))


def command(session: int, references: Mapping[str, Any]) -> Request[None]:
    """Have a session follow references, by name, in place of those of its states."""
    given = arrays_of("references", references)
    fields = {"session": session, "references": given}
    return Request("command", fields, lambda fields: None)


def resume(session: int) -> Request[None]:
    """Leave the fallback and all orders: hold the present state, then follow what states bring."""
    return Request("resume", {"session": session}, lambda fields: None)


def look(session: int) -> Request[results.SessionState]:
    """A session's newest state, its references in effect and what it is doing."""
    return Request("look", {"session": session}, results.SessionState)


def stop(session: int | None = None) -> Request[None]:
    """Give all sessions to their fallbacks until `recover`, or one of them until `resume`."""
    fields = {} if session is None else {"session": session}
    return Request("stop", fields, lambda fields: None)


def recover() -> Request[None]:
    """End a stop; each session stays in its fallback until it is resumed."""
    return Request("recover", {}, lambda fields: None)


def reload(*, timeout: float | None = None) -> Request[results.Reloaded]:
    """Have the daemon load its robot anew; refused while sessions are open."""
    return Request("reload", {}, results.Reloaded, timeout)


def log_level(level: str) -> Request[str]:
    """Have the daemon log from this level on: DEBUG, INFO, WARNING or ERROR."""
    return Request("log_level", {"level": level}, only("level"))


def recorder(report: Mapping[str, Any]) -> Request[None]:
    """Tell the daemon how a recorder is doing, for its `stats`; docs/RECORDING.md."""
    return Request("recorder", {"report": dict(report)}, lambda fields: None)


def shutdown() -> Request[None]:
    """Stop the daemon, as SIGTERM does."""
    return Request("shutdown", {}, lambda fields: None)


#: Method of the clients → what makes its request.
OPERATIONS: dict[str, Callable[..., Request[Any]]] = {
    function.__name__: function
    for function in (
        *(hello, dynamics, inverse_dynamics, forward_dynamics, solve_mass, coriolis_product),
        *(kinematics, contact_dynamics, impact, constraint_terms, assemble),
        *(constrained_inverse_dynamics, derivatives, integrate, inverse_kinematics),
        *(control, payload, batch),
        *(simulate, take, give, hold, move, command, resume, look, stop, recover),
        *(ping, stats, sessions, reload, log_level, recorder, shutdown),
    )
}
