"""The methods of `Robot` that differentiate: kernels/robot/derivatives.py computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torqued.kernels.charts import Coordinates
from torqued.kernels.contacts.types import Contact, ContactDerivatives
from torqued.kernels.derivatives.results import SecondDerivatives
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import finite, in_any_coordinates

if TYPE_CHECKING:
    from torqued.kernels.robot.derivatives import Derivatives
    from torqued.kernels.robot.frame_table import Wrenches
    from torqued.kernels.robot.geometry import Geometry


class Differentiable:
    """Derivatives by q are along the manifold: ∂/∂q_k is the derivative by ε at
    integrate(q, e_k, ε), so that they have a column per velocity, of floating bases too."""

    _derivatives: Derivatives
    _geometry: Geometry

    @in_any_coordinates
    def inverse_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        a: Any,
        f_ext: Wrenches | None = None,
        *,
        coordinates: Coordinates = "native",
    ) -> tuple[Array, Array]:
        """∂τ/∂q and ∂τ/∂v of `inverse_dynamics`, (nv, nv) each; ∂τ/∂a is `mass_matrix`.

        Wrenches stay as they are, in world axes, while the frames that they act on move.
        """
        return self._derivatives.inverse_dynamics(q, v, a, f_ext)[1:]

    @in_any_coordinates
    def inverse_dynamics_second_derivatives(
        self, q: Any, v: Any, a: Any, *, coordinates: Coordinates = "native"
    ) -> SecondDerivatives:
        """Second derivatives of `inverse_dynamics`, and ∂M/∂q, (nv, nv, nv) each.

        `dtau_dqdq[:, :, l]` is the derivative by ε of ∂τ/∂q at integrate(q, e_l, ε). For
        joints whose velocities are rates of coordinates it does not matter which of the two is
        taken first; of two velocities of a floating base, or of a spherical joint, it does.
        """
        return self._derivatives.second_order(q, v, a)

    @in_any_coordinates
    def mass_matrix_derivatives(self, q: Any, *, coordinates: Coordinates = "native") -> Array:
        """∂M/∂q (nv, nv, nv): [j, k, l] is the derivative of M_jk along velocity l."""
        return self._derivatives.mass_matrix(q)

    @in_any_coordinates
    def forward_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any,
        f_ext: Wrenches | None = None,
        *,
        coordinates: Coordinates = "native",
    ) -> tuple[Array, Array, Array]:
        """∂a/∂q, ∂a/∂v and ∂a/∂τ = M⁻¹ of `forward_dynamics`, (nv, nv) each."""
        return self._derivatives.forward_dynamics(q, v, tau, f_ext)

    @in_any_coordinates
    def contact_dynamics_derivatives(
        self,
        q: Any,
        v: Any,
        tau: Any,
        contacts: Sequence[Contact],
        *,
        coordinates: Coordinates = "native",
    ) -> ContactDerivatives:
        """Derivatives of the accelerations and forces of `contact_dynamics` by q, v and τ.

        Refused where contacts are redundant: their forces are not unique then.
        """
        return self._derivatives.contact_dynamics(q, v, tau, contacts)

    @in_any_coordinates
    def linearize(
        self,
        q: Any,
        v: Any,
        tau: Any,
        dt: Any = None,
        f_ext: Wrenches | None = None,
        contacts: Sequence[Contact] | None = None,
        *,
        coordinates: Coordinates = "native",
    ) -> tuple[Array, Array]:
        """A (2 nv, 2 nv) and B (2 nv, nv) of the motion near q, v, τ: ẋ = A x + B u.

        x = [δq; δv], with δq the `difference` from the nominal to the other configuration, and
        u = δτ. With `dt` in seconds they are those of x after dt, x⁺ = A x + B u, for u that is
        held and A and B that stay as they are at its start. With `contacts` the motion is that of
        `contact_dynamics`, which takes no `f_ext`.
        """
        return self._derivatives.linearize(q, v, tau, dt, f_ext, contacts)

    @finite
    def inverse_dynamics_rates(
        self, q: Any, v: Any, a: Any, jerk: Any, snap: Any
    ) -> tuple[Array, Array, Array]:
        """τ, τ̇ and τ̈ (nv,) in O(N) along a motion with these rates of v: a, jerk and snap.

        In native coordinates; a, jerk and snap are the first three time derivatives of v.
        """
        return self._derivatives.rates(q, v, a, jerk, snap)

    @finite
    def geometric_derivatives(self, q: Any, v: Any, a: Any) -> Array:
        """∂τ/∂π (nv, joints, 6) of `inverse_dynamics` by where joints are ([M18] section 6.2).

        π of a joint displaces its frame, and all that hangs from it, in the link before it: three
        turns (rad) and three shifts (m) along the axes of the joint's frame at q = 0. Joints are
        those of `model.joints`, in that order. Native coordinates. The derivatives by inertial
        parameters are the `regressor`, as τ is linear in them.
        """
        return self._geometry.inverse_dynamics(q, v, a)

    @finite
    def frame_geometric_jacobian(
        self, q: Any, frame: str, representation: str = "hybrid", point: Any = None
    ) -> Array:
        """How the same π displace a frame (6, joints, 6), as a twist: for calibration."""
        return self._geometry.frame_jacobian(q, frame, representation, point)
