"""Configurations, natively: the neutral one, random ones, and the way between two."""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.input_checks import number, shown
from torqued.kernels.model.description import Array
from torqued.kernels.robot.tree import FreeTree

#: Where random states lie when a robot has no limits: rad or m.
OPEN_RANGE = {"prismatic": 1.0, "translation": 1.0, "planar": 1.0, "floating": 1.0}


class Configurations:
    """q and v of a robot as points and steps of its manifold."""

    def __init__(self, tree: FreeTree) -> None:
        self._tree = tree

    def neutral(self) -> Array:
        q = np.zeros(self._tree.nq)
        for _, k in self._tree.quaternions:
            q[k + 3] = 1.0
        return q

    def random_state(self, rng: Any) -> tuple[Array, Array]:
        if not isinstance(rng, np.random.Generator):
            message = f"rng: {shown(rng)}, expected a random generator of numpy"
            raise InputError(message, "rng", None, "numpy.random.default_rng(seed)")
        tree, model = self._tree, self._tree.model
        q = np.empty(tree.nq_free)
        for joint in model.joints:
            part = slice(joint.q, joint.q + joint.nq)
            reach = OPEN_RANGE.get(joint.type, np.pi)
            lower, upper = model.dofs.lower[part], model.dofs.upper[part]
            # Limits may lie wholly outside the usual range: then as far from the nearer one.
            lowest = np.maximum(lower, np.minimum(-reach, upper - reach))
            highest = np.minimum(upper, np.maximum(reach, lower + reach))
            q[part] = rng.uniform(lowest, highest)
        q = q[model.mimics.leaders_q]
        for _, k in tree.quaternions:
            quaternion = rng.normal(size=4)
            q[k : k + 4] = quaternion / np.linalg.norm(quaternion)
        return q, rng.normal(size=tree.nv)

    def integrate(self, q: Any, v: Any, dt: float) -> Array:
        tree, out = self._tree, np.empty(self._tree.nq_free)
        with np.errstate(over="ignore"):  # told of the result
            step = tree.v("v", v) * number("dt", dt)
        COMPILED.integrate(tree.handle, tree.q(q), step, out)
        return out[tree.model.mimics.leaders_q]

    def difference(self, q0: Any, q1: Any) -> Array:
        tree, out = self._tree, np.empty(self._tree.nv_free)
        COMPILED.difference(tree.handle, tree.q(q0, "q0"), tree.q(q1, "q1"), out)
        return out[tree.model.mimics.leaders_v]
