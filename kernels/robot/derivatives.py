"""Derivatives of the equations of motion, natively: of τ by q and v, of a by q, v and τ.

Each method wraps the compiled in-place kernel of the file in kernels/derivatives/ that is named
after it.
"""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.derivatives.linearization import linearized
from torqued.kernels.derivatives.space import DerivativeSpace, SpaceSizes, derivative_space
from torqued.kernels.model.description import Array
from torqued.kernels.primitives.arrays import Memory
from torqued.kernels.robot.dynamics import Dynamics
from torqued.kernels.robot.frame_table import FrameTable, Wrenches
from torqued.kernels.robot.tree import FreeTree


class Derivatives:
    """Along the manifold: ∂/∂q_k is the derivative by ε at integrate(q, e_k, ε)."""

    def __init__(self, tree: FreeTree, frames: FrameTable, dynamics: Dynamics) -> None:
        self._tree, self._frames, self._dynamics = tree, frames, dynamics

    @cached_property
    def space(self) -> Memory[DerivativeSpace, SpaceSizes]:
        """Made when it is first asked for: many robots never are."""
        return derivative_space(self._tree.work.arrays)

    def inverse_dynamics(
        self, q: Any, v: Any, a: Any, f_ext: Wrenches | None
    ) -> tuple[Array, Array, Array]:
        """M, ∂τ/∂q and ∂τ/∂v."""
        tree = self._tree
        q, v, a = tree.q(q), tree.v("v", v), tree.v("a", a)
        M, dq, dv = (np.empty((tree.nv_free, tree.nv_free)) for _ in range(3))
        here = tree.handle, self.space.address
        if f_ext is None:
            COMPILED.inverse_dynamics_derivatives(*here, q, v, a, M, dq, dv)
        else:
            forces = self._frames.wrenches(f_ext)
            COMPILED.inverse_dynamics_derivatives_forced(*here, q, v, a, *forces, M, dq, dv)
        return (
            tree.projected("matrix", M),
            tree.projected("matrix", dq),
            tree.projected("matrix", dv),
        )

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

    def linearize(
        self, q: Any, v: Any, tau: Any, dt: Any, f_ext: Wrenches | None
    ) -> tuple[Array, Array]:
        """A and B of the state-space form."""
        derivatives = self.forward_dynamics(q, v, tau, f_ext)
        return linearized(self._tree.drift_of_difference(v), *derivatives, dt)
