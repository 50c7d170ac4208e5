"""Operations on a state: each is one call of `Robot` or of a control law.

`Operation` checks that fields are present, `Robot` checks their content and names the field.
"""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.options import MEASURED, OPTIONS
from torqued.kernels.input_checks import Fields, mapping, text, texts
from torqued.server.requests import costs
from torqued.server.requests.constraints import contacts, verdicts
from torqued.server.requests.fields import in_coordinates, wrenches
from torqued.server.requests.operation import operation


@operation(costs.dynamics)
def dynamics(robot: Robot, fields: Fields) -> dict[str, Any]:
    found = in_coordinates(robot, fields).dynamics(
        fields["q"],
        fields.get("v"),
        want=texts(fields, "want", ("M", "C", "g")),
        frames=texts(fields, "frames", ()),
        representation=text(fields, "representation", "hybrid"),
    )
    return found.as_dict()


def inverse_dynamics(robot: Robot, fields: Fields) -> dict[str, Any]:
    q, v, a = fields["q"], fields["v"], fields["a"]
    return {"tau": in_coordinates(robot, fields).inverse_dynamics(q, v, a, wrenches(fields))}


def forward_dynamics(robot: Robot, fields: Fields) -> dict[str, Any]:
    q, v, tau = fields["q"], fields["v"], fields["tau"]
    return {"a": in_coordinates(robot, fields).forward_dynamics(q, v, tau, wrenches(fields))}


@operation(costs.solve_mass)
def solve_mass(robot: Robot, fields: Fields) -> dict[str, Any]:
    return {"x": in_coordinates(robot, fields).solve_mass(fields["q"], fields["b"])}


def coriolis_product(robot: Robot, fields: Fields) -> dict[str, Any]:
    q, v, w = fields["q"], fields["v"], fields["w"]
    return {"product": in_coordinates(robot, fields).coriolis_product(q, v, w)}


@operation(costs.kinematics)
def kinematics(robot: Robot, fields: Fields) -> dict[str, Any]:
    found = in_coordinates(robot, fields).kinematics(
        fields["q"],
        texts(fields, "frames", ()),
        fields.get("v"),
        text(fields, "representation", "hybrid"),
        order=fields.get("order"),
        a=fields.get("a"),
        jerk=fields.get("jerk"),
    )
    return found.as_dict()


@operation(costs.contacts)
def contact_dynamics(robot: Robot, fields: Fields) -> dict[str, Any]:
    given = contacts(fields)
    solution = in_coordinates(robot, fields).contact_dynamics(
        fields["q"],
        fields["v"],
        fields["tau"],
        given,
        solver=text(fields, "solver", "range_space"),
        f_ext=wrenches(fields),
    )
    return {
        "a": solution.a,
        "force": solution.force,
        "G": solution.G,
        "gamma": solution.gamma,
        "inverse_inertia": solution.inverse_inertia,
        "rank_deficient": solution.rank_deficient,
        "conflicting": solution.conflicting,
        **verdicts(given, solution),
    }


@operation(costs.contacts)
def impact(robot: Robot, fields: Fields) -> dict[str, Any]:
    restitution = fields.get("restitution", 0.0)
    solution = in_coordinates(robot, fields).impact(
        fields["q"], fields["v"], contacts(fields), restitution, fields.get("after")
    )
    return asdict(solution)


def integrate(robot: Robot, fields: Fields) -> dict[str, Any]:
    at = in_coordinates(robot, fields)
    return {"q": at.integrate(fields["q"], fields["v"], fields["dt"])}


@operation(costs.control)
def control(robot: Robot, fields: Fields) -> dict[str, Any]:
    """One torque of a law, without a session."""
    settings = {name: fields[name] for name in OPTIONS if name in fields}
    controller = Controller(robot, text(fields, "law", ""), **settings)
    if not controller.law.is_torque:
        raise InputError("law: a stream gives no torques; `dynamics` has its quantities", "law")
    references = mapping(fields, "references")
    for name in MEASURED:
        if name in references:
            message = f"references.{name}: measured, expected as a field beside q and v"
            raise InputError(message, f"references.{name}")
        if name in fields and name not in controller.measured:
            listed = ", ".join(controller.measured) or "nothing beside q and v"
            raise InputError(f"{name}: law {controller.name!r} measures {listed}", name)
    measured = {name: fields[name] for name in MEASURED if name in fields}
    return vars(controller.torque(fields["q"], fields["v"], **references, **measured))
