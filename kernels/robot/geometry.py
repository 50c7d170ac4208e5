"""Derivatives by where joints are in their links: geometric parameters of [M18] section 6.2."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.input_checks import choice
from torqued.kernels.model.description import Array
from torqued.kernels.primitives import layout
from torqued.kernels.result_checks import finite_arithmetic
from torqued.kernels.robot.core import RobotCore
from torqued.kernels.screws.representations import transformation


class Geometry(RobotCore):
    """Six parameters a joint: B_i exp(π) is where its frame is in its parent link."""

    @cached_property
    def _first_bodies(self) -> NDArray[np.int64]:
        """The first body that each joint moves."""
        body_of = self.tree.work.arrays.body_of
        return np.array([body_of[joint.v] for joint in self.tree.model.joints], np.int64)

    @cached_property
    def _sites(self) -> NDArray[np.void]:
        """The joints' frames at q = 0, fixed on the bodies before them."""
        model, body_of = self.tree.model, self.tree.work.arrays.body_of
        out = np.zeros(len(model.joints), layout.FRAME).view(np.recarray)
        for record, joint in zip(out, model.joints, strict=True):
            R, p = np.eye(3), np.zeros(3)
            last = int(body_of[joint.v + joint.nv - 1])
            for b in range(int(body_of[joint.v]), last + 1):
                body = model.bodies[b]
                R, p = R @ body["R"].reshape(3, 3), p + R @ body["p"]
            own = self.frame_table.place("joint", joint.name)
            if own.body == last:  # else a link of that name is elsewhere
                R, p = R @ own.R, p + R @ own.p
            record.body, record.R, record.p = model.bodies[body_of[joint.v]]["parent"], R.ravel(), p
        return out

    @finite_arithmetic
    def geometric_derivatives(self, q: Any, v: Any, a: Any) -> Array:
        """∂τ/∂π (nv, joints, 6) of `inverse_dynamics` by where joints are ([M18] section 6.2).

        π of a joint displaces its frame, and all that hangs from it, in the link before it: three
        turns (rad) and three shifts (m) along the axes of the joint's frame at q = 0. Joints are
        those of `model.joints`, in that order. Native coordinates. The derivatives by inertial
        parameters are the `regressor`, as τ is linear in them.
        """
        tree, count = self.tree, len(self._first_bodies)
        out = np.empty((tree.nv_free, 6 * count))
        motion = tree.q(q), tree.v("v", v), tree.v("a", a)
        COMPILED.geometric_derivatives(tree.handle, *motion, self._sites, self._first_bodies, out)
        if tree.follows:
            out = tree.projected("rows", np.ascontiguousarray(out.T)).T
        return np.ascontiguousarray(out).reshape(tree.nv, count, 6)

    @finite_arithmetic
    def frame_geometric_jacobian(
        self, q: Any, frame: str, representation: str = "hybrid", point: Any = None
    ) -> Array:
        """How the same π displace a frame (6, joints, 6), as a twist: for calibration."""
        choice("representation", representation, REPRESENTATIONS)
        tree, count = self.tree, len(self._first_bodies)
        records = np.concatenate([self.frame_table.records([frame], point), self._sites])
        poses = np.empty((1 + count, 4, 4))
        COMPILED.frame_poses(tree.handle, tree.q(q), records.view(np.recarray), poses)
        moved = self._bodies_to(int(records[0]["body"]))
        out = np.zeros((6, count, 6))
        for s in range(count):
            if int(self._first_bodies[s]) in moved:
                R, arm = poses[1 + s, :3, :3], poses[0, :3, 3] - poses[1 + s, :3, 3]
                out[:3, s, :3] = R
                out[3:, s, :3] = np.cross(R, arm, axisa=0, axisc=0)
                out[3:, s, 3:] = R
        (T,) = transformation("hybrid", representation, poses[0])
        represented: Array = np.einsum("ab,bsm->asm", T, out)
        return represented

    def _bodies_to(self, body: int) -> set[int]:
        """A body and all between it and the world."""
        found = set()
        while body >= 0:
            found.add(body)
            body = int(self.tree.model.bodies[body]["parent"])
        return found
