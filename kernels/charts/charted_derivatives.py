"""Derivatives of the equations of motion in a chart, from the native ones.

∂/∂q̄_k is the derivative along the chart's own `integrate`: natively along A e_k. With A_k the rate
of A in that direction, which `A_rate` gives, the chain rule needs one thing that charts do not
have: the derivative of Ȧ v̄ by q̄, a second derivative of A. It is taken by differences.
"""

from __future__ import annotations

from collections.abc import Callable
from itertools import pairwise
from typing import Any

import numpy as np

from torqued.kernels.charts.charted_core import ChartedCore
from torqued.kernels.charts.native_signature import like
from torqued.kernels.contacts.types import ContactDerivatives
from torqued.kernels.derivatives.linearization import linearized, require_one
from torqued.kernels.derivatives.results import SecondDerivatives
from torqued.kernels.model.description import Array
from torqued.kernels.robot.derivatives import Derivatives

#: Largest step of the differences, rad or m. With three levels the truncation is below 1e-12 of
#: the sixth derivatives, the rounding below 1e-13.
STEP, LEVELS = 0.02, 3


class ChartedDerivatives(ChartedCore):
    """The methods of `Derivatives` with all coordinates those of a chart."""

    def _at_constant(self, what: str, q: Any) -> tuple[Array, Array]:
        """The native q and A, where A does not change."""
        if not self.chart.constant:
            missing = f"{what} need a higher derivative of A than {self.chart.name!r} has"
            raise self._mixes(f"{missing}; allowed:")
        return self._at(q)

    @like(Derivatives.inverse_dynamics_derivatives)
    def inverse_dynamics_derivatives(self, q: Any, v: Any, a: Any, f_ext: Any) -> Any:
        """Of τ̄ = Aᵀ τ(q, A v̄, A ā + Ȧ v̄)."""
        chart = self.chart
        native = chart.to_native(q)
        v, a = self._velocity("v", v), self._velocity("a", a)
        A, A_rate, slopes = chart.A(native), chart.A_rate(native, v), self._slopes(native)
        velocity, acceleration = A @ v, A @ a + A_rate @ v
        tau = self.robot.inverse_dynamics(native, velocity, acceleration, f_ext)
        M = self.robot.mass_matrix(native)
        dq, dv = self.robot.inverse_dynamics_derivatives(native, velocity, acceleration, f_ext)
        turning = self._differences(native, lambda at: chart.A_rate(at, v) @ v)
        natively = dq @ A + dv @ (slopes @ v).T + M @ ((slopes @ a).T + turning)
        by_q = (tau @ slopes).T + A.T @ natively
        units = np.eye(chart.nv)
        turned = columns([chart.A_rate(native, e_k) @ v for e_k in units], len(A))
        by_v = A.T @ (dv @ A + M @ (A_rate + turned))
        return by_q, by_v

    @like(Derivatives.inverse_dynamics_second_derivatives)
    def inverse_dynamics_second_derivatives(self, q: Any, v: Any, a: Any) -> Any:
        """Where A does not change: others would need its third derivative."""
        native, A = self._at_constant("second derivatives of τ", q)
        velocity, acceleration = A @ self._velocity("v", v), A @ self._velocity("a", a)
        found = self.robot.inverse_dynamics_second_derivatives(native, velocity, acceleration)
        natively = (found.dtau_dqdq, found.dtau_dvdv, found.dtau_dqdv, found.dM_dq)
        return SecondDerivatives(*(np.einsum("abc,aj,bk,cl->jkl", x, A, A, A) for x in natively))

    @like(Derivatives.mass_matrix_derivatives)
    def mass_matrix_derivatives(self, q: Any) -> Any:
        """Of M̄ = Aᵀ M A."""
        native = self.chart.to_native(q)
        A, slopes, M = self.chart.A(native), self._slopes(native), self.robot.mass_matrix(native)
        along = np.einsum("abc,aj,bk,cl->jkl", self.robot.mass_matrix_derivatives(native), A, A, A)
        turning = np.einsum("aj,ab,lbk->jkl", A, M, slopes)
        total: Array = along + turning + turning.transpose(1, 0, 2)
        return total

    @like(Derivatives.forward_dynamics_derivatives)
    def forward_dynamics_derivatives(self, q: Any, v: Any, tau: Any, f_ext: Any) -> Any:
        """Of ā = A⁺ a(q, ν, A⁺ᵀ τ̄) + (A⁺)˙ ν with ν = A v̄."""
        native, velocity, torque = self._to_native(q, v, tau)
        a = self.robot.forward_dynamics(native, velocity, torque, f_ext)
        found = self.robot.forward_dynamics_derivatives(native, velocity, torque, f_ext)
        return self._of_acceleration(native, v, tau, a, *found)

    @like(Derivatives.contact_dynamics_derivatives)
    def contact_dynamics_derivatives(self, q: Any, v: Any, tau: Any, contacts: Any) -> Any:
        """Accelerations as in `forward_dynamics_derivatives`; forces are the native ones."""
        chart = self.chart
        native, velocity, torque = self._to_native(q, v, tau)
        a = self.robot.contact_dynamics(native, velocity, torque, contacts).a
        found = self.robot.contact_dynamics_derivatives(native, velocity, torque, contacts)
        by_a = self._of_acceleration(native, v, tau, a, found.da_dq, found.da_dv, found.da_dtau)
        A, inverse = chart.A(native), chart.A_inverse(native)
        moved = (self._slopes(native) @ self._velocity("v", v)).T
        pushed = (np.asarray(tau, np.float64) @ self._inverse_slopes(native)).T
        natively = found.dforce_dq @ A + found.dforce_dv @ moved + found.dforce_dtau @ pushed
        return ContactDerivatives(
            *by_a, natively, found.dforce_dv @ A, found.dforce_dtau @ inverse.T
        )

    def _of_acceleration(
        self, native: Array, v: Any, tau: Any, a: Array, dq: Array, dv: Array, dtau: Array
    ) -> tuple[Array, Array, Array]:
        """Derivatives of the chart's accelerations from those of the native ones."""
        chart, v, tau = self.chart, self._velocity("v", v), self._velocity("tau", tau)
        A, inverse, slopes = chart.A(native), chart.A_inverse(native), self._slopes(native)
        velocity = A @ v
        inverse_slopes = self._inverse_slopes(native)
        turn = chart.A_inverse_rate(native, velocity)

        def turned(at: Array, direction: Array) -> Array:
            """(A⁺)˙ in a direction, times ν."""
            rate: Array = chart.A_inverse_rate(at, direction) @ velocity
            return rate

        turning = self._differences(native, lambda at: turned(at, velocity))
        moved = (slopes @ v).T  # ∂ν/∂q̄
        swung = columns([turned(native, column) for column in moved.T], chart.nv)
        natively = dq @ A + dv @ moved + dtau @ (tau @ inverse_slopes).T
        by_q = (inverse_slopes @ a).T + inverse @ natively + turning + swung + turn @ moved
        by_v = inverse @ dv @ A + turn @ A + (inverse_slopes @ velocity).T
        return by_q, by_v, inverse @ dtau @ inverse.T

    @like(Derivatives.linearize)
    def linearize(self, q: Any, v: Any, tau: Any, dt: Any, f_ext: Any, contacts: Any) -> Any:
        """δq̄˙ = δv̄ + A⁺ (A_δ v̄ − Ȧ δq̄ − ad_ν A δq̄), which is δv̄ where v̄ is the rate of q̄."""
        if contacts is None:
            derivatives = self.forward_dynamics_derivatives(q, v, tau, f_ext)
        else:
            require_one(f_ext)
            held = self.contact_dynamics_derivatives(q, v, tau, contacts)
            derivatives = held.da_dq, held.da_dv, held.da_dtau
        native, v = self.chart.to_native(q), self._velocity("v", v)
        A, slopes = self.chart.A(native), self._slopes(native)
        drift = self.robot.tree.drift_of_difference(A @ v) @ A
        inverse = self.chart.A_inverse(native)
        drift = drift + (slopes @ v).T - self.chart.A_rate(native, v) @ inverse @ A
        return linearized(inverse @ drift, *derivatives, dt)

    def _slopes(self, q: Array) -> Array:
        """A_k (nv, native nv, nv): the derivative of A along each of the chart's directions, of
        redundant parameters along their manifold."""
        along = self.chart.A_inverse(q) @ self.chart.A(q)
        found = [self.chart.A_rate(q, direction) for direction in along.T]
        return np.array(found).reshape(len(found), self.robot.nv, self.chart.nv)

    def _inverse_slopes(self, q: Array) -> Array:
        """The derivative of A⁺ along each of the chart's directions."""
        A = self.chart.A(q)
        found = [self.chart.A_inverse_rate(q, column) for column in A.T]
        return np.array(found).reshape(len(found), self.chart.nv, len(A))

    def _differences(self, q: Array, f: Callable[[Array], Array]) -> Array:
        """∂f/∂q̄, a column per direction."""
        found = [self._difference(q, direction, f) for direction in self.chart.A(q).T]
        return columns(found, len(f(q)))

    def _difference(self, q: Array, direction: Array, f: Callable[[Array], Array]) -> Array:
        """The derivative of f along native velocities, by central differences, extrapolated."""
        table = []
        for level in range(LEVELS):
            h = STEP / 2**level
            ahead = f(self.robot.integrate(q, direction, h))
            table.append((ahead - f(self.robot.integrate(q, direction, -h))) / (2.0 * h))
        for order in range(1, LEVELS):
            weight = 4.0**order
            table = [(weight * fine - coarse) / (weight - 1.0) for coarse, fine in pairwise(table)]
        return np.asarray(table[0], dtype=np.float64)


def columns(found: list[Array], height: int) -> Array:
    """Vectors side by side, also where there are none."""
    return np.array(found).reshape(len(found), height).T
