"""Rotation matrices from and to the notations that robot files use."""

from __future__ import annotations

import math

import numpy as np

from torqued.kernels.model.description import Array


def rotation_from_rpy(roll: float, pitch: float, yaw: float) -> Array:
    """R = Rz(yaw) Ry(pitch) Rx(roll): URDF's turns about the fixed axes x, then y, then z."""
    cr, sr = math.cos(roll), math.sin(roll)
    cp, sp = math.cos(pitch), math.sin(pitch)
    cy, sy = math.cos(yaw), math.sin(yaw)
    return np.array(
        [
            [cy * cp, cy * sp * sr - sy * cr, cy * sp * cr + sy * sr],
            [sy * cp, sy * sp * sr + cy * cr, sy * sp * cr - cy * sr],
            [-sp, cp * sr, cp * cr],
        ]
    )


def rpy_from_rotation(R: Array) -> tuple[float, float, float]:
    """Roll, pitch, yaw of a rotation matrix, accurate at pitch = ±90° as well."""
    yaw = math.atan2(R[1, 0], R[0, 0])
    pitch = math.atan2(-R[2, 0], math.hypot(R[0, 0], R[1, 0]))
    # Roll is read from Rz(-yaw) R: near pitch = ±90°, where yaw is ill-defined, it makes up for it.
    cy, sy = math.cos(yaw), math.sin(yaw)
    roll = math.atan2(sy * R[0, 2] - cy * R[1, 2], cy * R[1, 1] - sy * R[0, 1])
    return roll, pitch, yaw


def rotation_from_quaternion(x: float, y: float, z: float, w: float) -> Array:
    """Of a quaternion of any length but zero."""
    x, y, z, w = np.array([x, y, z, w]) / math.hypot(x, y, z, w)
    return np.array(
        [
            [1 - 2 * (y * y + z * z), 2 * (x * y - z * w), 2 * (x * z + y * w)],
            [2 * (x * y + z * w), 1 - 2 * (x * x + z * z), 2 * (y * z - x * w)],
            [2 * (x * z - y * w), 2 * (y * z + x * w), 1 - 2 * (x * x + y * y)],
        ]
    )
