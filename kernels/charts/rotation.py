"""Quaternions x y z w and rotation vectors, as far as charts need them outside of kernels."""

from __future__ import annotations

import numpy as np

from torqued.kernels.input_checks import QUATERNION_TOLERANCE
from torqued.kernels.model.description import Array
from torqued.kernels.model.rotations import rotation_from_quaternion

ONE = np.eye(3)

#: ε_ijk, so that (a × b)_i = Σ ε_ijk a_j b_k.
LEVI_CIVITA = np.zeros((3, 3, 3))
for _i, _j, _k in ((0, 1, 2), (1, 2, 0), (2, 0, 1)):
    LEVI_CIVITA[_i, _j, _k], LEVI_CIVITA[_i, _k, _j] = 1.0, -1.0


def skew(w: Array) -> Array:
    """w×, the matrix with (w×) u = w × u."""
    x, y, z = w
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def rotation(quaternion: Array) -> Array:
    """R (3, 3) of a quaternion of about unit length."""
    return rotation_from_quaternion(*quaternion)


def quaternion_of(R: Array) -> Array:
    """With w ≥ 0. Taken from the largest of the four parts, so that nothing cancels."""
    trace = float(np.trace(R))
    products = np.array(  # 4 q qᵀ
        [
            [1 + 2 * R[0, 0] - trace, R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[2, 1] - R[1, 2]],
            [R[0, 1] + R[1, 0], 1 + 2 * R[1, 1] - trace, R[1, 2] + R[2, 1], R[0, 2] - R[2, 0]],
            [R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1 + 2 * R[2, 2] - trace, R[1, 0] - R[0, 1]],
            [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 1 + trace],
        ]
    )
    row = products[int(np.argmax(np.diag(products)))]
    quaternion: Array = np.copysign(1.0, row[3]) * row / np.linalg.norm(row)
    return quaternion


def product(a: Array, b: Array) -> Array:
    """The turn b, then a."""
    x, y = a[:3], b[:3]
    return np.append(a[3] * y + b[3] * x + np.cross(x, y), a[3] * b[3] - x @ y)


def exponential(w: Array) -> Array:
    """Unit quaternion of a rotation vector."""
    half = 0.5 * float(np.linalg.norm(w))
    return np.append(0.5 * np.sinc(half / np.pi) * w, np.cos(half))


def logarithm(quaternion: Array) -> Array:
    """Rotation vector, at most π long."""
    x = quaternion if quaternion[3] >= 0.0 else -quaternion
    size = float(np.linalg.norm(x[:3]))
    half = np.arctan2(size, x[3])
    vector: Array = 2.0 * x[:3] / np.sinc(half / np.pi) / np.linalg.norm(x)
    return vector


def turned(quaternion: Array, w: Array) -> Array:
    """After the rotation vector w in the body's axes; unit length again."""
    result = product(quaternion, exponential(w))
    return result / np.linalg.norm(result)


def turn_between(q0: Array, q1: Array) -> Array:
    """The rotation vector in the body's axes with `turned(q0, w)` = q1, or its other sign."""
    back = np.append(-q0[:3], q0[3])
    return logarithm(product(back, q1))


def norm_fault(what: str, values: Array) -> str | None:
    """Why some numbers are not of unit length; None where they are."""
    norm = float(np.linalg.norm(values))
    if abs(norm - 1.0) <= QUATERNION_TOLERANCE:
        return None
    return f"{what} has norm {norm:.9g}, expected 1"
