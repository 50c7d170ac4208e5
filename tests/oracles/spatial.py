"""Spatial vectors as dense 6x6 matrices, [angular; linear], after [EW21] appendix A.

Equation numbers of appendix A are those of the preprint, (57)-(64).
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]


def skew(p: Array) -> Array:
    """S(p), the matrix of the cross product p x, [EW21] eq. 60."""
    return np.array([[0.0, -p[2], p[1]], [p[2], 0.0, -p[0]], [-p[1], p[0], 0.0]])


def motion_cross(v: Array) -> Array:
    """(v x), acting on motion vectors, [EW21] eq. 61."""
    return np.block([[skew(v[:3]), np.zeros((3, 3))], [skew(v[3:]), skew(v[:3])]])


def force_cross(v: Array) -> Array:
    """(v x*), acting on force vectors: the negative adjoint of (v x), [EW21] eq. 8."""
    return -motion_cross(v).T


def swapped_cross(f: Array) -> Array:
    """(f x̄*), so that (f x̄*) v = (v x*) f, [EW21] eq. 62."""
    return np.block([[-skew(f[:3]), -skew(f[3:])], [-skew(f[3:]), np.zeros((3, 3))]])


def transform(rotation: Array, position: Array) -> Array:
    """ᵢX_p of a frame i that sits at (rotation, position) in frame p, [EW21] eq. 59.

    It changes motion vectors from coordinates of p to those of i. `rotation` has the axes of i
    as columns, so the ⁱR_p of eq. 59 is its transpose.
    """
    E = rotation.T
    return np.block([[E, np.zeros((3, 3))], [-E @ skew(position), E]])


def inertia(mass: float, com: Array, rotational: Array) -> Array:
    """6x6 inertia about the frame's origin, [EW21] eq. 63; `rotational` is about the com."""
    S = skew(com)
    about_origin = rotational + mass * S @ S.T  # parallel axes
    return np.block([[about_origin, mass * S], [mass * S.T, mass * np.eye(3)]])
