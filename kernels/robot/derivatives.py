"""Derivatives of the equations of motion, natively: of τ by q and v, of a by q, v and τ.

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
from torqued.kernels.robot.contacts import Contacts
from torqued.kernels.robot.dynamics import Dynamics
from torqued.kernels.robot.frame_table import FrameTable, Wrenches
from torqued.kernels.robot.tree import FreeTree


class Derivatives:
    """Along the manifold: ∂/∂q_k is the derivative by ε at integrate(q, e_k, ε)."""

    def __init__(
        self, tree: FreeTree, frames: FrameTable, dynamics: Dynamics, contacts: Contacts
    ) -> None:
        self._tree, self._frames = tree, frames
        self._dynamics, self._contacts = dynamics, contacts

    @cached_property
    def space(self) -> Memory[DerivativeSpace, SpaceSizes]:
        """Made when it is first asked for: many robots never are."""
        return derivative_space(self._tree.work.arrays)

    def inverse_dynamics(
        self, q: Any, v: Any, a: Any, f_ext: Wrenches | None
    ) -> tuple[Array, Array, Array]:
        """M, ∂τ/∂q and ∂τ/∂v."""
        forces = None if f_ext is None else self._frames.wrenches(f_ext)
        return self._inverse_dynamics(q, v, a, forces)

    def _inverse_dynamics(
        self, q: Any, v: Any, a: Any, forces: tuple[Any, Array] | None
    ) -> tuple[Array, Array, Array]:
        """The same, with wrenches as kernels take them."""
        tree = self._tree
        q, v, a = tree.q(q), tree.v("v", v), tree.v("a", a)
        M, dq, dv = (np.empty((tree.nv_free, tree.nv_free)) for _ in range(3))
        here = tree.handle, self.space.address
        if forces is None:
            COMPILED.inverse_dynamics_derivatives(*here, q, v, a, M, dq, dv)
        else:
            COMPILED.inverse_dynamics_derivatives_forced(*here, q, v, a, *forces, M, dq, dv)
        return (
            tree.projected("matrix", M),
            tree.projected("matrix", dq),
            tree.projected("matrix", dv),
        )

    def second_order(self, q: Any, v: Any, a: Any) -> SecondDerivatives:
        """Of τ; the kernel leaves those alone that are zero for every q."""
        tree, n = self._tree, self._tree.nv_free
        q, v, a = tree.q(q), tree.v("v", v), tree.v("a", a)
        found = [np.zeros((n, n, n)) for _ in range(4)]
        COMPILED.inverse_dynamics_second_derivatives(
            tree.handle, self.space.address, q, v, a, *found
        )
        return SecondDerivatives(*(tree.projected("tensor", x) for x in found))

    def mass_matrix(self, q: Any) -> Array:
        """∂M/∂q, which depends on neither velocities nor accelerations."""
        rest = np.zeros(self._tree.nv)
        return self.second_order(q, rest, rest).dM_dq

    def forward_dynamics(
        self, q: Any, v: Any, tau: Any, f_ext: Wrenches | None
    ) -> tuple[Array, Array, Array]:
        """∂a/∂q, ∂a/∂v and ∂a/∂τ."""
        tree = self._tree
        if tree.follows:
            return self._forward_dynamics_of_leaders(q, v, tau, f_ext)
        q, v, tau = tree.q(q), tree.v("v", v), tree.v("tau", tau)
        dq, dv, dtau = (np.empty((tree.nv, tree.nv)) for _ in range(3))
        here = tree.handle, self.space.address
        if f_ext is None:
            status = COMPILED.forward_dynamics_derivatives(*here, q, v, tau, dq, dv, dtau)
        else:
            forces = self._frames.wrenches(f_ext)
            status = COMPILED.forward_dynamics_derivatives_forced(
                *here, q, v, tau, *forces, dq, dv, dtau
            )
        tree.require_regular(status)
        return dq, dv, dtau

    def _forward_dynamics_of_leaders(
        self, q: Any, v: Any, tau: Any, f_ext: Wrenches | None
    ) -> tuple[Array, Array, Array]:
        """The same where joints follow others: the equations of the leaders, by Cholesky."""
        a = self._dynamics.forward_dynamics(q, v, tau, f_ext)
        L, dq, dv = self.inverse_dynamics(q, v, a, f_ext)
        self._tree.require_regular(COMPILED.cholesky(L))
        out = []
        for right in (-dq, -dv, np.eye(len(L))):
            columns = np.ascontiguousarray(right.T)
            for column in columns:
                COMPILED.cholesky_solve(L, column)
            out.append(np.ascontiguousarray(columns.T))
        return out[0], out[1], out[2]

    def contact_dynamics(
        self, q: Any, v: Any, tau: Any, given: Sequence[Contact]
    ) -> ContactDerivatives:
        """Of a and λ: both equations, M a + bias − Gᵀ λ = τ and G a = γ, differentiated.

        Forces of constant λ are wrenches in world axes, as contacts' axes are the world's.
        """
        tree, n = self._tree, self._tree.nv
        solution = self._contacts.contact_dynamics(q, v, tau, given, "range_space", None)
        if solution.rank_deficient or solution.conflicting:
            what = "redundant" if solution.rank_deficient else "in conflict"
            raise NumericalError(
                f"contacts: they are {what} in this configuration; their forces have no derivative"
            )
        records = self._contacts.records(given)
        wrenches = np.array([found.wrench for found in solution.contacts])
        frames = np.concatenate([records.a, records.b]).view(np.recarray)
        forces = frames, np.concatenate([wrenches, -wrenches])
        M, dq, dv = self._inverse_dynamics(q, v, solution.a, forces)
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

    def rates(self, q: Any, v: Any, a: Any, jerk: Any, snap: Any) -> tuple[Array, Array, Array]:
        """τ, τ̇ and τ̈."""
        tree = self._tree
        given = tree.v("v", v), tree.v("a", a), tree.v("jerk", jerk), tree.v("snap", snap)
        out = [np.empty(tree.nv_free) for _ in range(3)]
        here = tree.handle, self.space.address
        COMPILED.inverse_dynamics_rates(*here, tree.q(q), *given, *out)
        tau, first, second = (tree.projected("vector", x) for x in out)
        return tau, first, second

    def linearize(
        self,
        q: Any,
        v: Any,
        tau: Any,
        dt: Any,
        f_ext: Wrenches | None,
        contacts: Sequence[Contact] | None,
    ) -> tuple[Array, Array]:
        """A and B of the state-space form."""
        if contacts is None:
            derivatives = self.forward_dynamics(q, v, tau, f_ext)
        else:
            require_one(f_ext)
            held = self.contact_dynamics(q, v, tau, contacts)
            derivatives = held.da_dq, held.da_dv, held.da_dtau
        return linearized(self._tree.drift_of_difference(v), *derivatives, dt)
