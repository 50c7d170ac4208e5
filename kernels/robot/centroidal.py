"""Centre of mass and momentum about it, natively."""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.model.description import Array
from torqued.kernels.robot.tree import FreeTree


class Centroidal:
    """[angular momentum about the centre of mass; linear momentum], world axes."""

    def __init__(self, tree: FreeTree) -> None:
        self._tree = tree
        self.mass = float(tree.model.bodies["mass"].sum())

    def center_of_mass(self, q: Any) -> Array:
        tree, com = self._tree, np.empty(3)
        COMPILED.center_of_mass(tree.handle, tree.q(q), com)
        return com

    def center_of_mass_jacobian(self, q: Any) -> Array:
        return np.ascontiguousarray(self.matrix(q)[3:]) / (self.mass if self.mass > 0.0 else 1.0)

    def matrix(self, q: Any) -> Array:
        tree = self._tree
        A = np.empty((6, tree.nv_free))
        COMPILED.centroidal_matrix(tree.handle, tree.q(q), A)
        return tree.projected("rows", A)

    def momentum(self, q: Any, v: Any) -> Array:
        tree, h = self._tree, np.empty(6)
        COMPILED.centroidal_momentum(tree.handle, tree.q(q), tree.v("v", v), h)
        return h

    def bias(self, q: Any, v: Any) -> Array:
        tree, out = self._tree, np.empty(6)
        at_rest = np.zeros(tree.nv_free)
        COMPILED.centroidal_rate(tree.handle, tree.q(q), tree.v("v", v), at_rest, out)
        return out
