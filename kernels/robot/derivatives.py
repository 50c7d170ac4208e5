"""Derivatives of the equations of motion: of τ by q and v, of a by q, v and τ.

Each method wraps the compiled in-place kernel of the file in kernels/derivatives/ that is named
after it.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from torqued.common.errors import NumericalError
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.contacts.types import Contact, ContactDerivatives
from torqued.kernels.derivatives.linearization import linearized, require_one
from torqued.kernels.derivatives.results import SecondDerivatives
from torqued.kernels.derivatives.space import DerivativeSpace, SpaceSizes, derivative_space
from torqued.kernels.model.description import Array
from torqued.kernels.primitives.arrays import Memory
from torqued.kernels.result_checks import finite, finite_arithmetic
from torqued.kernels.robot.contacts import Contacts
from torqued.kernels.robot.frame_table import Wrenches


class Derivatives(Contacts):
    """Derivatives by q are along the manifold: ∂/∂q_k is the derivative by ε at
    integrate(q, e_k, ε), so that they have a column per velocity, of floating bases too."""

    @cached_property
    def _derivative_space(self) -> Memory[DerivativeSpace, SpaceSizes]:
        """Scratch memory, made when it is first needed."""
        return derivative_space(self.work.arrays)

    @finite
    def inverse_dynamics_derivatives(
        self, q: Any, v: Any, a: Any, f_ext: Wrenches | None = None
    ) -> tuple[Array, Array]:
        """∂τ/∂q and ∂τ/∂v of `inverse_dynamics`, (nv, nv) each; ∂τ/∂a is `mass_matrix`.

        Wrenches stay as they are, in world axes, while the frames that they act on move.
        """
        _, dq, dv = self._inverse_dynamics_derivatives(q, v, a, self._wrenches(f_ext))
        return dq, dv

    def _wrenches(self, f_ext: Wrenches | None) -> tuple[Any, Array] | None:
        return None if f_ext is None else self.frame_table.wrenches(f_ext)

    def _inverse_dynamics_derivatives(
        self, q: Any, v: Any, a: Any, forces: tuple[Any, Array] | None
    ) -> tuple[Array, Array, Array]:
        """M, ∂τ/∂q and ∂τ/∂v, with wrenches as kernels take them."""
        tree = self.checked_tree
        q, v, a = tree.q(q), tree.v("v", v), tree.v("a", a)
        M, dq, dv = (np.empty((tree.nv_free, tree.nv_free)) for _ in range(3))
        here = tree.handle, self._derivative_space.address
        if forces is None:
            COMPILED.inverse_dynamics_derivatives(*here, q, v, a, M, dq, dv)
        else:
            COMPILED.inverse_dynamics_derivatives_forced(*here, q, v, a, *forces, M, dq, dv)
        M, dq, dv = (tree.projected("matrix", x) for x in (M, dq, dv))
        return M, dq, dv

    @finite
    def inverse_dynamics_second_derivatives(self, q: Any, v: Any, a: Any) -> SecondDerivatives:
        """Second derivatives of `inverse_dynamics`, and ∂M/∂q, (nv, nv, nv) each.

        `dtau_dqdq[:, :, l]` is the derivative by ε of ∂τ/∂q at integrate(q, e_l, ε). For
        joints whose velocities are rates of coordinates it does not matter which of the two is
        taken first; of two velocities of a floating base, or of a spherical joint, it does.
        """
        tree, n = self.checked_tree, self.checked_tree.nv_free
        q, v, a = tree.q(q), tree.v("v", v), tree.v("a", a)
        found = [np.zeros((n, n, n)) for _ in range(4)]  # what is zero for every q stays so
        COMPILED.inverse_dynamics_second_derivatives(
            tree.handle, self._derivative_space.address, q, v, a, *found
        )
        return SecondDerivatives(*(tree.projected("tensor", x) for x in found))

    @finite
    def mass_matrix_derivatives(self, q: Any) -> Array:
        """∂M/∂q (nv, nv, nv): [j, k, l] is the derivative of M_jk along velocity l."""
        rest = np.zeros(self.nv)  # it depends on neither velocities nor accelerations
        return self.inverse_dynamics_second_derivatives(q, rest, rest).dM_dq

    @finite
    def forward_dynamics_derivatives(
        self, q: Any, v: Any, tau: Any, f_ext: Wrenches | None = None
    ) -> tuple[Array, Array, Array]:
        """∂a/∂q, ∂a/∂v and ∂a/∂τ = M⁻¹ of `forward_dynamics`, (nv, nv) each."""
        tree = self.checked_tree
        if tree.follows:
            return self._forward_dynamics_of_leaders(q, v, tau, f_ext)
        q, v, tau = tree.q(q), tree.v("v", v), tree.v("tau", tau)
        dq, dv, dtau = (np.empty((tree.nv, tree.nv)) for _ in range(3))
        here = tree.handle, self._derivative_space.address
        if f_ext is None:
            status = COMPILED.forward_dynamics_derivatives(*here, q, v, tau, dq, dv, dtau)
        else:
            forces = self.frame_table.wrenches(f_ext)
            status = COMPILED.forward_dynamics_derivatives_forced(
                *here, q, v, tau, *forces, dq, dv, dtau
            )
        tree.require_regular(status)
        return dq, dv, dtau

    def _forward_dynamics_of_leaders(
        self, q: Any, v: Any, tau: Any, f_ext: Wrenches | None
    ) -> tuple[Array, Array, Array]:
        """The same where joints follow others: the equations of the leaders, by Cholesky."""
        a = self.forward_dynamics(q, v, tau, f_ext)
        L, dq, dv = self._inverse_dynamics_derivatives(q, v, a, self._wrenches(f_ext))
        self.checked_tree.require_regular(COMPILED.cholesky(L))
        out = []
        for right in (-dq, -dv, np.eye(len(L))):
            columns = np.ascontiguousarray(right.T)
            for column in columns:
                COMPILED.cholesky_solve(L, column)
            out.append(np.ascontiguousarray(columns.T))
        return out[0], out[1], out[2]

    @finite
    def contact_dynamics_derivatives(
        self, q: Any, v: Any, tau: Any, contacts: Sequence[Contact]
    ) -> ContactDerivatives:
        """Derivatives of the accelerations and forces of `contact_dynamics` by q, v and τ.

        Refused where contacts are redundant: their forces are not unique then.
        """
        # Both equations, M a + bias − Gᵀ λ = τ and G a = γ, differentiated. Forces of constant λ
        # are wrenches in world axes, as contacts' axes are the world's.
        tree, n = self.checked_tree, self.checked_tree.nv
        solution = self.contact_dynamics(q, v, tau, contacts)
        if solution.rank_deficient or solution.conflicting:
            what = "redundant" if solution.rank_deficient else "in conflict"
            raise NumericalError(
                f"contacts: they are {what} in this configuration; their forces have no derivative"
            )
        records = self.contact_records(contacts)
        wrenches = np.array([found.wrench for found in solution.contacts])
        frames = np.concatenate([records.a, records.b]).view(np.recarray)
        forces = frames, np.concatenate([wrenches, -wrenches])
        M, dq, dv = self._inverse_dynamics_derivatives(q, v, solution.a, forces)
        m = len(solution.force)
        c_dq, c_dv = np.empty((2, m, tree.nv_free))
        free = tree.q(q), tree.v("v", v), tree.v("a", solution.a)
        COMPILED.contact_acceleration_derivatives(tree.handle, *free, records, c_dq, c_dv)
        G = solution.G
        both = np.block([[M, -G.T], [G, np.zeros((m, m))]])
        by_q = np.vstack([dq, tree.projected("rows", c_dq)])
        by_v = np.vstack([dv, tree.projected("rows", c_dv)])
        by_tau = np.vstack([-np.eye(n), np.zeros((m, n))])
        out = -np.linalg.solve(both, np.hstack([by_q, by_v, by_tau]))
        blocks = [np.ascontiguousarray(x) for x in np.hsplit(out, 3)]
        return ContactDerivatives(*(x[:n] for x in blocks), *(x[n:] for x in blocks))

    @finite_arithmetic
    def inverse_dynamics_rates(
        self, q: Any, v: Any, a: Any, jerk: Any, snap: Any
    ) -> tuple[Array, Array, Array]:
        """τ, τ̇ and τ̈ (nv,) in O(N) along a motion with these rates of v: a, jerk and snap.

        In native coordinates; a, jerk and snap are the first three time derivatives of v.
        """
        tree = self.checked_tree
        given = tree.v("v", v), tree.v("a", a), tree.v("jerk", jerk), tree.v("snap", snap)
        out = [np.empty(tree.nv_free) for _ in range(3)]
        here = tree.handle, self._derivative_space.address
        COMPILED.inverse_dynamics_rates(*here, tree.q(q), *given, *out)
        tau, first, second = (tree.projected("vector", x) for x in out)
        return tau, first, second

    @finite
    def linearize(
        self,
        q: Any,
        v: Any,
        tau: Any,
        dt: Any = None,
        f_ext: Wrenches | None = None,
        contacts: Sequence[Contact] | None = None,
    ) -> tuple[Array, Array]:
        """A (2 nv, 2 nv) and B (2 nv, nv) of the motion near q, v, τ: ẋ = A x + B u.

        x = [δq; δv], with δq the `difference` from the nominal to the other configuration, and
        u = δτ. With `dt` in seconds they are those of x after dt, x⁺ = A x + B u, for u that is
        held and A and B that stay as they are at its start. With `contacts` the motion is that of
        `contact_dynamics`, which takes no `f_ext`.
        """
        if contacts is None:
            derivatives = self.forward_dynamics_derivatives(q, v, tau, f_ext)
        else:
            require_one(f_ext)
            held = self.contact_dynamics_derivatives(q, v, tau, contacts)
            derivatives = held.da_dq, held.da_dv, held.da_dtau
        return linearized(self.checked_tree.drift_of_difference(v), *derivatives, dt)
