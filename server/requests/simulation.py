"""`simulate`: a robot over time, in the worker process."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.input_checks import Fields, mapping, number, text
from torqued.kernels.integration.simulation import step_count
from torqued.server.access.rights import COMMAND, READ
from torqued.server.requests.batch import Report
from torqued.server.requests.constraints import contacts
from torqued.server.requests.fields import in_coordinates
from torqued.server.requests.limits import Cost, at_most, fits_into_a_reply
from torqued.server.requests.operation import operation


def right_to_simulate(message: Fields) -> str:
    """A law needs the right to command, as in `control`."""
    return COMMAND if message.get("law") is not None else READ


def cost_of_simulation(robot: Robot, fields: Fields) -> Cost:
    """Always the worker's; what is too long is refused at once."""
    steps, _ = step_count(number("seconds", fields["seconds"]), number("dt", fields["dt"]))
    at_most("steps", steps)
    every = fields.get("every", 1)
    recorded = steps // every + 1 if isinstance(every, int) and every > 0 else steps
    size = 8 * recorded * (robot.nq + 2 * robot.nv + 1)
    fits_into_a_reply(size, "record fewer steps, with every")
    return Cost(size, float("inf"))


@operation(cost_of_simulation, right_to_simulate)
def simulate(robot: Robot, fields: Fields, report: Report) -> dict[str, Any]:
    """States and torques over time; reports each step."""
    held = contacts(fields) if "contacts" in fields else ()
    found = in_coordinates(robot, fields).simulate(
        fields["q"],
        fields.get("v"),
        acting(robot, fields),
        fields["seconds"],
        fields["dt"],
        text(fields, "method", "rkmk4"),
        held,
        fields.get("every", 1),
        report,
    )
    return asdict(found)


def acting(robot: Robot, fields: Fields) -> Any:
    """Torques, or a law with its references."""
    if "law" not in fields:
        for name in ("gains", "references"):
            if name in fields:
                raise InputError(f"{name}: given without a law", name, None, "a law")
        return fields.get("tau")
    if "tau" in fields:
        message = "tau: not together with a law, expected one of the two"
        raise InputError(message, "tau", None, "absent")
    if text(fields, "coordinates", "native") != "native":
        message = "coordinates: laws take native ones, expected 'native' or tau in place of a law"
        raise InputError(message, "coordinates", None, "native")
    settings = {"gains": fields["gains"]} if "gains" in fields else {}
    law = Controller(robot, text(fields, "law", ""), **settings)
    if not law.law.is_torque:
        raise InputError("law: a stream gives no torques", "law", law.name, "a law with torques")
    references = mapping(fields, "references")
    if references:
        law.take_state(fields["q"], fields.get("v", np.zeros(robot.nv)), 0.0, references)
    return law
