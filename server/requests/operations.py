"""What each operation takes, and the one kernel call that it makes.

A table, not code paths: `OPERATIONS` names the fields of every operation, docs/PROTOCOL.md has
the same table for people, and a test keeps the two equal. Fields are checked for presence here
and for their content by `Robot`, whose errors already name the field.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from torqued.client import errors
from torqued.client.codec import PROTOCOL_VERSION
from torqued.kernels import Contact, InputError, NumericalError, Robot
from torqued.kernels.control.controller import OPTIONS, SESSION_OPTIONS, Controller
from torqued.kernels.input_checks import Fields, mapping, text, texts

#: In every message; not fields of the operation.
ENVELOPE = ("protocol", "id", "op")


@dataclass(frozen=True)
class Operation:
    """Names of required and optional fields, and what to do with them."""

    required: tuple[str, ...]
    optional: tuple[str, ...]
    run: Callable[[Robot, Fields], dict[str, Any]]


def run_operation(robot: Robot, name: str, message: Fields) -> dict[str, Any]:
    """The result fields of a decoded request; raises `errors.RequestError` whatever is wrong."""
    operation = OPERATIONS[name]
    fields = checked_fields(message, operation.required, operation.optional)
    with Refusals():
        return operation.run(robot, fields)


class Refusals:
    """`with Refusals():` turns errors of the kernels into errors of the wire."""

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, InputError):
            raise errors.error(
                "bad_field",
                str(error),
                field=error.field,
                value=error.value,
                expected=error.expected,
            ) from error
        if isinstance(error, NumericalError):
            raise errors.error("singular", str(error)) from error


def checked_name(message: Fields, allowed: Collection[str]) -> str:
    """The name of a request's operation; refused where the version or the name is another."""
    version = message.get("protocol")
    if type(version) is not int or version != PROTOCOL_VERSION:
        raise errors.error(
            "wrong_version",
            f"protocol version {version!r}, this daemon speaks {PROTOCOL_VERSION}",
            field="protocol",
            value=version,
            expected=str(PROTOCOL_VERSION),
        )
    name = message.get("op")
    if not isinstance(name, str) or name not in allowed:
        raise errors.error(
            "unknown_operation",
            f"operation {name!r} is unknown here, allowed: {', '.join(allowed)}",
            field="op",
            value=name,
            expected=f"one of {', '.join(allowed)}",
        )
    return name


def checked_fields(
    message: Fields, required: tuple[str, ...], optional: tuple[str, ...]
) -> dict[str, Any]:
    """A request's own fields; refused where one is missing or unknown."""
    name = message["op"]
    fields = dict(message)
    for key in ENVELOPE:
        fields.pop(key, None)
    allowed = required + optional
    for key in required:
        if key not in fields:
            raise errors.error(
                "missing_field", f"{name}: field {key!r} is missing", field=key, expected="present"
            )
    for key in fields:
        if key not in allowed:
            expected = f"one of {', '.join(allowed)}" if allowed else "no fields"
            raise errors.error(
                "unknown_field",
                f"{name}: field {key!r} is unknown, allowed: {', '.join(allowed) or 'none'}",
                field=key,
                expected=expected,
            )
    return fields


def wrenches(fields: Fields) -> Mapping[str, Any] | None:
    """The field f_ext: a map from frame names to wrenches."""
    value = fields.get("f_ext")
    if value is not None and not isinstance(value, dict):
        kind = type(value).__name__
        raise InputError(f"f_ext: {kind}, expected a map", "f_ext", None, "a map")
    return value


def contacts(fields: Fields) -> list[Contact]:
    """The field contacts: a list of maps with the members of `Contact`."""
    value = fields["contacts"]
    if not isinstance(value, list) or not all(isinstance(item, dict) for item in value):
        raise InputError("contacts: expected a list of maps", "contacts", None, "a list of maps")
    if not value:
        message = "contacts: empty, expected at least one; forward_dynamics is for none"
        raise InputError(message, "contacts", [], "at least one contact")
    allowed = Contact.__dataclass_fields__
    for k, item in enumerate(value):
        for key in item:
            if key not in allowed:
                raise InputError(
                    f"contacts[{k}]: {key!r} is unknown, allowed: {', '.join(allowed)}",
                    "contacts",
                    key,
                    f"one of {', '.join(allowed)}",
                )
        if not isinstance(item.get("frame"), str):
            raise InputError(f"contacts[{k}]: 'frame' is missing", "contacts", None, "a frame")
    return [Contact(**item) for item in value]


def hello(robot: Robot, fields: Fields) -> dict[str, Any]:
    limits = {name: np.asarray(value) for name, value in asdict(robot.limits).items()}
    return {
        "name": robot.name,
        "base": robot.model.base,
        "nq": robot.nq,
        "nv": robot.nv,
        "joints": list(robot.joint_names),
        "frames": list(robot.frame_names),
        "limits": limits,
        "neutral": robot.neutral(),
        "gravity": robot.gravity_vector,
        "warnings": list(robot.warnings),
        "conventions": (
            "SI units, radians; 6-D vectors [angular; linear]; floating base q = [x y z, "
            "qx qy qz qw, joints], v = [angular, linear in body axes, joints]; joints depth "
            "first in document order"
        ),
        "operations": list(REQUESTS),
    }


def dynamics(robot: Robot, fields: Fields) -> dict[str, Any]:
    return robot.dynamics(
        fields["q"],
        fields.get("v"),
        want=texts(fields, "want", ("M", "C", "g")),
        frames=texts(fields, "frames", ()),
        representation=text(fields, "representation", "hybrid"),
        coordinates=text(fields, "coordinates", "native"),
    )


def inverse_dynamics(robot: Robot, fields: Fields) -> dict[str, Any]:
    q, v, a = fields["q"], fields["v"], fields["a"]
    coordinates = text(fields, "coordinates", "native")
    return {"tau": robot.inverse_dynamics(q, v, a, wrenches(fields), coordinates=coordinates)}


def forward_dynamics(robot: Robot, fields: Fields) -> dict[str, Any]:
    q, v, tau = fields["q"], fields["v"], fields["tau"]
    coordinates = text(fields, "coordinates", "native")
    return {"a": robot.forward_dynamics(q, v, tau, wrenches(fields), coordinates=coordinates)}


def solve_mass(robot: Robot, fields: Fields) -> dict[str, Any]:
    coordinates = text(fields, "coordinates", "native")
    return {"x": robot.solve_mass(fields["q"], fields["b"], coordinates=coordinates)}


def coriolis_product(robot: Robot, fields: Fields) -> dict[str, Any]:
    q, v, w = fields["q"], fields["v"], fields["w"]
    coordinates = text(fields, "coordinates", "native")
    return {"product": robot.coriolis_product(q, v, w, coordinates=coordinates)}


def kinematics(robot: Robot, fields: Fields) -> dict[str, Any]:
    want = ("pose", "J") if fields.get("v") is None else ("pose", "J", "Jdot_v")
    return robot.dynamics(
        fields["q"],
        fields.get("v"),
        want=want,
        frames=texts(fields, "frames", ()),
        representation=text(fields, "representation", "hybrid"),
        coordinates=text(fields, "coordinates", "native"),
    )


def contact_dynamics(robot: Robot, fields: Fields) -> dict[str, Any]:
    solution = robot.contact_dynamics(
        fields["q"],
        fields["v"],
        fields["tau"],
        contacts(fields),
        solver=text(fields, "solver", "range_space"),
        coordinates=text(fields, "coordinates", "native"),
    )
    return {
        "a": solution.a,
        "force": solution.force,
        "G": solution.G,
        "gamma": solution.gamma,
        "inverse_inertia": solution.inverse_inertia,
        "rank_deficient": solution.rank_deficient,
        "conflicting": solution.conflicting,
        "redundant": [contact.redundant for contact in solution.contacts],
        "pulls": [contact.pulls for contact in solution.contacts],
        "slips": [contact.slips for contact in solution.contacts],
        "tips": [contact.tips for contact in solution.contacts],
    }


def impact(robot: Robot, fields: Fields) -> dict[str, Any]:
    restitution = fields.get("restitution", 0.0)
    solution = robot.impact(
        fields["q"],
        fields["v"],
        contacts(fields),
        restitution,
        coordinates=text(fields, "coordinates", "native"),
    )
    return asdict(solution)


def integrate(robot: Robot, fields: Fields) -> dict[str, Any]:
    coordinates = text(fields, "coordinates", "native")
    return {"q": robot.integrate(fields["q"], fields["v"], fields["dt"], coordinates=coordinates)}


def control(robot: Robot, fields: Fields) -> dict[str, Any]:
    """One torque of a law, without a session."""
    settings = {name: fields[name] for name in OPTIONS if name in fields}
    controller = Controller(robot, text(fields, "law", ""), **settings)
    if not controller.law.is_torque:
        raise InputError("law: a stream is no law; `dynamics` has its quantities", "law")
    out = controller.torque(fields["q"], fields["v"], **mapping(fields, "references"))
    return vars(out)


#: Name on the wire → what it takes and does.
OPERATIONS: dict[str, Operation] = {
    "hello": Operation((), (), hello),
    "dynamics": Operation(
        ("q",), ("v", "want", "frames", "representation", "coordinates"), dynamics
    ),
    "inverse_dynamics": Operation(("q", "v", "a"), ("f_ext", "coordinates"), inverse_dynamics),
    "forward_dynamics": Operation(("q", "v", "tau"), ("f_ext", "coordinates"), forward_dynamics),
    "solve_mass": Operation(("q", "b"), ("coordinates",), solve_mass),
    "coriolis_product": Operation(("q", "v", "w"), ("coordinates",), coriolis_product),
    "kinematics": Operation(("q", "frames"), ("v", "representation", "coordinates"), kinematics),
    "contact_dynamics": Operation(
        ("q", "v", "tau", "contacts"), ("solver", "coordinates"), contact_dynamics
    ),
    "impact": Operation(("q", "v", "contacts"), ("restitution", "coordinates"), impact),
    "integrate": Operation(("q", "v", "dt"), ("coordinates",), integrate),
    "control": Operation(("law", "q", "v"), ("references", *OPTIONS), control),
}

#: Required and optional fields of the operations on sessions, which the servo carries out.
SESSION_OPERATIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "open": (("law",), (*OPTIONS, *SESSION_OPTIONS)),
    "tune": (("session", "gains"), ("over",)),
    "close": (("session",), ()),
}

#: What `batch` can do for many states: whatever depends on one.
BATCHED = tuple(name for name, operation in OPERATIONS.items() if "q" in operation.required)

#: Required and optional fields of the operations on the request socket that a worker carries out.
WORKER_OPERATIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "batch": (
        ("operation", "q"),
        tuple(
            dict.fromkeys(
                field
                for name in BATCHED
                for field in OPERATIONS[name].required + OPERATIONS[name].optional
                if field != "q"
            )
        ),
    ),
}

#: Everything that the request socket takes.
REQUESTS = (*OPERATIONS, *WORKER_OPERATIONS, *SESSION_OPERATIONS)

#: Required and optional fields of the operations on the control socket.
CONTROL_OPERATIONS: dict[str, tuple[tuple[str, ...], tuple[str, ...]]] = {
    "ping": ((), ()),
    "stats": ((), ()),
    "sessions": ((), ()),
    "reload": ((), ()),
    "log_level": (("level",), ()),
    "shutdown": ((), ()),
}
