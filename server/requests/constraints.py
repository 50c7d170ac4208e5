"""Operations with constraints: contacts, loops and rows, as maps in one list.

A map with G is rows, one with `held` or the kind of a loop is a loop, any other a contact.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels import Contact, Loop, Robot, Rows
from torqued.kernels.constraints.types import LOOP_KINDS
from torqued.kernels.contacts.types import KINDS, ContactForce, ContactSolution
from torqued.kernels.input_checks import Fields, choice
from torqued.kernels.robot.constraint_set import Constraint
from torqued.server.requests.fields import in_coordinates, members, wrenches
from torqued.server.requests.limits import Cost, at_most
from torqued.server.requests.operation import operation

#: Members on the wire, as in `Contact`, `Loop` and `Rows`, and what they have to be.
PLACES = {"frame": "text", "other": "text", "point": "numbers", "other_point": "numbers"}
GAINS = {"stiffness": "number", "damping": "number"}
SHARED = {**PLACES, "target": "numbers", **GAINS}
CONTACT = {
    **{"kind": "text", "normal": "numbers", "friction": "number", "half_size": "numbers"},
    **SHARED,
}
LOOP = {"kind": "text", "held": "texts", "axis": "numbers", **SHARED}
ROWS = {"G": "numbers", "gamma": "numbers", "position": "numbers", **GAINS}

#: As `Robot.assemble` has them.
TOLERANCE, ITERATIONS = 1e-10, 100


def cost_of_terms(robot: Robot, fields: Fields) -> Cost:
    """By the rows of all constraints."""
    m, n = constraint_rows(fields, "constraints"), robot.nv
    return Cost(8 * m * (n + 3), 2e-4 + 5e-5 * m + 1e-8 * m * n)


@operation(cost_of_terms)
def constraint_terms(robot: Robot, fields: Fields) -> dict[str, Any]:
    found = in_coordinates(robot, fields).constraint_terms(
        fields["q"],
        fields["v"],
        constraints(fields),
    )
    return {name: getattr(found, name) for name in ("G", "position", "velocity", "gamma")}


def cost_of_assembly(robot: Robot, fields: Fields) -> Cost:
    """By the steps that it may take, each of which solves for all rows."""
    iterations = fields.get("iterations", ITERATIONS)
    steps = max(0, iterations) if isinstance(iterations, int) else 0
    at_most("search", steps)
    one = cost_of_torques(robot, fields).seconds
    return Cost(8 * (robot.nq + robot.nv), one * (1 + steps))


@operation(cost_of_assembly)
def assemble(robot: Robot, fields: Fields) -> dict[str, Any]:
    found = in_coordinates(robot, fields).assemble(
        fields["q"],
        constraints(fields),
        fields.get("v"),
        fields.get("weights"),
        fields.get("tolerance", TOLERANCE),
        fields.get("iterations", ITERATIONS),
    )
    return {
        "q": found.q,
        "v": found.v,
        "position_error": found.error,
        "velocity_error": found.speed,
        "iterations": found.iterations,
        "converged": found.converged,
    }


def cost_of_torques(robot: Robot, fields: Fields) -> Cost:
    """By the size of its singular value decompositions."""
    m, n = constraint_rows(fields, "constraints"), robot.nv
    return Cost(8 * (3 * n + m), cost_of_terms(robot, fields).seconds + 1e-3 + 2e-8 * (m + n) ** 3)


@operation(cost_of_torques)
def constrained_inverse_dynamics(robot: Robot, fields: Fields) -> dict[str, Any]:
    found = in_coordinates(robot, fields).constrained_inverse_dynamics(
        fields["q"],
        fields["v"],
        fields["a"],
        constraints(fields),
        fields.get("actuated"),
        fields.get("weights"),
        wrenches(fields),
    )
    return {
        "tau": found.tau,
        "efforts": found.efforts,
        "a": found.a,
        "force": found.force,
        "exact": found.exact,
        "acceleration_error": found.error,
        "fully_actuated": found.fully_actuated,
    }


def contacts(fields: Fields) -> list[Constraint]:
    """The field contacts, with loops and rows among them."""
    return constraints(fields, "contacts")


def only_contacts(fields: Fields) -> list[Contact]:
    """The same for derivatives, which only contacts have."""
    given = contacts(fields)
    for k, item in enumerate(given):
        if not isinstance(item, Contact):
            what, wanted = type(item).__name__, "a contact; loops and rows have no derivatives here"
            message = f"contacts[{k}]: {what}, expected {wanted}"
            raise InputError(message, "contacts", None, wanted)
    return [item for item in given if isinstance(item, Contact)]


def constraints(fields: Fields, name: str = "constraints") -> list[Constraint]:
    """A list of maps with the members of `Contact`, `Loop` or `Rows`."""
    value = fields[name]
    at_most(name, len(value))
    at_most("rows", constraint_rows(fields, name))
    if not value:
        message = f"{name}: empty, expected at least one; forward_dynamics is for none"
        raise InputError(message, name, None, "at least one")
    return [_constraint(name, f"{name}[{k}]", item) for k, item in enumerate(value)]


def _constraint(field: str, name: str, item: dict[Any, Any]) -> Constraint:
    if item.get("G") is not None:
        given = members(field, name, item, ROWS, "G", "gamma")
        terms = [given.pop(key) for key in ("G", "gamma", "position") if key in given]
        return Rows(tuple(terms), **given)
    if isinstance(item.get("kind"), str):
        choice(f"{name}.kind", item["kind"], (*KINDS, *LOOP_KINDS))
    if is_loop(item):
        return Loop(**members(field, name, item, LOOP, "frame"))
    return Contact(**members(field, name, item, CONTACT, "frame"))


def is_loop(item: Mapping[Any, Any]) -> bool:
    kind = item.get("kind")
    return item.get("held") is not None or (isinstance(kind, str) and kind in LOOP_KINDS)


def verdicts(given: list[Constraint], solution: ContactSolution) -> dict[str, list[bool | None]]:
    """Flags of each constraint; nil where a flag does not apply."""
    forces = iter(solution.contacts)
    own = [None if isinstance(item, Rows) else next(forces) for item in given]
    touching = [found if isinstance(found, ContactForce) else None for found in own]

    def each(name: str, of: list[Any]) -> list[bool | None]:
        return [None if found is None else getattr(found, name) for found in of]

    judged = {name: each(name, touching) for name in ("pulls", "slips", "tips")}
    return {"redundant": each("redundant", own), **judged}


def constraint_rows(fields: Mapping[str, Any], name: str) -> int:
    """Rows of all constraints of a request, or more; none where they are something else."""
    value = fields.get(name)
    if not isinstance(value, list):
        return 0
    return sum(_rows(item) for item in value if isinstance(item, Mapping))


def _rows(item: Mapping[Any, Any]) -> int:
    G = item.get("G")
    if isinstance(G, list) or (isinstance(G, np.ndarray) and G.ndim):
        return len(G)
    kind = item.get("kind")
    return KINDS.get(kind, 6) if isinstance(kind, str) else 6
