"""What the parts of a robot weigh that stands on its feet: for default gains.

A base whose feet are held turns with little more than its own inertia: arms and trunk hang on
joints that give way, and legs are light. That is up to a hundred times less than what the whole
robot has about its center of mass, and what a late torque must not shake.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.control.law import Array
from torqued.kernels.control.mass_inverse import mass_inverse

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Configurations that are looked at: the neutral one and others around it, rad from it at most.
SAMPLES, AROUND = 12, 0.5
#: What counts as a direction that contacts hold, relative to the largest.
HELD = 1e-6
#: m, from a joint to a point that it moves.
FARTHEST = 1e6

#: Points (k, 3) of a contact, by the name of its frame.
Feet = Sequence[tuple[str, Array]]


class Weights(NamedTuple):
    """Of rotations or translations: in the direction that is lightest, and in the heaviest."""

    light: float
    heavy: float


def around_neutral(robot: Robot) -> list[Array]:
    """Configurations that a robot may stand in; always the same ones."""
    rng = np.random.default_rng(0)
    found = [robot.neutral()]
    for _ in range(SAMPLES - 1):
        change = rng.uniform(-AROUND, AROUND, robot.nv)
        change[:6] = 0.0
        found.append(np.asarray(robot.integrate(robot.neutral(), change, 1.0)))
    return found


def held_inverse(robot: Robot, q: Array, feet: Feet) -> Array:
    """(nv, nv) what torques accelerate by, while points of the feet stay where they are."""
    J = np.vstack(
        [robot.frame_jacobian(q, frame, point=p)[3:] for frame, points in feet for p in points]
    )
    if not np.abs(J).max() < FARTHEST:
        raise InputError("contacts: points too far away from their frames", "contacts")
    W = mass_inverse(robot, q)
    held = J @ W @ J.T
    return np.asarray(W - W @ J.T @ np.linalg.pinv(held, rcond=HELD, hermitian=True) @ J @ W)


def base_inertia(robot: Robot, feet: Feet) -> Weights:
    """kg m², of the base's rotations with all feet held, and with all but one."""
    fewer = [[*feet[:k], *feet[k + 1 :]] for k in range(len(feet))] if len(feet) > 1 else []
    light, heavy = [], []
    for q in around_neutral(robot):
        for held in (feet, *fewer):
            # Eigenvalues are the same in the base's axes and in the world's.
            values = np.linalg.eigvalsh(held_inverse(robot, q, held)[:3, :3])
            light.append(1.0 / max(values[-1], 1e-12))
            heavy.append(1.0 / max(values[0], HELD * values[-1], 1e-12))
    return Weights(float(np.min(light)), float(np.median(heavy)))


def limb_inertia(robot: Robot, frame: str, point: Array | None) -> tuple[Weights, Weights]:
    """kg m² and kg, of a frame that is moved by the joints between it and the base alone."""
    found: list[list[Any]] = [[], []]
    for q in around_neutral(robot):
        J = np.array(robot.frame_jacobian(q, frame, point=point))
        J[:, :6] = 0.0
        if not np.abs(J).max() < FARTHEST:
            raise InputError("point: too far away from its frame", "tasks", None, "metres")
        A = J @ mass_inverse(robot, q) @ J.T
        for k in range(2):
            found[k].append(np.linalg.eigvalsh(A[3 * k : 3 * k + 3, 3 * k : 3 * k + 3]))
    weights = []
    for values in map(np.array, found):
        most = float(values.max())
        least = np.median(values, axis=0)
        movable = least[least > HELD * most]
        light = 1.0 / max(most, 1e-12)
        weights.append(Weights(light, float(1.0 / movable.min()) if len(movable) else light))
    return weights[0], weights[1]
