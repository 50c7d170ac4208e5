"""Impedance control at rest, at many poses: δτ = −K δq − D δv, for the check of its gains.

    K = Jᵀ K_x J + N K_n,     D = Jᵀ D_x J + r (M − Jᵀ Λ_γ J) + N D_n Nᵀ

The same matrices as frame_damping.py and task_space.py fill at each tick, for all poses at once.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from torqued.kernels.control.frame_mobility import frame_mobility
from torqued.kernels.control.joint_limits import joint_limits
from torqued.kernels.control.law import Array, Fields, Gains
from torqued.kernels.control.laws.frame_damping import FASTEST, MIN_RATIO, SLOWEST, SOFTEST
from torqued.kernels.control.laws.frame_force import DAMPING_RATE, force_axes, in_frame
from torqued.kernels.control.laws.joint_ends import SHARE, STIFFER, ZONE
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
    scale = np.repeat(1.0 / np.sqrt(frame_mobility(robot, name, point).typical), 3)
    limits, found = joint_limits(robot), []
    zone = np.minimum(ZONE, SHARE * (limits.upper - limits.lower))
    for q, M in zip(poses.q, poses.M, strict=True):
        J, R = robot.frame_jacobian(q, name, point=point), robot.frame_pose(q, name)[:3, :3]
        T = R if in_frame(fields) else np.eye(3)  # the reference is where the frame is
        at = q[limits.coordinate]  # where there is none, limits are infinite
        ends = (at > limits.upper - zone) | (at < limits.lower + zone)
        posture = gains["posture_stiffness"]
        posture = posture + STIFFER * np.diag(ends * np.diag(posture))
        found.append(at_pose(gains, posture, force_axes(fields), scale, part, J, R, T, M))
    return np.array([K for K, _ in found]), np.array([D for _, D in found])


def at_pose(
    gains: Gains,
    posture: Array,
    force: Array,
    scale: Array,
    part: slice,
    J: Array,
    R: Array,
    T: Array,
    M: Array,
) -> tuple[Array, Array]:
    """K and D for the stiffness of the posture and ends, the Jacobian J (6, nv) of the frame, its
    axes R, and T: those of its gains."""
    whole = J @ np.linalg.solve(M, J.T)
    J = J[part]
    X = np.linalg.solve(M, J.T).T  # J M⁻¹
    A = J @ X.T
    counted = counted_inertia(A, scale[part])
    null = np.eye(len(M)) - J.T @ counted @ X
    turn, Q = np.kron(np.eye(2), T), T.T @ R
    stiffness, own = gains["coupled_stiffness"].copy(), np.zeros((6, 6))
    stiffness[:3, :3] += Q @ gains["rotational_stiffness"] @ Q.T
    stiffness[3:, 3:] += gains["stiffness"]
    blocks = (slice(0, 3), slice(3, 6))
    largest = np.array([stiffness[block, block].diagonal().max() for block in blocks])
    least = np.repeat(np.maximum(SOFTEST * largest, (SLOWEST * scale[::3]) ** 2), 3)
    root = turn @ root_of(stiffness, least) * np.repeat(gains["damping_ratio"][::-1], 3)
    for block, name in zip(blocks, ("rotational_damping", "damping"), strict=True):
        own[block, block] = T @ gains[name] @ T.T
        for k in np.flatnonzero(force[block]):
            along = T[:, k]
            mobility = max(along @ whole[block, block] @ along, 1e-6 / scale[block][0] ** 2)
            own[block, block] += DAMPING_RATE / mobility * np.outer(along, along)
    rate = float(gains["joint_damping"][0])
    D_x = own[part, part] + designed(A, root[part, part], rate)
    # Of the posture's spring, whose fastest mode is no faster than √ tr M⁻¹ K_n.
    trace = float(np.diag(np.linalg.inv(M)) @ np.diag(gains["posture_stiffness"]))
    joints = max(rate, min(MIN_RATIO * np.sqrt(max(trace, 0.0)), FASTEST))
    K = J.T @ (turn @ stiffness @ turn.T)[part, part] @ J + null @ posture
    D = joints * M + J.T @ (D_x - joints * counted) @ J
    return K, D + null @ gains["posture_damping"] @ null.T


def root_of(K: Array, least: Array) -> Array:
    """B (6, 6) with K = B Bᵀ and pivots of at least `least` (6,), as `fill_root` has it."""
    B = np.zeros((6, 6))
    for c in range(5, -1, -1):
        B[c, c] = math.sqrt(max(K[c, c] - B[c] @ B[c], least[c]))
        B[:c, c] = (K[:c, c] - B[:c] @ B[c]) / B[c, c]
    return B


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
