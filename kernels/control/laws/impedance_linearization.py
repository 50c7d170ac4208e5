"""Impedance control at rest, at many poses: δτ = −K δq − D δv, for the check of its gains.

    K = Jᵀ K_x J + N K_n,     D = Jᵀ D_x J + r (M − Jᵀ Λ_γ J) + N D_n Nᵀ

The same matrices as frame_damping.py and task_space.py fill at each tick, for all poses at once.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.kernels.control.frame_mobility import frame_mobility
from torqued.kernels.control.law import Array, Fields, Gains
from torqued.kernels.control.laws.frame_damping import FASTEST, MIN_RATIO
from torqued.kernels.control.laws.task_space import REGULAR, SINGULAR
from torqued.kernels.control.poses import Poses

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot


def linearized(
    robot: Robot, gains: Gains, fields: Fields, poses: Poses, first: int, rows: int
) -> tuple[Array, Array]:
    """K and D (N, nv, nv), of a frame controlled in `rows` rows of its twist from `first` on."""
    name, point = fields["frame"], fields.get("point")
    part = slice(first, first + rows)
    scale = np.repeat(1.0 / np.sqrt(frame_mobility(robot, name, point).typical), 3)[part]
    found = [
        at_pose(robot, gains, scale, part, name, point, q, M)
        for q, M in zip(poses.q, poses.M, strict=True)
    ]
    return np.array([K for K, _ in found]), np.array([D for _, D in found])


def at_pose(
    robot: Robot, gains: Gains, scale: Array, part: slice, name: str, point: Any, q: Array, M: Array
) -> tuple[Array, Array]:
    J = robot.frame_jacobian(q, name, point=point)[part]
    R = robot.frame_pose(q, name)[:3, :3]
    X = np.linalg.solve(M, J.T).T  # J M⁻¹
    A = J @ X.T
    counted = counted_inertia(A, scale)
    null = np.eye(len(M)) - J.T @ counted @ X
    stiffness, own, root = np.zeros((6, 6)), np.zeros((6, 6)), np.zeros((6, 6))
    turn = R @ np.linalg.cholesky(gains["rotational_stiffness"])
    move = np.linalg.cholesky(gains["stiffness"])
    for block, factor, damping, ratio in (
        (slice(0, 3), turn, gains["rotational_damping"], gains["damping_ratio"][1]),
        (slice(3, 6), move, gains["damping"], gains["damping_ratio"][0]),
    ):
        stiffness[block, block] = factor @ factor.T
        own[block, block], root[block, block] = damping, ratio * factor
    rate = float(gains["joint_damping"][0])
    D_x = own[part, part] + designed(A, root[part, part], rate)
    # Of the posture's spring, whose fastest mode is no faster than √ tr M⁻¹ K_n.
    trace = float(np.diag(np.linalg.inv(M)) @ np.diag(gains["posture_stiffness"]))
    joints = max(rate, min(MIN_RATIO * np.sqrt(max(trace, 0.0)), FASTEST))
    K = J.T @ stiffness[part, part] @ J + null @ gains["posture_stiffness"]
    D = joints * M + J.T @ (D_x - joints * counted) @ J
    return K, D + null @ gains["posture_damping"] @ null.T


def counted_inertia(A: Array, scale: Array) -> Array:
    """Λ_γ from J M⁻¹ Jᵀ: without directions that are about to be lost."""
    g, Z = np.linalg.eigh(scale[:, None] * A * scale)
    x = np.clip((g - SINGULAR) / (REGULAR - SINGULAR), 0.0, 1.0)
    gamma = x * x * (3.0 - 2.0 * x)
    Z = scale[:, None] * Z
    return np.asarray(Z * (gamma / np.maximum(g, SINGULAR)) @ Z.T)


def designed(A: Array, root: Array, least: float) -> Array:
    """D_x that damps every mode of `root` rootᵀ, the stiffness times the ratio's square."""
    squares, Z = np.linalg.eigh(root.T @ A @ root)
    shown = squares > 1e-12 * squares.max(initial=0.0)
    modes = root @ Z[:, shown]
    rates = np.minimum(np.maximum(2.0 * np.sqrt(squares[shown]), least), FASTEST)
    return np.asarray(modes * (rates / squares[shown]) @ modes.T)
