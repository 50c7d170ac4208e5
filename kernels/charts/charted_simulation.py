"""`Robot.simulate` in a chart: simulated natively, where no coordinates are singular."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.kernels.charts.charted_core import ChartedCore
from torqued.kernels.input_checks import numbers
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import finite_arithmetic

if TYPE_CHECKING:
    from torqued.kernels.integration.simulation import Simulation
    from torqued.kernels.robot.constraint_set import Constraint


class ChartedSimulation(ChartedCore):
    """States, torques, and what functions are given, in the chart."""

    @finite_arithmetic
    def simulate(
        self,
        q: Any,
        v: Any = None,
        tau: Any = None,
        seconds: float = 1.0,
        dt: float = 1e-3,
        method: str = "rkmk4",
        contacts: Sequence[Constraint] = (),
        every: int = 1,
        report: Callable[[int, int], None] | None = None,
    ) -> Simulation:
        chart = self.chart
        native = chart.to_native(q)
        velocity = chart.A(native) @ self._velocity("v", v)
        acting = self._natively(tau, seconds, dt)
        found = self.robot.simulate(
            native, velocity, acting, seconds, dt, method, contacts, every, report
        )
        rows = list(zip(found.q, found.v, found.tau, strict=True))
        return replace(
            found,
            q=np.array([chart.from_native(q) for q, _, _ in rows]),
            v=np.array([chart.A_inverse(q) @ v for q, v, _ in rows]),
            tau=np.array([chart.A(q).T @ tau for q, _, tau in rows]),
        )

    def _natively(self, tau: Any, seconds: Any, dt: Any) -> Any:
        """What acts, with native states and torques; controllers are native anyway."""
        from torqued.kernels.integration.simulation import step_count

        if tau is None or hasattr(tau, "torque"):
            return tau
        chart = self.chart
        steps, step = step_count(seconds, dt)
        given = None if callable(tau) else numbers("tau", tau, (chart.nv,), (steps, chart.nv))

        def natively(t: float, q: Array, v: Array) -> Array:
            if given is None:
                own = tau(t, chart.from_native(q), chart.A_inverse(q) @ v)
            elif given.ndim == 1:
                own = given
            else:
                own = given[min(int(t / step + 1e-9), steps - 1)]
            torque: Array = chart.A_inverse(q).T @ numbers("tau", own, (chart.nv,))
            return torque

        return natively
