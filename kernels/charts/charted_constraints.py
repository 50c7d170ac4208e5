"""Contacts, constraints and targets of a robot seen through a chart.

Forces of constraints are the same in every chart; Ḡ = G A and γ̄ = γ − G Ȧ v̄. Users' own rows are
native whatever the chart.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.charts.chart import Chart
from torqued.kernels.constraints.types import (
    Assembly,
    ConstrainedTorques,
    ConstraintTerms,
    are_names,
)
from torqued.kernels.contacts.types import (
    Contact,
    ContactSolution,
    FrictionSolution,
    ImpactSolution,
)
from torqued.kernels.input_checks import numbers, sequence
from torqued.kernels.inverse_kinematics.targets import InverseKinematics, Target
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import finite_arithmetic

if TYPE_CHECKING:
    from torqued.kernels.robot.constraint_set import Constraint
    from torqued.kernels.robot.frame_table import Wrenches
    from torqued.kernels.robot.robot import Robot


class ChartedConstraints:
    """Of a `ChartedRobot`."""

    robot: Robot
    chart: Chart

    if TYPE_CHECKING:

        def _at(self, q: Any) -> tuple[Array, Array]: ...

        def _velocity(self, name: str, values: Any) -> Array: ...

        def _acceleration(self, q: Array, velocity: Array, a: Array) -> Array: ...

    @finite_arithmetic
    def contact_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        contacts: Sequence[Constraint],
        solver: str = "range_space",
        f_ext: Wrenches | None = None,
    ) -> ContactSolution:
        q, A = self._at(q)
        v = self._velocity("v", v)
        torque = self.chart.A_inverse(q).T @ self._velocity("tau", tau)
        natively = self.robot.contact_dynamics(q, A @ v, torque, contacts, solver, f_ext)
        return replace(
            natively,
            a=self._acceleration(q, A @ v, natively.a),
            G=natively.G @ A,
            gamma=natively.gamma - natively.G @ self.chart.A_rate(q, v) @ v,
            M=A.T @ natively.M @ A,
        )

    @finite_arithmetic
    def friction_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        contacts: Sequence[Contact],
        dt: float,
        iterations: int = 1000,
        tolerance: float = 1e-9,
        start: Any = None,
        f_ext: Wrenches | None = None,
    ) -> FrictionSolution:
        q, A = self._at(q)
        velocity = A @ self._velocity("v", v)
        torque = self.chart.A_inverse(q).T @ self._velocity("tau", tau)
        natively = self.robot.friction_dynamics(
            q, velocity, torque, contacts, dt, iterations, tolerance, start, f_ext
        )
        return replace(natively, a=self._acceleration(q, velocity, natively.a))

    @finite_arithmetic
    def impact(
        self,
        q: Any,
        v: Any,
        contacts: Sequence[Constraint],
        restitution: float = 0.0,
        after: Any = None,
    ) -> ImpactSolution:
        q, A = self._at(q)
        natively = self.robot.impact(q, A @ self._velocity("v", v), contacts, restitution, after)
        return replace(natively, v=self.chart.A_inverse(q) @ natively.v)

    @finite_arithmetic
    def constraint_terms(
        self, q: Any, v: Any, constraints: Sequence[Constraint]
    ) -> ConstraintTerms:
        q, A = self._at(q)
        v = self._velocity("v", v)
        natively = self.robot.constraint_terms(q, A @ v, constraints)
        gamma = natively.gamma - natively.G @ self.chart.A_rate(q, v) @ v
        return replace(natively, G=natively.G @ A, gamma=gamma)

    @finite_arithmetic
    def assemble(
        self,
        q: Any,
        constraints: Sequence[Constraint],
        v: Any = None,
        weights: Any = None,
        tolerance: float = 1e-10,
        iterations: int = 100,
    ) -> Assembly:
        """Nearest is what it is natively."""
        q, A = self._at(q)
        velocity = A @ self._velocity("v", v)
        own = self._native_weights(A, weights)
        natively = self.robot.assemble(q, constraints, velocity, own, tolerance, iterations)
        inverse = self.chart.A_inverse(natively.q)
        return replace(natively, q=self.chart.from_native(natively.q), v=inverse @ natively.v)

    @finite_arithmetic
    def constrained_inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        constraints: Sequence[Constraint],
        actuated: Any = None,
        weights: Any = None,
        f_ext: Wrenches | None = None,
    ) -> ConstrainedTorques:
        """Accelerations that are not exact are nearest as they are natively."""
        q, A = self._at(q)
        v = self._velocity("v", v)
        wanted = A @ self._velocity("a", a) + self.chart.A_rate(q, v) @ v
        if actuated is not None and not are_names(actuated):
            B = numbers("actuated", actuated, (self.chart.nv, -1))
            actuated = self.chart.A_inverse(q).T @ B
        natively = self.robot.constrained_inverse_dynamics(
            q, A @ v, wanted, constraints, actuated, self._native_weights(A, weights), f_ext
        )
        return replace(
            natively,
            tau=A.T @ natively.tau,
            a=self._acceleration(q, A @ v, natively.a),
            G=natively.G @ A,
        )

    def _native_weights(self, A: Array, weights: Any) -> Array | None:
        """Per native velocity, where the chart only reorders them."""
        if weights is None:
            return None
        order = np.abs(A)
        if not np.array_equal(order @ np.ones(A.shape[1]), np.ones(len(A))) or not np.array_equal(
            order, order.round()
        ):
            allowed = "'native', or coordinates that only reorder velocities"
            raise InputError(
                f"coordinates: {self.chart.name!r} mixes velocities; weights require {allowed}",
                "coordinates",
                self.chart.name,
                allowed,
            )
        found: Array = order @ self._velocity("weights", weights)
        return found

    @finite_arithmetic
    def inverse_kinematics(
        self,
        targets: Sequence[Target],
        q0: Any,
        tolerance: float = 1e-6,
        iterations: int = 100,
        restarts: int = 20,
        limits: bool = True,
        seed: int = 0,
    ) -> InverseKinematics:
        """Postures are in the chart, and what is left over of them is native."""
        own = [
            replace(target, value=self.chart.to_native(target.value, f"targets[{k}].value"))
            if isinstance(target, Target) and target.kind == "posture"
            else target
            for k, target in enumerate(sequence("targets", targets, "targets"))
        ]
        start = self.chart.to_native(q0, "q0")
        found = self.robot.inverse_kinematics(
            own, start, tolerance, iterations, restarts, limits, seed
        )
        return replace(found, q=self.chart.from_native(found.q))
