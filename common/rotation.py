"""Rotations and poses as both sides of the wire have them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from torqued.common.errors import InputError

Array = NDArray[np.float64]

#: How far RᵀR of a rotation may be from the identity, and the last row of a pose from 0 0 0 1.
ROTATION_TOLERANCE = 1e-6


def check_rotation(name: str, R: Array, tolerance: float = ROTATION_TOLERANCE) -> None:
    """Refuse a matrix (3, 3) that is not a rotation."""
    wanted = "orthonormal columns and determinant 1"
    with np.errstate(over="ignore", invalid="ignore"):  # numbers so large that they overflow
        off = float(np.abs(R.T @ R - np.eye(3)).max())
    if not off <= tolerance:
        message = f"{name}: not a rotation, RᵀR differs from the identity by {off:.3g}"
        raise InputError(f"{message}, expected {wanted}", name, off, wanted)
    if np.linalg.det(R) < 0.0:
        message = f"{name}: not a rotation but a reflection, its determinant is -1"
        raise InputError(f"{message}, expected {wanted}", name, -1.0, wanted)


def check_pose(name: str, pose: Array, tolerance: float = ROTATION_TOLERANCE) -> None:
    """Refuse a matrix (4, 4) that is not the pose of a frame."""
    check_rotation(name, pose[:3, :3], tolerance)
    if not np.abs(pose[3] - (0.0, 0.0, 0.0, 1.0)).max() <= tolerance:
        row, wanted = " ".join(f"{x:.4g}" for x in pose[3]), "0 0 0 1"
        hint = "" if pose[:3, 3].any() else "; is it transposed?"
        message = f"{name}: not a pose, its last row is {row}, expected {wanted}{hint}"
        raise InputError(message, name, row, wanted)


def quaternion(R: Array) -> Array:
    """x y z w of a rotation matrix."""
    (a, b, c), (d, e, f), (g, h, i) = R
    # Each row is the quaternion times four of its parts; the largest loses no digits.
    rows = np.array(
        [
            [1 + a - e - i, b + d, c + g, h - f],
            [b + d, 1 - a + e - i, f + h, c - g],
            [c + g, f + h, 1 - a - e + i, d - b],
            [h - f, c - g, d - b, 1 + a + e + i],
        ]
    )
    best: Array = rows[np.argmax(np.diag(rows))]
    return best / np.linalg.norm(best)
