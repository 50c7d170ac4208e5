"""What controllers and observers are made of, natively."""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.tracking import PARAMETERS
from torqued.kernels.model.description import Array
from torqued.kernels.robot.tree import FreeTree


class ControlTerms:
    """Feed-forward torques, momenta and regressors."""

    def __init__(self, tree: FreeTree) -> None:
        self._tree = tree

    def tracking_torque(self, q: Any, v: Any, v_ref: Any, a_ref: Any) -> Array:
        tree = self._tree
        out = np.empty(tree.nv_free)
        q, v = tree.q(q), tree.v("v", v)
        w, a = tree.v("v_ref", v_ref), tree.v("a_ref", a_ref)
        COMPILED.tracking_torque(tree.handle, q, v, w, a, out)
        return tree.projected("vector", out)

    def generalized_momentum(self, q: Any, v: Any) -> tuple[Array, Array]:
        tree = self._tree
        p, rate = np.empty((2, tree.nv_free))
        COMPILED.generalized_momentum(tree.handle, tree.q(q), tree.v("v", v), p, rate)
        return tree.projected("vector", p), tree.projected("vector", rate)

    def inertial_parameters(self) -> Array:
        out = []
        for body in self._tree.model.bodies:
            m, c = float(body.mass), np.array(body.com)
            rotational = np.zeros((3, 3))
            rotational[np.triu_indices(3)] = body.inertia
            rotational = np.triu(rotational) + np.triu(rotational, 1).T
            rotational = rotational + m * (c @ c * np.eye(3) - np.outer(c, c))
            out.append([m, *(m * c), *rotational[np.triu_indices(3)]])
        return np.array(out).ravel()

    def regressor(self, q: Any, v: Any, a: Any, v_ref: Any) -> Array:
        tree = self._tree
        Y = np.empty((tree.nv_free, PARAMETERS * len(tree.model.bodies)))
        q, v, a = tree.q(q), tree.v("v", v), tree.v("a", a)
        w = v if v_ref is None else tree.v("v_ref", v_ref)
        COMPILED.regressor(tree.handle, q, v, w, a, Y)
        return np.ascontiguousarray(tree.projected("rows", np.ascontiguousarray(Y.T)).T)
