"""Rotations as both sides of the wire have them."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


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
