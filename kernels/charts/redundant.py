"""What redundant parameters of the base's orientation must keep to ([BK12] section III).

    r = M q̈ + C q̇ + g − τ = Hᵀ λ        eq. 32, with H q̈ + h = 0 from eq. 30
    λ = L r,  L Hᵀ = 1                   eq. 33
    P = 1 − Hᵀ L,  P r = 0               eq. 34, 35

For quaternions H = qᵀSᵀS and L = qᵀ as in the text; for rotation matrices, whose six constraints
are Rᵀ R = 1, L is the pseudo-inverse of Hᵀ. λ is not zero only where τ pushes against the
constraint: torques from `torque_from_native` never do.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.charts.chart import Chart
from torqued.kernels.model.description import Array

#: Number of orientation parameters by chart.
REDUNDANT = {"quaternion": 4, "rotation_matrix": 9}

#: The six constraints of a rotation matrix: pairs of its columns.
COLUMN_PAIRS = ((0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 2))


@dataclass(frozen=True)
class RedundantBase:
    """The constraint on θ (d parameters), with k = 1 for quaternions, 6 for rotation matrices."""

    S: Array  # (d, nv): selects θ: θ̇ = S v, and θ = S q unless there are spherical joints; eq. 29
    value: Array  # (k,) θᵀθ − 1, or the upper triangle of Rᵀ R − 1 row by row; eq. 28
    rate: Array  # (k,) half the rate of value: H v, 0 for velocities that a robot can have
    H: Array  # (k, nv) in H a + h = 0; eq. 30
    h: Array  # (k,); eq. 30
    L: Array  # (k, nv) in λ = L r; eq. 33
    P: Array  # (nv, nv), the projector; eq. 34

    def multiplier(self, residual: Array) -> Array:
        """λ (k,) of r = M a + C v + g − τ; eq. 33."""
        return self.L @ residual

    def project(self, values: Array) -> Array:
        """P times a vector or matrix: P M a = P (τ − C v − g) is eq. 35."""
        return self.P @ values


def redundant_base(chart: Chart, q: Array, v: Array) -> RedundantBase:
    """At the chart's q and v."""
    if chart.name not in REDUNDANT:
        allowed = ", ".join(map(repr, REDUNDANT))
        raise InputError(
            f"coordinates {chart.name!r} have no base constraints (choose from {allowed})"
        )
    if chart.robot.model.base != "floating":
        raise InputError(
            f"robot {chart.robot.name!r} has a fixed base: there is no orientation to constrain"
        )
    d = REDUNDANT[chart.name]
    S = np.zeros((d, chart.nv))
    S[:, 3 : 3 + d] = np.eye(d)
    theta, rates = q[3 : 3 + d], S @ v
    if d == 4:
        H = theta[None, :] @ S
        value, h = np.array([theta @ theta - 1.0]), np.array([rates @ rates])
        # Where spherical joints make q longer than v, its part in θ serves as well.
        L = q[None, :] if chart.nq == chart.nv else H
    else:
        R, Rdot = theta.reshape(3, 3), rates.reshape(3, 3)
        upper = np.triu_indices(3)
        value, h = (R.T @ R - np.eye(3))[upper], (Rdot.T @ Rdot)[upper]
        rows = np.zeros((6, 3, 3))
        for row, (i, j) in zip(rows, COLUMN_PAIRS, strict=True):
            row[:, i] += 0.5 * R[:, j]
            row[:, j] += 0.5 * R[:, i]
        H = rows.reshape(6, 9) @ S
        L = np.asarray(np.linalg.solve(H @ H.T, H), dtype=np.float64)
    return RedundantBase(S, value, H @ v, H, h, L, np.eye(chart.nv) - H.T @ L)
