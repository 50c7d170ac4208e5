"""What all methods of a robot in a chart begin with: native configurations, checked numbers, A."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.charts.chart import Chart
from torqued.kernels.charts.transformations import Motion
from torqued.kernels.input_checks import numbers
from torqued.kernels.model.description import Array

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot


class ChartedCore:
    """`robot` in the coordinates of `chart`."""

    robot: Robot
    chart: Chart
    users: set[int]  # the robot's

    def _motion(self, q: Any, v: Any) -> Motion:
        """The native q and the chart's v, checked."""
        return Motion(self.chart, self.chart.to_native(q), self._velocity("v", v))

    def _at(self, q: Any) -> tuple[Array, Array]:
        """The native q and A there."""
        native = self.chart.to_native(q)
        return native, self.chart.A(native)

    def _to_native(self, q: Any, v: Any, tau: Any) -> tuple[Array, Array, Array]:
        """Native q, velocities and torques, checked."""
        native, A = self._at(q)
        v, tau = self._velocity("v", v), self._velocity("tau", tau)
        return native, A @ v, self.chart.A_inverse(native).T @ tau

    def _velocity(self, name: str, values: Any) -> Array:
        """A velocity, acceleration or torque of the chart, checked; no v is rest."""
        if values is None and name == "v":
            return np.zeros(self.chart.nv)
        return numbers(name, values, (self.chart.nv,))

    def _mixes(self, problem: str) -> InputError:
        """Of what only coordinates that reorder velocities have; `problem` is about the others."""
        allowed = "'native', or coordinates that only reorder velocities"
        message = f"coordinates: {problem} {allowed}"
        return InputError(message, "coordinates", self.chart.name, allowed)

    def _acceleration(self, q: Array, velocity: Array, a: Array) -> Array:
        """ā = A⁺ ν̇ + (A⁺)˙ ν at native q, ν, ν̇."""
        inverse, rate = self.chart.A_inverse(q), self.chart.A_inverse_rate(q, velocity)
        return inverse @ a + rate @ velocity
