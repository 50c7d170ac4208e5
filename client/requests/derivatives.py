"""Derivatives along the manifold, a column per velocity: methods over `derivatives`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torqued.client.requests import results
from torqued.client.requests.methods import Method
from torqued.client.requests.request_parts import (
    Request,
    arrays,
    as_number,
    constraints_of,
    numbers,
    only,
    options,
    several,
)
from torqued.client.requests.results import Array


class Derivatives:
    """Of what the robot's model gives."""

    @Method
    @staticmethod
    def inverse_dynamics_derivatives(
        q: Any, v: Any, a: Any, f_ext: Mapping[str, Any] | None = None
    ) -> Request[tuple[Array, Array]]:
        """∂τ/∂q and ∂τ/∂v (nv, nv) of inverse dynamics; ∂τ/∂a is M."""
        fields = {"of": "inverse_dynamics"} | numbers(q=q, v=v, a=a)
        fields |= options(f_ext=arrays(f_ext))
        return Request("derivatives", fields, several("dtau_dq", "dtau_dv"))

    @Method
    @staticmethod
    def inverse_dynamics_second_derivatives(
        q: Any, v: Any, a: Any
    ) -> Request[results.SecondDerivatives]:
        """Of τ by pairs of q, v and a, (nv, nv, nv) each."""
        fields = {"of": "second_order"} | numbers(q=q, v=v, a=a)
        return Request("derivatives", fields, results.SecondDerivatives)

    @Method
    @staticmethod
    def inverse_dynamics_rates(
        q: Any, v: Any, a: Any, jerk: Any, snap: Any
    ) -> Request[tuple[Array, Array, Array]]:
        """τ, τ̇ and τ̈ (nv,) along a motion, whose next rates after a are jerk and snap (nv,)."""
        fields = {"of": "rates"} | numbers(q=q, v=v, a=a, jerk=jerk, snap=snap)
        return Request("derivatives", fields, several("tau", "tau_dot", "tau_ddot"))

    @Method
    @staticmethod
    def regressor(q: Any, v: Any, a: Any) -> Request[Array]:
        """∂τ/∂(inertial parameters) (nv, 10 bodies): of m, h = m c and Ī of every body."""
        fields = {"of": "inertia"} | numbers(q=q, v=v, a=a)
        return Request("derivatives", fields, only("dtau_dinertia"))

    @Method
    @staticmethod
    def geometric_derivatives(q: Any, v: Any, a: Any) -> Request[Array]:
        """∂τ (nv, joints, 6) by turns and shifts of joints' frames."""
        fields = {"of": "geometry"} | numbers(q=q, v=v, a=a)
        return Request("derivatives", fields, only("dtau_dgeometry"))

    @Method
    @staticmethod
    def forward_dynamics_derivatives(
        q: Any, v: Any, tau: Any, f_ext: Mapping[str, Any] | None = None
    ) -> Request[tuple[Array, Array, Array]]:
        """∂a/∂q, ∂a/∂v and ∂a/∂τ = M⁻¹ (nv, nv) of forward dynamics."""
        fields = {"of": "forward_dynamics"} | numbers(q=q, v=v, tau=tau)
        fields |= options(f_ext=arrays(f_ext))
        return Request("derivatives", fields, several("da_dq", "da_dv", "da_dtau"))

    @Method
    @staticmethod
    def contact_dynamics_derivatives(
        q: Any, v: Any, tau: Any, contacts: Sequence[Any]
    ) -> Request[results.ContactDerivatives]:
        """Of accelerations and contact forces by q, v and τ, while frames are held."""
        fields = {"of": "contact_dynamics"} | numbers(q=q, v=v, tau=tau)
        fields["contacts"] = constraints_of(contacts)
        return Request("derivatives", fields, results.ContactDerivatives)

    @Method
    @staticmethod
    def linearize(
        q: Any,
        v: Any,
        tau: Any,
        dt: Any = None,
        f_ext: Mapping[str, Any] | None = None,
        contacts: Sequence[Any] | None = None,
    ) -> Request[tuple[Array, Array]]:
        """A (2 nv, 2 nv) and B (2 nv, nv) of ẋ = A x + B u, x = [δq; δv], u = δτ; sampled with a
        time step dt s."""
        held = None if contacts is None else constraints_of(contacts)
        step = None if dt is None else as_number(dt, "dt")
        fields = {"of": "linearization"} | numbers(q=q, v=v, tau=tau)
        fields |= options(dt=step, f_ext=arrays(f_ext), contacts=held)
        return Request("derivatives", fields, several("A", "B"))
