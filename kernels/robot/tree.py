"""The tree that kernels walk, for all parts of a robot: states checked and mapped to it, results
mapped back.

Kernels know no mimic joints: in their tree every joint moves freely, which makes nq_free
coordinates and nv_free velocities. A robot's own are those of the joints that others follow.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.common.errors import NumericalError
from torqued.kernels.charts.chart import QUATERNION_OFFSET
from torqued.kernels.charts.rotation import skew
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.articulated import OK
from torqued.kernels.input_checks import QUATERNION_TOLERANCE, numbers, unit_quaternions
from torqued.kernels.model.description import Array
from torqued.kernels.model.model import Model
from torqued.kernels.primitives.workspace import Workspace
from torqued.kernels.result_checks import result_array


class FreeTree:
    """A model with a workspace: for one thread at a time."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.work = Workspace(model.world, model.bodies)
        self.handle = self.work.handle  # what kernels take
        mimics = model.mimics
        self.follows = mimics.present
        self.nq_free, self.nv_free = len(mimics.q_index), len(mimics.v_index)
        self.nq, self.nv = len(mimics.leaders_q), len(mimics.leaders_v)
        #: Names of joints with quaternions, and where these begin in q.
        self.quaternions = [
            (
                joint.name,
                int(np.searchsorted(mimics.leaders_q, joint.q + QUATERNION_OFFSET[joint.type])),
            )
            for joint in model.joints
            if joint.type in QUATERNION_OFFSET
        ]

        self._starts = np.array([start for _, start in self.quaternions], np.int64)

    def own_q(self, q: Any, name: str = "q") -> Array:
        """The robot's coordinates (nq,), checked."""
        own = numbers(name, q, (self.nq,))
        if self.quaternions and not COMPILED.unit_quaternions_at(
            own, self._starts, QUATERNION_TOLERANCE
        ):
            unit_quaternions(name, own, self.quaternions)
        return own

    def own_v(self, name: str, v: Any) -> Array:
        """The robot's velocities, accelerations or torques (nv,), checked; no v is rest."""
        if v is None and name == "v":
            return np.zeros(self.nv)
        return numbers(name, v, (self.nv,))

    def q(self, q: Any, name: str = "q") -> Array:
        """The free tree's coordinates for the robot's q, checked."""
        own = self.own_q(q, name)
        if not self.follows:
            return own
        mimics, free = self.model.mimics, np.empty(self.nq_free)
        COMPILED.expand_position(mimics.q_index, mimics.q_multiplier, mimics.offset, own, free)
        return free

    def v(self, name: str, v: Any) -> Array:
        """The free tree's velocities (or accelerations) for the robot's, checked; no v is rest."""
        own = self.own_v(name, v)
        if not self.follows:
            return own
        mimics, free = self.model.mimics, np.empty(self.nv_free)
        COMPILED.expand(mimics.v_index, mimics.multiplier, own, free)
        return free

    def target(self, out: Array | None, shape: tuple[int, ...], *arguments: Array) -> Array:
        """Where a kernel writes a result of the free tree: the caller's array, where it can be."""
        return result_array("out", None if self.follows else out, shape, arguments)

    def projected(self, projection: str, free: Array, out: Array | None = None) -> Array:
        """A result of the free tree in the robot's coordinates; the names are of quantities.py."""
        if not self.follows or projection == "none":
            return free
        mimics, n = self.model.mimics, self.nv
        shapes = {"vector": (n,), "matrix": (n, n), "tensor": (n, n, n), "rows": (len(free), n)}
        own = result_array("out", out, shapes[projection])
        getattr(COMPILED, f"project_{projection}")(mimics.v_index, mimics.multiplier, free, own)
        return own

    def drift_of_difference(self, v: Any) -> Array:
        """(nv, nv): what a difference δq of configurations changes by itself while both move.

        A floating joint's is counted in the axes of its body, so that δq̇ = δv − ν × δq; a
        spherical one's likewise. Those of all other joints only change with δv.
        """
        v = self.own_v("v", v)
        out = np.zeros((self.nv, self.nv))
        for joint in self.model.joints:
            if joint.type in QUATERNION_OFFSET:
                k = int(np.searchsorted(self.model.mimics.leaders_v, joint.v))
                turn = skew(v[k : k + 3])
                out[k : k + 3, k : k + 3] = -turn
                if joint.type == "floating":
                    out[k + 3 : k + 6, k + 3 : k + 6] = -turn
                    out[k + 3 : k + 6, k : k + 3] = -skew(v[k + 3 : k + 6])
        return out

    def require_regular(self, status: int) -> None:
        """Refuse what a kernel says about the mass matrix, if that is not OK."""
        if status != OK:
            raise NumericalError(
                f"robot {self.model.name!r}: the mass matrix is singular in this configuration "
                "(a joint moves no inertia, or Euler angles are at their singularity)"
            )
