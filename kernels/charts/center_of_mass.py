"""The center of mass as the base's position: M and C fall into two blocks ([EW21] eq. 32).

q = [center of mass, quaternion x y z w, joints], v = [ṗ in world axes, ω in the base's, joints].
"""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.charts.chart import Chart, Native
from torqued.kernels.charts.rotation import rotation, skew
from torqued.kernels.input_checks import numbers, unit_quaternions
from torqued.kernels.model.description import Array

#: Places in the native velocity [ω, u, joints] and in the chart's [ṗ, ω, joints].
ANGULAR, LINEAR = slice(0, 3), slice(3, 6)
POSITION, TURN = slice(0, 3), slice(3, 6)


class CenterOfMass(Chart):
    """With U = Rᵀ J_com = [U_ω, 1, U_joints], the base moves by u = Rᵀ ṗ − U_ω ω − U_joints q̇.

    The rows of M and C that belong to u are m U and m Rᵀ J̇_com, as M ν there is the momentum of
    the robot and Γ that of pure translations, so neither needs its own computation.
    """

    def __init__(self, name: str, robot: Native) -> None:
        if robot.model.base != "floating":
            raise InputError(
                f"coordinates {name!r}: robot {robot.name!r} has a fixed base, so its center of "
                "mass follows from the joints and cannot be a coordinate; load it with "
                "base='floating'"
            )
        super().__init__(name, robot)
        self.nq, self.nv = robot.nq, robot.nv

    def to_native(self, q: Any, name: str = "q") -> Array:
        native = numbers(name, q, (self.nq,)).copy()
        unit_quaternions(name, native, self._quaternions)
        target = native[:3].copy()
        native[:3] = 0.0
        native[:3] = target - self.robot.center_of_mass(native)
        return native

    def from_native(self, q: Any) -> Array:
        own = self.native_q(q).copy()
        own[:3] = self.robot.center_of_mass(own)
        return own

    def A(self, q: Array) -> Array:
        A = self._unchanged()
        A[LINEAR] = -self._jacobian(q)
        A[LINEAR, TURN] = A[LINEAR, ANGULAR]
        A[LINEAR, POSITION] = rotation(q[3:7]).T
        return A

    def A_rate(self, q: Array, v: Array) -> Array:
        w, R = v[TURN], rotation(q[3:7])
        native = self.A(q) @ v
        # d/dt Rᵀ J = Rᵀ J̇ − ω × Rᵀ J
        U_rate = self.robot.coriolis_matrix(q, native)[LINEAR] / self.robot.total_mass
        U_rate -= skew(w) @ self._jacobian(q)
        rate = np.zeros((self.nv, self.nv))
        rate[LINEAR] = -U_rate
        rate[LINEAR, TURN] = rate[LINEAR, ANGULAR]
        rate[LINEAR, POSITION] = -skew(w) @ R.T
        return rate

    def A_inverse(self, q: Array) -> Array:
        inverse = self._unchanged().T
        inverse[POSITION] = rotation(q[3:7]) @ self._jacobian(q)
        return inverse

    def advance(self, q: Array, step: Array, moved: Array) -> Array:
        own = moved.copy()
        own[:3] = q[:3] + step[POSITION]
        return own

    def retreat(self, q0: Array, q1: Array, step: Array) -> Array:
        own = self._unchanged().T @ step
        own[POSITION] = q1[:3] - q0[:3]
        return own

    def _jacobian(self, q: Array) -> Array:
        """U (3, nv): the velocity of the center of mass in the base's axes."""
        U: Array = self.robot.mass_matrix(q)[LINEAR] / self.robot.total_mass
        return U

    def _unchanged(self) -> Array:
        """A without the rows of u."""
        A = np.eye(self.nv)
        A[:6, :6] = 0.0
        A[ANGULAR, TURN] = np.eye(3)
        return A
