"""Why a whole-body solver found no torque: the rows that contradict each other, in words.

Rows are left out, one after the other, as long as there is no solution without them. What remains
has no solution, and would have one without any of its rows.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from torqued.kernels import Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.wholebody.balance import Balance
from torqued.kernels.control.wholebody.contacts import EDGES
from torqued.kernels.control.wholebody.daqp import EQUALITY, IGNORED, INEQUALITY, INFEASIBLE
from torqued.kernels.control.wholebody.layout import (
    CLASSES,
    CONTACT,
    DYNAMICS,
    FRICTION,
    JOINT,
    TORQUE,
)

AXES = ("angular x", "angular y", "angular z", "linear x", "linear y", "linear z")
SIDES = ("+ first tangent", "- first tangent", "+ second tangent", "- second tangent")


@dataclass
class Contradiction:
    """One failed tick."""

    index: int  # of the tick
    violated: str  # the class of constraints that could not be met
    iterations: int
    rows: list[str]


def contradiction(controller: Controller, index: int, found: dict[str, Any]) -> Contradiction:
    """The contradiction of the tick that a controller has just failed to solve."""
    owner = controller.prepared.owner
    violated = CLASSES[int(np.ravel(found["violated"])[0])]
    iterations = int(np.ravel(found["iterations"])[0])
    rows = [] if violated == "input" else contradicting_rows(owner)
    names = [row_name(controller, r) for r in rows]
    return Contradiction(index, violated, iterations, names)


def contradicting_rows(owner: Any) -> list[int]:
    """Rows of the last program that contradict each other, none to spare; none where it can be
    solved. Important ones are kept before others."""
    program, solver = owner.program, owner.solver
    n, count = (int(solver.problem[word][0]) for word in ("n", "m"))
    equal = program.lower[:count] == program.upper[:count]
    sense = np.where(equal, EQUALITY, INEQUALITY)

    def contradicts() -> bool:
        solver.sense[:count] = sense
        return bool(solver.solve(n, count) == INFEASIBLE)

    if not count or not contradicts():
        return []
    for r in np.argsort(-program.class_of[:count], kind="stable"):
        kept, sense[r] = sense[r], IGNORED
        if not contradicts():
            sense[r] = kept
    return [int(r) for r in np.flatnonzero(sense != IGNORED)]


def row_name(controller: Controller, r: int) -> str:
    """A row of the solver, by its class and what it is about."""
    owner = controller.prepared.owner
    sizes, program = owner.memory.sizes, owner.program
    kind, identity = int(program.class_of[r]), int(program.identity[r])
    joints = velocity_names(controller.robot)
    contacts = [repr(contact["frame"]) for contact in controller.fields.get("contacts") or ()]
    if kind == DYNAMICS:
        return f"dynamics of the base, {AXES[identity]}"
    if kind == TORQUE:
        most = program.effort[identity]
        return f"torque of {joints[identity]}, at most {most:.4g}"
    # `balance` has forces alone: its edges come first, those of `wholebody` after other rows.
    edges = 0 if isinstance(owner, Balance) else sizes.nv + sizes.contact_rows
    if kind == CONTACT:
        row = sizes.task_rows + identity - sizes.nv
        k = next(i for i, c in enumerate(program.contact) if c.row <= row < c.row + c.rows)
        return f"contact {contacts[k]} stays, row {row - int(program.contact[k].row)}"
    if kind == FRICTION:
        point, edge = divmod(identity - edges, EDGES)
        if point >= sizes.points:
            k = identity - edges - EDGES * sizes.points
            most = program.contact[k].most
            return f"normal force of contact {contacts[k]}, at most {most:.4g} N"
        k = next(i for i, c in enumerate(program.contact) if c.point <= point < c.point + c.points)
        corner = point - int(program.contact[k].point)
        return f"friction of contact {contacts[k]}, point {corner}, {SIDES[edge]}"
    assert kind == JOINT
    first = sizes.nv + sizes.contact_rows + EDGES * sizes.points + sizes.contacts
    i = identity - first
    low, high = program.lower[r], program.upper[r]
    return f"acceleration of {joints[i]} within its limits, {low:.4g} … {high:.4g}"


def velocity_names(robot: Robot) -> list[str]:
    """A name for each number of v."""
    names = [""] * robot.nv_free
    for joint in robot.model.joints:
        for k in range(joint.nv):
            of_several = f"{joint.name}, {AXES[k]}" if joint.nv == 6 else f"{joint.name}[{k}]"
            names[joint.v + k] = joint.name if joint.nv == 1 else of_several
    return [names[k] for k in robot.model.mimics.leaders_v]
