"""What controllers and observers are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.tracking import PARAMETERS
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import finite
from torqued.kernels.robot.core import RobotCore


class ControlTerms(RobotCore):
    """Feed-forward torques, momenta and regressors."""

    @finite
    def tracking_torque(
        self, q: Any, v: Any, v_ref: Any, a_ref: Any, *, out: Array | None = None
    ) -> Array:
        """M a_ref + C(q, v) v_ref + g in O(N), shape (nv,): Slotine and Li's feed-forward."""
        tree = self.checked_tree
        q, v = tree.q(q), tree.v("v", v)
        w, a = tree.v("v_ref", v_ref), tree.v("a_ref", a_ref)
        tau = tree.target(out, (tree.nv_free,), q, v, w, a)
        COMPILED.tracking_torque(tree.handle, q, v, w, a, tau)
        return tree.projected("vector", tau, out)

    @finite
    def generalized_momentum(self, q: Any, v: Any = None) -> tuple[Array, Array]:
        """p = M v and Cᵀ v − g, (nv,) each: ṗ is the latter plus all torques."""
        tree = self.checked_tree
        p, rate = np.empty((2, tree.nv_free))
        COMPILED.generalized_momentum(tree.handle, tree.q(q), tree.v("v", v), p, rate)
        return tree.projected("vector", p), tree.projected("vector", rate)

    @property
    def inertial_parameters(self) -> Array:
        """Ten numbers per body in its own frame, (10 bodies,): m, m c, Ī (xx xy xz yy yz zz).

        Bodies as the model has them: links joined by fixed joints are one.
        """
        out = []
        for body in self.model.bodies:
            m, c = float(body.mass), np.array(body.com)
            rotational = np.zeros((3, 3))
            rotational[np.triu_indices(3)] = body.inertia
            rotational = np.triu(rotational) + np.triu(rotational, 1).T
            rotational = rotational + m * (c @ c * np.eye(3) - np.outer(c, c))
            out.append([m, *(m * c), *rotational[np.triu_indices(3)]])
        return np.array(out).ravel()

    @finite
    def regressor(self, q: Any, v: Any, a: Any, v_ref: Any = None) -> Array:
        """Y (nv, 10 bodies) with M a + C(q, v) v_ref + g = Y π, π = `inertial_parameters`.

        v_ref is v where it is not given. Rotor inertias are not part of π.
        """
        tree = self.checked_tree
        Y = np.empty((tree.nv_free, PARAMETERS * len(tree.model.bodies)))
        q, v, a = tree.q(q), tree.v("v", v), tree.v("a", a)
        w = v if v_ref is None else tree.v("v_ref", v_ref)
        COMPILED.regressor(tree.handle, q, v, w, a, Y)
        return np.ascontiguousarray(tree.projected("rows", np.ascontiguousarray(Y.T)).T)
