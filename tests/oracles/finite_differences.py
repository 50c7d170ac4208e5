"""Derivatives of M by central differences, extrapolated: no formula of the papers but eq. 4."""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise

import numpy as np

from .spatial import Array

MassMatrix = Callable[[Array], Array]
Integrate = Callable[[Array, Array, float], Array]


def derivative(f: Callable[[float], Array], step: float = 0.1, levels: int = 4) -> Array:
    """f'(0): central differences with steps h, h/2, h/4 … and Richardson's extrapolation.

    An entry of M is at most of second order in the sine and cosine of any one angle, so its
    ninth derivative is below 2⁹ of its size. Four levels from 0.1 rad leave a truncation of
    3e-15 and the rounding of the smallest step, 1e-14.
    """
    table = []
    for level in range(levels):
        h = step / 2**level
        table.append((f(h) - f(-h)) / (2.0 * h))
    for order in range(1, levels):
        weight = 4.0**order
        table = [(weight * fine - coarse) / (weight - 1.0) for coarse, fine in pairwise(table)]
    return np.asarray(table[0])


def mass_matrix_partials(mass_matrix: MassMatrix, q: Array) -> Array:
    """∂M_ij/∂q_k as [i, j, k], for robots with v = q̇."""

    def along(direction: Array) -> Array:
        return derivative(lambda h: mass_matrix(q + h * direction))

    return np.stack([along(e_k) for e_k in np.eye(len(q))], axis=2)


def christoffel(mass_matrix: MassMatrix, q: Array) -> Array:
    """Γ[i, j, k], the definition [EW21] eq. 4, for robots with v = q̇."""
    dM = mass_matrix_partials(mass_matrix, q)
    dM_ij_k = dM
    dM_ik_j = np.transpose(dM, (0, 2, 1))  # entry [i, j, k] is dM[i, k, j]
    dM_jk_i = np.transpose(dM, (2, 0, 1))  # entry [i, j, k] is dM[j, k, i]
    return 0.5 * (dM_ij_k + dM_ik_j - dM_jk_i)


def mass_matrix_rate(mass_matrix: MassMatrix, integrate: Integrate, q: Array, v: Array) -> Array:
    """Ṁ along the motion that keeps v; the step shrinks with speed."""
    step = 0.1 / max(1.0, float(np.abs(v).sum()))
    return derivative(lambda h: mass_matrix(integrate(q, v, h)), step)
