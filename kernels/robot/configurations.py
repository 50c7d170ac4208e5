"""Configurations: the neutral one, random ones, and the way between two."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.input_checks import known_name, map_or_none, number, numbers, shown
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import finite
from torqued.kernels.robot.joints import Joints

#: Where random states lie when a robot has no limits: rad or m.
OPEN_RANGE = {"prismatic": 1.0, "translation": 1.0, "planar": 1.0, "floating": 1.0}


class Configurations(Joints):
    """q and v of a robot as points and steps of its manifold."""

    def neutral(self) -> Array:
        """All coordinates zero and quaternions at identity, shape (nq,)."""
        q = np.zeros(self.tree.nq)
        for _, k in self.tree.quaternions:
            q[k + 3] = 1.0
        return q

    def q_from(self, positions: Mapping[str, Any]) -> Array:
        """q (nq,) with joints at the given positions and all others neutral: a number by the
        joint's name, or as many as the joint has coordinates."""
        q = self.neutral()
        for name, value in map_or_none("positions", positions).items():
            joint = self.joint(name)
            q[joint.q] = numbers(f"positions[{name!r}]", np.atleast_1d(value), (joint.nq,))
        return self.tree.own_q(q)

    def posture(self, name: str) -> Array:
        """q (nq,) of a posture that the robot's file or configuration names."""
        postures = self.model.description.postures
        known_name("posture", "posture", name, postures)
        own = {
            joint: q
            for joint, q in postures[name].items()
            if joint in self.model.joint_names  # neither locked nor led by another joint
        }
        return self.q_from(own)

    def random_state(self, rng: np.random.Generator) -> tuple[Array, Array]:
        """q within limits (± π or ± 1 m where there are none) and v of order one."""
        given: Any = rng
        if not isinstance(given, np.random.Generator):
            message = f"rng: {shown(rng)}, expected a random generator of numpy"
            raise InputError(message, "rng", None, "numpy.random.default_rng(seed)")
        tree, model = self.tree, self.tree.model
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

    @finite
    def integrate(self, q: Any, v: Any, dt: float) -> Array:
        """q after moving with constant v for dt seconds, shape (nq,)."""
        tree, out = self.tree, np.empty(self.nq_free)
        with np.errstate(over="ignore"):  # the result is checked
            step = tree.v("v", v) * number("dt", dt)
        COMPILED.integrate(tree.handle, tree.q(q), step, out)
        return out[tree.model.mimics.leaders_q]

    @finite
    def difference(self, q0: Any, q1: Any) -> Array:
        """The velocity (nv,) that takes q0 to q1 in one second: inverse of integrate."""
        tree, out = self.tree, np.empty(self.nv_free)
        COMPILED.difference(tree.handle, tree.q(q0, "q0"), tree.q(q1, "q1"), out)
        return out[tree.model.mimics.leaders_v]
