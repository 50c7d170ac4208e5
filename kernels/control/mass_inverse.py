"""Configurations that default gains are chosen by, and inverse mass matrices there."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torqued.kernels.control.law import Array

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Added to a mass matrix, relative to its diagonal: some files have links without mass.
WEIGHTLESS = 1e-9


def configurations(robot: Robot, count: int) -> list[Array]:
    """The neutral one, which is often singular, and random ones; always the same."""
    rng = np.random.default_rng(0)
    return [robot.neutral(), *(robot.random_state(rng)[0] for _ in range(count - 1))]


def mass_inverse(robot: Robot, q: Array) -> Array:
    """M⁻¹ (nv, nv), of a robot whose links need not all have mass."""
    M = robot.mass_matrix(q)
    floor = WEIGHTLESS * (np.diag(M) + np.trace(M) / len(M))
    return np.asarray(np.linalg.inv(M + np.diag(floor)))
