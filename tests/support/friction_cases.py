"""A box on the ground that is pushed, and what has to hold of any contact with friction."""

from __future__ import annotations

import numpy as np

from oracles.contact_kkt import rows_of
from support.agreement import largest
from support.contact_cases import SIZE, box, corners, standing
from torqued.kernels import Contact, Robot
from torqued.kernels.contacts.types import FrictionSolution
from torqued.kernels.model.description import Array

G, MASS, DT = 9.81, 2.0, 1e-3
HEIGHT = SIZE[2] / 2.0


def solve(
    tau: Array, friction: float = 0.5, v: Array | None = None, **options: float
) -> FrictionSolution:
    """The box of `box()` on the ground, with forces at its middle in world axes."""
    options = {"tolerance": 1e-12, **options}
    robot = box(MASS)
    v = np.zeros(6) if v is None else v
    return robot.friction_dynamics(
        standing(robot, HEIGHT), v, tau, corners(friction), DT, **options
    )


def pushed(x: float = 0.0, y: float = 0.0, z: float = 0.0) -> Array:
    return np.array([0.0, 0.0, 0.0, x, y, z])


def total_force(solution: FrictionSolution) -> Array:
    return np.sum([force.axes @ force.force for force in solution.contacts], axis=0)


def conditions(
    robot: Robot, q: Array, v: Array, contacts: list[Contact], solution: FrictionSolution
) -> None:
    """Signorini's and Coulomb's, from the result alone."""
    step = v + DT * solution.a
    terms = robot.contact_dynamics(q, v, np.zeros(robot.nv), contacts)
    w = terms.G @ step - DT * terms.gamma  # velocities at the end of the step
    # What no motion of the robot can have is left out of w.
    w = w - _out_of_reach(terms.inverse_inertia, w)
    off = 20.0 * max(solution.residual, 1e-9) + 1e-9 * largest(w)
    for contact, rows in zip(contacts, rows_of(contacts), strict=True):
        force, velocity = solution.force[rows], w[rows]
        size = 1.0 + abs(force[-1])
        assert force[-1] >= 0.0
        assert velocity[-1] >= -off
        assert force[-1] * velocity[-1] <= off * size * 10
        if contact.kind == "normal":
            continue
        limit = contact.friction * force[-1]
        rubbing = np.hypot(*force[:2])
        assert rubbing <= limit * (1.0 + 1e-9) + 1e-12
        speed = np.hypot(*velocity[:2])
        if speed > 1e3 * off:
            assert rubbing >= limit * (1.0 - 1e-3) - 1e-6
            assert force[:2] @ velocity[:2] <= -(1.0 - 1e-3) * rubbing * speed + 1e-6 * size


def _out_of_reach(K: Array, w: Array) -> Array:
    values, vectors = np.linalg.eigh(K)
    idle = vectors[:, values <= 1e-10 * values[-1]]
    out: Array = idle @ (idle.T @ w)
    return out
