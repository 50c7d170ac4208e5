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
from torqued.kernels.robot.frame_table import FrameTable
from torqued.kernels.robot.tree import FreeTree
from torqued.kernels.screws.representations import transformation


class Geometry:
    """Six parameters a joint: B_i exp(π) is where its frame is in its parent link."""

    def __init__(self, tree: FreeTree, frames: FrameTable) -> None:
        self._tree, self._frames = tree, frames

    @cached_property
    def first(self) -> NDArray[np.int64]:
        """The first body that each joint moves."""
        body_of = self._tree.work.arrays.body_of
        return np.array([body_of[joint.v] for joint in self._tree.model.joints], np.int64)

    @cached_property
    def sites(self) -> NDArray[np.void]:
        """The joints' frames at q = 0, fixed on the bodies before them."""
        model, body_of = self._tree.model, self._tree.work.arrays.body_of
        out = np.zeros(len(model.joints), layout.FRAME).view(np.recarray)
        for record, joint in zip(out, model.joints, strict=True):
            R, p = np.eye(3), np.zeros(3)
            last = int(body_of[joint.v + joint.nv - 1])
            for b in range(int(body_of[joint.v]), last + 1):
                body = model.bodies[b]
                R, p = R @ body["R"].reshape(3, 3), p + R @ body["p"]
            own = self._frames.place("joint", joint.name)
            if own.body == last:  # else a link of that name is elsewhere
                R, p = R @ own.R, p + R @ own.p
            record.body, record.R, record.p = model.bodies[body_of[joint.v]]["parent"], R.ravel(), p
        return out

    def inverse_dynamics(self, q: Any, v: Any, a: Any) -> Array:
        """∂τ/∂π (nv, joints, 6)."""
        tree, count = self._tree, len(self.first)
        out = np.empty((tree.nv_free, 6 * count))
        motion = tree.q(q), tree.v("v", v), tree.v("a", a)
        COMPILED.geometric_derivatives(tree.handle, *motion, self.sites, self.first, out)
        if tree.follows:
            out = tree.projected("rows", np.ascontiguousarray(out.T)).T
        return np.ascontiguousarray(out).reshape(tree.nv, count, 6)

    def frame_jacobian(self, q: Any, frame: str, representation: str, point: Any) -> Array:
        """How a frame is displaced by π (6, joints, 6), as its twist would be."""
        choice("representation", representation, REPRESENTATIONS)
        tree, count = self._tree, len(self.first)
        records = np.concatenate([self._frames.records([frame], point), self.sites])
        poses = np.empty((1 + count, 4, 4))
        COMPILED.frame_poses(tree.handle, tree.q(q), records.view(np.recarray), poses)
        moved = self._bodies_to(int(records[0]["body"]))
        out = np.zeros((6, count, 6))
        for s in range(count):
            if int(self.first[s]) in moved:
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
            body = int(self._tree.model.bodies[body]["parent"])
        return found
