"""The methods of `Robot` with contacts and constraints: kernels/robot/contacts.py and
constraints.py compute."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torqued.kernels.charts import Coordinates
from torqued.kernels.constraints.types import Assembly, ConstrainedTorques, ConstraintTerms
from torqued.kernels.contacts.types import (
    Contact,
    ContactSolution,
    FrictionSolution,
    ImpactSolution,
)
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import in_any_coordinates

if TYPE_CHECKING:
    from torqued.kernels.robot.constraint_set import Constraint
    from torqued.kernels.robot.constraints import Constraints
    from torqued.kernels.robot.contacts import Contacts
    from torqued.kernels.robot.frame_table import Wrenches


class Constrained:
    """Constraints are `Contact`s, `Loop`s and `Rows`, in any order and together."""

    contacts: Contacts
    _constraints: Constraints

    @in_any_coordinates
    def contact_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        contacts: Sequence[Constraint],
        solver: str = "range_space",
        f_ext: Wrenches | None = None,
        *,
        coordinates: Coordinates = "native",
    ) -> ContactSolution:
        """Accelerations and contact forces while frames are held ([F16] eq. 7).

        Contacts pull as well as push; each force comes with a verdict. `solver` is
        "range_space" (fastest), "direct" or "null_space". `f_ext` as in `inverse_dynamics`.
        """
        return self.contacts.contact_dynamics(q, v, tau, contacts, solver, f_ext)

    @in_any_coordinates
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
        *,
        coordinates: Coordinates = "native",
    ) -> FrictionSolution:
        """Accelerations over a time step dt with contacts that only push, stick, slide or let go.

        Contacts are of kind "point" (with `friction`) or "normal" (without). A surface is several
        points. Iterations end when no contact is off by more than `tolerance`, m/s. `start` is
        the force of a former solution, to begin from. Baumgarte gains act along normals only:
        tangents may slide. `f_ext` as in `inverse_dynamics`.
        """
        return self.contacts.friction_dynamics(
            q, v, tau, contacts, dt, iterations, tolerance, start, f_ext
        )

    @in_any_coordinates
    def impact(
        self,
        q: Any,
        v: Any,
        contacts: Sequence[Constraint],
        restitution: float = 0.0,
        after: Any = None,
        *,
        coordinates: Coordinates = "native",
    ) -> ImpactSolution:
        """Velocities after frames hit what holds them, G v⁺ = −e G v⁻ ([F16] eq. 10).

        `restitution` e is between 0 (the frames stay) and 1 (no energy is lost). `after` (m,) in
        its place is the velocity of each row after the impact, G v⁺ = after.
        """
        return self.contacts.impact(q, v, contacts, restitution, after)

    @in_any_coordinates
    def constraint_terms(
        self,
        q: Any,
        v: Any,
        constraints: Sequence[Constraint],
        *,
        coordinates: Coordinates = "native",
    ) -> ConstraintTerms:
        """Jacobian, position and velocity errors and γ of constraints by themselves."""
        return self._constraints.terms(q, v, constraints)

    @in_any_coordinates
    def assemble(
        self,
        q: Any,
        constraints: Sequence[Constraint],
        v: Any = None,
        weights: Any = None,
        tolerance: float = 1e-10,
        iterations: int = 100,
        *,
        coordinates: Coordinates = "native",
    ) -> Assembly:
        """The state nearest to q and v (default: at rest) that satisfies constraints.

        Distances count by `weights` (nv,), positive, default 1: those of a joint that should
        rather stay are large.
        """
        return self._constraints.assemble(q, constraints, v, weights, tolerance, iterations)

    @in_any_coordinates
    def constrained_inverse_dynamics(
        self,
        q: Any,
        v: Any,
        a: Any,
        constraints: Sequence[Constraint],
        actuated: Any = None,
        weights: Any = None,
        f_ext: Wrenches | None = None,
        *,
        coordinates: Coordinates = "native",
    ) -> ConstrainedTorques:
        """Torques of actuated joints that give wanted accelerations under constraints.

        `actuated` are joints' names, or a map B (nv, k) from efforts of k actuators to torques;
        default: all joints but a floating base. Where actuators cannot have what is wanted, or
        constraints do not allow it, accelerations come as near as they can by `weights` (nv,).
        `exact` says which of the two it is. Of all efforts that do it, those of least size.
        """
        return self._constraints.inverse_dynamics(q, v, a, constraints, actuated, weights, f_ext)

    def actuation(self, joints: Sequence[str] | None = None) -> Array:
        """B (nv, k): torques of the velocities of these joints, default all but a floating base.

        τ = B u for efforts u (k,); scale or mix its columns for transmissions.
        """
        return self._constraints.actuation(joints)
