"""A robot at rest on its feet in random stances, linearized: what its contacts leave free.

With the contacts' Jacobian J and a basis N of its null space, forces f that balance weight and
torque, and q = q₀ ⊕ N z the robot moves by

    Nᵀ M N z̈ + Nᵀ ∂/∂q (g − Jᵀ f) N z = Nᵀ δτ

f stays as it is in world axes; what it changes by does no work along N.
"""

from __future__ import annotations

import numpy as np

from torqued.kernels import Robot
from torqued.kernels.model.description import Array
from torqued.tools.demos.generalize_stability import (
    STRAINED,
    Pose,
    differences,
    free_motion,
)
from torqued.tools.demos.generalize_stance import Leg, Stance, settle

#: Of the legs' length, how far they are bent; rad, how far the base is turned; of the range of
#: joints that are no legs, how much is used.
BENT, TURN, RANGE = (0.78, 0.94), 0.15, 0.5
ITERATIONS, CLOSE, TRIES = 40, 1e-3, 20  # CLOSE: m or rad


def stances(robot: Robot, stance: Stance, count: int, seed: int = 1) -> list[Pose]:
    """Random ones that legs reach and other joints hold; those found of `TRIES` times as many."""
    rng = np.random.default_rng(seed)
    free = sorted(set(range(6, robot.nv)) - {k for leg in stance.legs for k in leg.joints})
    found: list[Pose] = []
    for _ in range(TRIES * count):
        if len(found) == count:
            break
        start = varied(robot, stance, rng)
        bent = rng.uniform(*BENT)
        held = np.abs(robot.gravity(start))[free] <= STRAINED * robot.limits.effort[free]
        if not held.all():
            continue
        q, off = settle(robot, stance.legs, start, stance.flat, bent, ITERATIONS)
        if off < CLOSE:
            found.append(linearized(robot, stance, q))
    return found


def varied(robot: Robot, stance: Stance, rng: np.random.Generator) -> Array:
    """The base turned, and joints that are no legs anywhere in the middle of their range."""
    turn = np.zeros(robot.nv)
    turn[:3] = rng.uniform(-TURN, TURN, 3)
    q = robot.integrate(stance.q, turn, 1.0)
    other = robot.random_state(rng)[0]
    legs = {k for leg in stance.legs for k in leg.joints}
    for k in range(6, robot.nv):
        if k not in legs:
            q[k + 1] += RANGE * (other[k + 1] - q[k + 1])
    return q


def contact_rows(robot: Robot, legs: tuple[Leg, ...], flat: bool, q: Array) -> Array:
    """J (k, nv) of flat feet in six and of round ones in three directions, world axes."""
    rows = [robot.frame_jacobian(q, leg.frame) for leg in legs]
    return np.vstack(rows if flat else [J[3:] for J in rows])


def linearized(robot: Robot, stance: Stance, q: Array) -> Pose:
    J = contact_rows(robot, stance.legs, stance.flat, q)
    _, sizes, right = np.linalg.svd(J)
    rank = int((sizes > 1e-9 * sizes[0]).sum())
    N = right[rank:].T
    # Forces that balance the base; how they are shared out is up to the law, and matters little.
    f = np.linalg.lstsq(J.T[:6], robot.gravity(q)[:6], rcond=None)[0]

    def unbalanced(at: Array) -> Array:
        return robot.gravity(at) - contact_rows(robot, stance.legs, stance.flat, at).T @ f

    stiffness = N.T @ differences(robot, q, unbalanced, N)
    mass_inverse = np.linalg.inv(N.T @ robot.mass_matrix(q) @ N)
    return Pose(q, N, *free_motion(mass_inverse @ stiffness, mass_inverse))
