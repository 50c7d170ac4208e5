"""The operation `inverse_kinematics`: targets as maps, in `batch` with one value for each state."""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.kernels import Robot, Target
from torqued.kernels.input_checks import Fields
from torqued.server.requests.fields import in_coordinates, is_numbers, members
from torqued.server.requests.limits import Cost, at_most
from torqued.server.requests.operation import operation

#: Members of a target, on the wire as in `Target`, and what they have to be.
MEMBERS = {
    **{"value": "numbers", "frame": "text", "kind": "text", "point": "numbers", "axes": "text"},
    **{"weight": "numbers", "radian": "number", "priority": "integer"},
}

#: Dimensions of a target's value by its kind; of a batch, it may have one more in front.
DIMENSIONS = {"pose": 2, "position": 1, "orientation": 2, "com": 1, "posture": 1}

#: As `Robot.inverse_kinematics` has them.
ITERATIONS, RESTARTS = 100, 20


def cost_of_search(robot: Robot, fields: Fields) -> Cost:
    """By the steps that it may take, each of which solves for all rows."""
    counts = [fields.get("iterations", ITERATIONS), fields.get("restarts", RESTARTS)]
    iterations, restarts = (max(0, x) if isinstance(x, int) else 0 for x in counts)
    value = fields.get("targets")
    rows = 6 * len(value) if isinstance(value, list) else 0
    steps = iterations * (1 + restarts)
    at_most("search", steps)
    per_step = 2e-6 + 2e-8 * rows * (robot.nv + rows)
    return Cost(8 * (robot.nq + rows), 1e-4 + steps * per_step)


@operation(cost_of_search)
def inverse_kinematics(robot: Robot, fields: Fields) -> dict[str, Any]:
    found = in_coordinates(robot, fields).inverse_kinematics(
        targets(fields),
        fields["q"],
        fields.get("tolerance", 1e-6),
        fields.get("iterations", ITERATIONS),
        fields.get("restarts", RESTARTS),
        seed=fields.get("seed", 0),
    )
    return {
        "q": found.q,
        "status": found.status,
        "errors": found.errors,
        "left_over": list(found.left_over),
        "reached": list(found.reached),
        "iterations": found.iterations,
        "starts": found.starts,
    }


def targets(fields: Fields) -> list[Target]:
    """The field targets: a list of maps with the members of `Target`."""
    value = fields["targets"]
    at_most("targets", len(value))
    return [
        Target(**members("targets", f"targets[{k}]", item, MEMBERS, "value"))
        for k, item in enumerate(value)
    ]


class TargetStacks:
    """The targets of a batch: values that have one more dimension are of the states."""

    def __init__(self, fields: Fields) -> None:
        value = fields.get("targets")
        self._targets: list[dict[Any, Any]] = value if isinstance(value, list) else []
        #: By place in the list: values, a row for each state.
        self.stacks: dict[int, Any] = {}
        for k, item in enumerate(self._targets):
            kind, values = item.get("kind", "pose"), item.get("value")
            if not isinstance(kind, str) or kind not in DIMENSIONS or not is_numbers(values):
                continue  # refused with the first state
            try:
                array = np.asarray(values, np.float64)
            except ValueError:
                continue
            if array.ndim == DIMENSIONS[kind] + 1:
                self.stacks[k] = array

    def fields(self, k: int) -> dict[str, Any]:
        """Those of one state."""
        if not self.stacks:
            return {}
        return {
            "targets": [
                item | {"value": self.stacks[place][k]} if place in self.stacks else item
                for place, item in enumerate(self._targets)
            ]
        }
