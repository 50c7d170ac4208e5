"""Operations with contacts, loops and other constraints: the methods that make their requests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torqued.client.requests import results
from torqued.client.requests.methods import Method
from torqued.client.requests.request_parts import (
    Request,
    arrays,
    as_array,
    constraints_of,
    numbers,
    options,
)


class ConstrainedOperations:
    """What the robot does while frames are held."""

    @Method
    @staticmethod
    def contact_dynamics(
        q: Any,
        v: Any,
        tau: Any,
        contacts: Sequence[Any],
        solver: str = "range_space",
        f_ext: Mapping[str, Any] | None = None,
    ) -> Request[results.ContactDynamics]:
        """Accelerations and forces while frames are held; contacts are maps with `frame`, `kind`, …

        Loops and rows may be among them, as in `constraint_terms`. `f_ext` maps frames
        to wrenches (6,).
        """
        fields = numbers(q=q, v=v, tau=tau) | {"contacts": constraints_of(contacts)}
        fields |= options(solver=solver, f_ext=arrays(f_ext))
        return Request("contact_dynamics", fields, results.ContactDynamics)

    @Method
    @staticmethod
    def impact(
        q: Any,
        v: Any,
        contacts: Sequence[Any],
        restitution: float = 0.0,
        after: Any = None,
    ) -> Request[results.Impact]:
        """Velocities after frames hit their surroundings; restitution 0 … 1.

        `after` (m,) in its place is the velocity of each row after the impact.
        """
        fields = numbers(q=q, v=v, after=after) | {"contacts": constraints_of(contacts)}
        fields |= options(restitution=restitution)
        return Request("impact", fields, results.Impact)

    @Method
    @staticmethod
    def constraint_terms(
        q: Any, v: Any, constraints: Sequence[Any]
    ) -> Request[results.ConstraintTerms]:
        """Jacobian G, errors and γ of constraints by themselves.

        These are maps: contacts; loops, with `frame`, `other`, a `kind` ("weld", "hinge", "slider",
        "cylinder", "ball", "plane") or the rows that are `held`, …; and rows, with `G`
        (k, nv), `gamma` (k,) and `position` (k,), natively.
        """
        fields = numbers(q=q, v=v) | {"constraints": constraints_of(constraints)}
        return Request("constraint_terms", fields, results.ConstraintTerms)

    @Method
    @staticmethod
    def assemble(
        q: Any,
        constraints: Sequence[Any],
        v: Any = None,
        weights: Any = None,
        tolerance: float = 1e-10,
        iterations: int = 100,
        *,
        timeout: float | None = None,
    ) -> Request[results.Assembly]:
        """The state nearest to q and v (default: at rest) that satisfies constraints.

        Distances count by `weights` (nv,). The worker computes long ones, within `timeout` (default
        60) s.
        """
        fields = numbers(q=q, v=v, weights=weights) | {"constraints": constraints_of(constraints)}
        fields |= options(tolerance=tolerance, iterations=iterations)
        return Request("assemble", fields, results.Assembly, timeout)

    @Method
    @staticmethod
    def constrained_inverse_dynamics(
        q: Any,
        v: Any,
        a: Any,
        constraints: Sequence[Any],
        actuated: Any = None,
        weights: Any = None,
        f_ext: Mapping[str, Any] | None = None,
    ) -> Request[results.ConstrainedTorques]:
        """Torques of actuated joints for accelerations a (nv,) under constraints, or the nearest.

        `actuated` are joints' names (default: all but a floating base), or a map (nv, k) from the
        efforts of k actuators to torques. Accelerations are nearest by `weights` (nv,).
        """
        fields = numbers(q=q, v=v, a=a, weights=weights) | options(f_ext=arrays(f_ext))
        fields["constraints"] = constraints_of(constraints)
        if actuated is not None:
            named = all(isinstance(name, str) for name in actuated)
            fields["actuated"] = list(actuated) if named else as_array(actuated, "actuated")
        return Request("constrained_inverse_dynamics", fields, results.ConstrainedTorques)
