"""Frames and points, natively: poses, Jacobians, velocities and accelerations."""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.input_checks import choice
from torqued.kernels.model.description import Array
from torqued.kernels.robot.frame_table import FrameTable
from torqued.kernels.robot.tree import FreeTree


class Frames:
    """`point` (3,) is in the frame's own axes; None is the frame's origin."""

    def __init__(self, tree: FreeTree, table: FrameTable) -> None:
        self._tree, self._table = tree, table

    def pose(self, q: Any, frame: str, point: Any = None) -> Array:
        tree, poses = self._tree, np.empty((1, 4, 4))
        records = self._table.records([frame], point)
        COMPILED.frame_poses(tree.handle, tree.q(q), records, poses)
        pose: Array = poses[0]
        return pose

    def jacobian(self, q: Any, frame: str, representation: str, point: Any) -> Array:
        kind = REPRESENTATIONS[choice("representation", representation, REPRESENTATIONS)]
        tree, records = self._tree, self._table.records([frame], point)
        J = np.empty((1, 6, tree.nv_free))
        COMPILED.frame_jacobians(tree.handle, tree.q(q), records, kind, J)
        return tree.projected("rows", J[0])

    def motion(
        self, q: Any, v: Any, a: Any, frame: str, representation: str, point: Any
    ) -> tuple[Array, Array]:
        """J v and J a + J̇ v, (6,) each; `a` may be None for zero."""
        kind = REPRESENTATIONS[choice("representation", representation, REPRESENTATIONS)]
        tree, records = self._tree, self._table.records([frame], point)
        velocity, acceleration = np.empty((1, 6)), np.empty((1, 6))
        q, v = tree.q(q), tree.v("v", v)
        a = np.zeros(tree.nv_free) if a is None else tree.v("a", a)
        COMPILED.frame_motions(tree.handle, q, v, a, records, kind, velocity, acceleration)
        return velocity[0], acceleration[0]
