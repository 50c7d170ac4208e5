"""Every joint type as pose, motion subspace Φ and its apparent rate Φ̊: `jcalc` of [F16] eq. 39.

All in the child's own coordinates. `axis` is a unit vector, `q` and `v` are the joint's own.
"""

from __future__ import annotations

import math

import numpy as np

from .spatial import Array, skew

UNIT = {"x": np.eye(3)[0], "y": np.eye(3)[1], "z": np.eye(3)[2]}


def rotation_about(axis: Array, angle: float) -> Array:
    """Rodrigues' formula, axis of length one."""
    K = skew(axis)
    R: Array = np.eye(3) + np.sin(angle) * K + (1.0 - np.cos(angle)) * K @ K
    return R


def rotation_of_quaternion(quaternion: Array) -> Array:
    """Rotation matrix of a quaternion x y z w."""
    unit = quaternion / np.linalg.norm(quaternion)
    e, w = unit[:3], unit[3]
    R: Array = (w * w - e @ e) * np.eye(3) + 2.0 * np.outer(e, e) + 2.0 * w * skew(e)
    return R


def plane_axes(normal: Array) -> Array:
    """Rotation whose third column is `normal`: the least one that takes z there."""
    z = UNIT["z"]
    if np.linalg.norm(normal - z) < 1e-12:
        return np.eye(3)
    if np.linalg.norm(normal + z) < 1e-12:
        return np.diag([1.0, -1.0, -1.0])  # half a turn about x
    K = skew(np.cross(z, normal))
    A: Array = np.eye(3) + K + K @ K / (1.0 + z @ normal)
    return A


def pose(kind: str, axis: Array, pitch: float, q: Array) -> tuple[Array, Array]:
    """Rotation and position of the child in the joint's frame; identity and zero at neutral q."""
    if kind in ("revolute", "continuous"):
        return rotation_about(axis, q[0]), np.zeros(3)
    if kind == "prismatic":
        return np.eye(3), q[0] * axis
    if kind == "helical":
        return rotation_about(axis, q[0]), pitch * q[0] * axis
    if kind == "planar":
        A = plane_axes(axis)
        return rotation_about(axis, q[2]), A[:, 0] * q[0] + A[:, 1] * q[1]
    if kind == "translation":
        return np.eye(3), q.copy()  # [F16] eq. 31, 32
    if kind == "spherical":
        return rotation_of_quaternion(q), np.zeros(3)
    if kind == "floating":
        return rotation_of_quaternion(q[3:]), q[:3].copy()
    if kind.startswith("euler_"):
        Ra, Rb, Rc = _euler_rotations(kind, q)
        return Ra @ Rb @ Rc, np.zeros(3)
    raise ValueError(f"joint type {kind!r} has no pose")


def phi(kind: str, axis: Array, pitch: float, q: Array) -> Array:
    """Φ (6, d): the child's velocity relative to its parent is Φ v, [EW21] eq. 5."""
    zero = np.zeros(3)
    if kind in ("revolute", "continuous"):
        return np.hstack([axis, zero]).reshape(6, 1)
    if kind == "prismatic":
        return np.hstack([zero, axis]).reshape(6, 1)
    if kind == "helical":
        return np.hstack([axis, pitch * axis]).reshape(6, 1)
    if kind == "planar":
        A = plane_axes(axis)
        E = rotation_about(axis, q[2]).T
        x, y = E @ A[:, 0], E @ A[:, 1]
        return np.column_stack(
            [np.hstack([zero, x]), np.hstack([zero, y]), np.hstack([axis, zero])]
        )
    if kind == "translation":
        return np.vstack([np.zeros((3, 3)), np.eye(3)])  # [F16] eq. 33
    if kind == "spherical":
        return np.vstack([np.eye(3), np.zeros((3, 3))])
    if kind == "floating":
        return np.eye(6)
    if kind.startswith("euler_"):
        a, b, c = (UNIT[letter] for letter in kind[-3:])
        _, Rb, Rc = _euler_rotations(kind, q)
        angular = np.column_stack([Rc.T @ Rb.T @ a, Rc.T @ b, c])  # [F16] eq. 37 for any order
        return np.vstack([angular, np.zeros((3, 3))])
    raise ValueError(f"joint type {kind!r} has no motion subspace")


def phi_ring(kind: str, axis: Array, pitch: float, q: Array, v: Array) -> Array:
    """Φ̊ (6, d): time derivative of the entries of Φ in the child's coordinates, [EW21] eq. 12."""
    ring = np.zeros_like(phi(kind, axis, pitch, q))
    if kind == "planar":
        A = plane_axes(axis)
        E = rotation_about(axis, q[2]).T
        E_rate = -v[2] * skew(axis) @ E
        ring[3:, 0] = E_rate @ A[:, 0]
        ring[3:, 1] = E_rate @ A[:, 1]
    elif kind.startswith("euler_"):
        a, b, c = (UNIT[letter] for letter in kind[-3:])
        _, Rb, Rc = _euler_rotations(kind, q)
        Eb, Ec = Rb.T, Rc.T
        Eb_rate = -v[1] * skew(b) @ Eb
        Ec_rate = -v[2] * skew(c) @ Ec
        ring[:3, 0] = Ec_rate @ Eb @ a + Ec @ Eb_rate @ a
        ring[:3, 1] = Ec_rate @ b
    return ring


def integrate(kind: str, q: Array, v: Array, dt: float) -> Array:
    """Where the joint is after keeping v for dt; exact for constant v."""
    if kind == "spherical":
        return _turn(q, v * dt)
    if kind == "floating":
        w, u = v[:3] * dt, v[3:] * dt
        # Linear part of the exponential of a twist: sum over n of (w x)^n / (n + 1)!
        V = sum(np.linalg.matrix_power(skew(w), n) / math.factorial(n + 1) for n in range(30))
        return np.hstack([q[:3] + rotation_of_quaternion(q[3:]) @ V @ u, _turn(q[3:], w)])
    return q + v * dt


def _turn(quaternion: Array, angles: Array) -> Array:
    """Quaternion x y z w, turned by the rotation vector `angles` in its own axes."""
    angle = float(np.linalg.norm(angles))
    e2 = 0.5 * np.sinc(0.5 * angle / np.pi) * angles
    w2 = np.cos(0.5 * angle)
    e1, w1 = quaternion[:3], quaternion[3]
    return np.hstack([w1 * e2 + w2 * e1 + np.cross(e1, e2), w1 * w2 - e1 @ e2])


def _euler_rotations(kind: str, q: Array) -> tuple[Array, Array, Array]:
    a, b, c = (rotation_about(UNIT[letter], q[n]) for n, letter in enumerate(kind[-3:]))
    return a, b, c
