"""Contacts, constraints and targets of a robot seen through a chart.

Forces of constraints are the same in every chart; Ḡ = G A and γ̄ = γ − G Ȧ v̄. Users' own rows are
native whatever the chart.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from torqued.kernels.charts.charted_core import ChartedCore
from torqued.kernels.charts.native_signature import like
from torqued.kernels.constraints.types import are_names
from torqued.kernels.input_checks import numbers, sequence
from torqued.kernels.inverse_kinematics.targets import Target
from torqued.kernels.model.description import Array
from torqued.kernels.robot.constraints import Constraints
from torqued.kernels.robot.contacts import Contacts
from torqued.kernels.robot.inverse_kinematics import Poses


class ChartedConstraints(ChartedCore):
    """Of a `ChartedRobot`."""

    @like(Contacts.contact_dynamics)
    def contact_dynamics(self, q: Any, v: Any, tau: Any, *rest: Any) -> Any:
        q, A = self._at(q)
        v = self._velocity("v", v)
        torque = self.chart.A_inverse(q).T @ self._velocity("tau", tau)
        natively = self.robot.contact_dynamics(q, A @ v, torque, *rest)
        return replace(
            natively,
            a=self._acceleration(q, A @ v, natively.a),
            G=natively.G @ A,
            gamma=natively.gamma - natively.G @ self.chart.A_rate(q, v) @ v,
            M=A.T @ natively.M @ A,
        )

    @like(Contacts.friction_dynamics)
    def friction_dynamics(self, q: Any, v: Any, tau: Any, *rest: Any) -> Any:
        q, velocity, torque = self._to_native(q, v, tau)
        natively = self.robot.friction_dynamics(q, velocity, torque, *rest)
        return replace(natively, a=self._acceleration(q, velocity, natively.a))

    @like(Contacts.impact)
    def impact(self, q: Any, v: Any, *rest: Any) -> Any:
        q, A = self._at(q)
        natively = self.robot.impact(q, A @ self._velocity("v", v), *rest)
        return replace(natively, v=self.chart.A_inverse(q) @ natively.v)

    @like(Constraints.constraint_terms)
    def constraint_terms(self, q: Any, v: Any, constraints: Any) -> Any:
        q, A = self._at(q)
        v = self._velocity("v", v)
        natively = self.robot.constraint_terms(q, A @ v, constraints)
        gamma = natively.gamma - natively.G @ self.chart.A_rate(q, v) @ v
        return replace(natively, G=natively.G @ A, gamma=gamma)

    @like(Constraints.assemble)
    def assemble(self, q: Any, constraints: Any, v: Any, weights: Any, *rest: Any) -> Any:
        """Nearest is what it is natively."""
        q, A = self._at(q)
        velocity = A @ self._velocity("v", v)
        own = self._native_weights(A, weights)
        natively = self.robot.assemble(q, constraints, velocity, own, *rest)
        inverse = self.chart.A_inverse(natively.q)
        return replace(natively, q=self.chart.from_native(natively.q), v=inverse @ natively.v)

    @like(Constraints.constrained_inverse_dynamics)
    def constrained_inverse_dynamics(
        self, q: Any, v: Any, a: Any, constraints: Any, actuated: Any, weights: Any, f_ext: Any
    ) -> Any:
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
            raise self._mixes(f"{self.chart.name!r} mixes velocities; weights require")
        found: Array = order @ self._velocity("weights", weights)
        return found

    @like(Poses.inverse_kinematics)
    def inverse_kinematics(self, targets: Any, q0: Any, *rest: Any) -> Any:
        """Postures are in the chart, and what is left over of them is native."""
        own = [
            replace(target, value=self.chart.to_native(target.value, f"targets[{k}].value"))
            if isinstance(target, Target) and target.kind == "posture"
            else target
            for k, target in enumerate(sequence("targets", targets, "targets"))
        ]
        start = self.chart.to_native(q0, "q0")
        found = self.robot.inverse_kinematics(own, start, *rest)
        return replace(found, q=self.chart.from_native(found.q))
