"""Estimates of a request's cost, from its fields, before anything is computed.

Fields have not been checked yet: a value that should be a list and is not counts as empty, and is
refused later. Times are those of a slow processor.
"""

from __future__ import annotations

import math

import numpy as np

from torqued.kernels import Robot
from torqued.kernels.dynamics.quantities import QUANTITIES, sized
from torqued.kernels.input_checks import Fields
from torqued.kernels.robot.frames import MAX_ORDER
from torqued.server.requests.constraints import constraint_rows
from torqued.server.requests.limits import Cost, at_most, contact_points

#: Bytes of a number in a reply.
NUMBER = 8
#: Of `dynamics`.
DEFAULT_WANT = ("M", "C", "g")


def dynamics(robot: Robot, fields: Fields) -> Cost:
    """By the quantities and frames that are wanted."""
    want = fields.get("want", DEFAULT_WANT)
    count, n = length(fields, "frames"), robot.nv
    numbers = 0
    for word in dict.fromkeys(want):
        known = word in QUANTITIES  # others are refused later
        numbers += math.prod(sized(QUANTITIES[word], n, count)) if known else n
    return Cost(NUMBER * numbers, 1e-4 + 1e-8 * numbers)


def kinematics(robot: Robot, fields: Fields) -> Cost:
    """By its frames, and by the Jacobians and rates of each."""
    order = fields.get("order")
    matrices = order if isinstance(order, int) and 0 <= order <= MAX_ORDER else 1
    numbers = length(fields, "frames") * (16 + 6 * matrices * (1 + robot.nv))
    return Cost(NUMBER * numbers, 1e-4 + 2e-8 * numbers)


def solve_mass(robot: Robot, fields: Fields) -> Cost:
    """By the columns of b."""
    b = fields["b"]
    row = b[0] if isinstance(b, list) and b else None
    columns = len(row) if isinstance(row, list) else 1
    if isinstance(b, np.ndarray) and b.ndim == 2:
        columns = b.shape[1]
    at_most("b", columns)
    return Cost(NUMBER * robot.nv * columns, 1e-4 + 1.5e-7 * robot.nv * columns)


def contacts(robot: Robot, fields: Fields) -> Cost:
    """By the rows of all contacts: K = G M⁻¹ Gᵀ (m, m) is factorized, whose rank is at most nv."""
    m, n = constraint_rows(fields, "contacts"), robot.nv
    seconds = 1e-4 + 2.5e-5 * length(fields, "contacts") + 5e-8 * m**2 + 1e-9 * n * m**2
    return Cost(NUMBER * m * (m + n + 3), seconds)


#: Times that a chart's accelerations are differenced for one derivative.
CHART_DIFFERENCES = 12


def derivatives(robot: Robot, fields: Fields) -> Cost:
    """By the robot's size, its contacts, and whether coordinates have to be changed."""
    n, m = robot.nv, constraint_rows(fields, "contacts")
    size = (2 * n) ** 2 + 2 * n * (n + m) + 3 * n * (n + m)
    if fields.get("of") == "second_order":
        size = 4 * n**3
    if fields.get("of") in ("geometry", "inertia"):
        size = 10 * n * max(len(robot.model.joints), len(robot.model.bodies))
    seconds = 2e-4 + 2e-8 * n**3 + contacts(robot, fields).seconds + 5e-8 * (n + m) ** 2 * n
    if fields.get("coordinates", "native") != "native":
        seconds += 2e-4 * CHART_DIFFERENCES * n
    return Cost(NUMBER * size, seconds)


def control(robot: Robot, fields: Fields) -> Cost:
    """By the points of a whole-body law's contacts, and the steps that its solver may take."""
    forces = 3 * contact_points(fields)
    iterations = fields.get("iterations")
    steps = iterations if isinstance(iterations, int | float) else 200
    return Cost(0, 1e-3 + 5e-10 * forces**3 * max(1.0, steps / 200))


def length(fields: Fields, name: str) -> int:
    """Members of a list; none where it is something else."""
    value = fields.get(name)
    return len(value) if isinstance(value, list) else 0
