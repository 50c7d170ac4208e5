"""`derivatives`: which derivatives can be asked for, a row each."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from torqued.kernels import Robot
from torqued.kernels.input_checks import Fields, choice, text
from torqued.server.requests import costs
from torqued.server.requests.constraints import only_contacts
from torqued.server.requests.fields import in_coordinates, wrenches
from torqued.server.requests.operation import missing_field, operation, unknown_field


@dataclass(frozen=True)
class Derivative:
    """What it needs beside q and v, what it takes beside that, and how it is computed."""

    needs: tuple[str, ...]
    takes: tuple[str, ...]
    run: Callable[[Robot, Fields], Mapping[str, Any]]


def of_inverse_dynamics(robot: Robot, fields: Fields) -> dict[str, Any]:
    q, v, a = fields["q"], fields["v"], fields["a"]
    at = in_coordinates(robot, fields)
    dtau_dq, dtau_dv = at.inverse_dynamics_derivatives(q, v, a, wrenches(fields))
    return {"M": at.mass_matrix(q), "dtau_dq": dtau_dq, "dtau_dv": dtau_dv}


def second_order(robot: Robot, fields: Fields) -> dict[str, Any]:
    q, v, a = fields["q"], fields["v"], fields["a"]
    return asdict(in_coordinates(robot, fields).inverse_dynamics_second_derivatives(q, v, a))


def rates(robot: Robot, fields: Fields) -> dict[str, Any]:
    motion = (fields[key] for key in ("q", "v", "a", "jerk", "snap"))
    found = robot.inverse_dynamics_rates(*motion)
    return dict(zip(("tau", "tau_dot", "tau_ddot"), found, strict=True))


def geometry(robot: Robot, fields: Fields) -> dict[str, Any]:
    found = robot.geometric_derivatives(fields["q"], fields["v"], fields["a"])
    return {"dtau_dgeometry": found, "joints": [joint.name for joint in robot.model.joints]}


def inertia(robot: Robot, fields: Fields) -> dict[str, Any]:
    found = in_coordinates(robot, fields).regressor(fields["q"], fields["v"], fields["a"])
    return {"dtau_dinertia": found}


def of_forward_dynamics(robot: Robot, fields: Fields) -> dict[str, Any]:
    q, v, tau = fields["q"], fields["v"], fields["tau"]
    at = in_coordinates(robot, fields)
    found = at.forward_dynamics_derivatives(q, v, tau, wrenches(fields))
    return dict(zip(("da_dq", "da_dv", "da_dtau"), found, strict=True))


def of_contact_dynamics(robot: Robot, fields: Fields) -> dict[str, Any]:
    q, v, tau = fields["q"], fields["v"], fields["tau"]
    at = in_coordinates(robot, fields)
    return asdict(at.contact_dynamics_derivatives(q, v, tau, only_contacts(fields)))


def linearize(robot: Robot, fields: Fields) -> dict[str, Any]:
    held = only_contacts(fields) if "contacts" in fields else None
    A, B = in_coordinates(robot, fields).linearize(
        fields["q"],
        fields["v"],
        fields["tau"],
        fields.get("dt"),
        wrenches(fields),
        held,
    )
    return {"A": A, "B": B}


#: By the field `of`.
DERIVATIVES = {
    "inverse_dynamics": Derivative(("a",), ("f_ext", "coordinates"), of_inverse_dynamics),
    "second_order": Derivative(("a",), ("coordinates",), second_order),
    "inertia": Derivative(("a",), ("coordinates",), inertia),
    "geometry": Derivative(("a",), (), geometry),
    "rates": Derivative(("a", "jerk", "snap"), (), rates),
    "forward_dynamics": Derivative(("tau",), ("f_ext", "coordinates"), of_forward_dynamics),
    "contact_dynamics": Derivative(("tau", "contacts"), ("coordinates",), of_contact_dynamics),
    "linearization": Derivative(("tau",), ("dt", "f_ext", "contacts", "coordinates"), linearize),
}


@operation(costs.derivatives)
def derivatives(robot: Robot, fields: Fields) -> dict[str, Any]:
    """Those that `of` names; fields that they do not take are refused."""
    name = choice("of", text(fields, "of", ""), DERIVATIVES)
    derivative = DERIVATIVES[name]
    for key in derivative.needs:
        if key not in fields:
            raise missing_field(f"derivatives of {name}", key)
    allowed = ("of", "q", "v", *derivative.needs, *derivative.takes)
    for key in fields:
        if key not in allowed:
            raise unknown_field(f"derivatives of {name}", key, allowed)
    return dict(derivative.run(robot, fields))
