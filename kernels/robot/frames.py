"""Frames and points, natively: poses, Jacobians, velocities and accelerations."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.common.errors import InputError
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.input_checks import choice, names_of, whole_number
from torqued.kernels.model.description import Array
from torqued.kernels.robot.frame_table import FrameTable
from torqued.kernels.robot.tree import FreeTree

#: What `kinematics` brings with each order, beside that of the lower ones: the motion of a frame
#: and the matrix that is new in its formula.
BROUGHT = {0: ("pose",), 1: ("velocity", "J"), 2: ("acceleration", "Jdot"), 3: ("jerk", "Jddot")}
MAX_ORDER = 3


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

    def poses(self, q: Any, frames: NDArray[np.void]) -> Array:
        """(k, 4, 4) of records of `FRAME`."""
        tree, poses = self._tree, np.empty((len(frames), 4, 4))
        records = np.ascontiguousarray(frames).view(np.recarray)
        COMPILED.frame_poses(tree.handle, tree.q(q), records, poses)
        return poses

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

    def kinematics(
        self, q: Any, v: Any, a: Any, jerk: Any, names: Any, order: Any, representation: Any
    ) -> dict[str, dict[str, Array]]:
        """What `BROUGHT` lists up to an order, by name and frame."""
        highest = whole_number("order", order, 0, MAX_ORDER)
        if v is None and highest >= 1:
            message = f"v: missing, but order {highest} depends on it"
            raise InputError(message, "v", None, f"shape ({self._tree.nv},)")
        frames = names_of("frames", names)
        records = self._table.records(frames, field="frames")
        found = self._compute(q, v, a, jerk, records, highest, representation)
        return {
            word: {frame: values[k] for k, frame in enumerate(frames)}
            for word, values in found.items()
        }

    def rates(
        self, q: Any, v: Any, a: Any, jerk: Any, frame: str, order: int, kind: str, point: Any
    ) -> dict[str, Array]:
        """Everything up to an order of one frame, by name."""
        records = self._table.records([frame], point)
        found = self._compute(q, v, a, jerk, records, order, kind)
        return {word: values[0] for word, values in found.items()}

    def hessian(self, q: Any, frame: str, representation: str, point: Any) -> Array:
        """∂J/∂q (6, nv, nv). Of followers, through G: J̄ = J G, and ∂q_free/∂q = G too."""
        kind = REPRESENTATIONS[choice("representation", representation, REPRESENTATIONS)]
        tree, records, n = self._tree, self._table.records([frame], point), self._tree.nv_free
        J, H = np.empty((6, n)), np.empty((6, n, n))
        COMPILED.frame_hessian(tree.handle, tree.q(q), records, kind, J, H)
        if not tree.follows:
            return H
        own = np.empty((6, tree.nv, tree.nv))
        for row, free in zip(own, H, strict=True):
            row[:] = tree.projected("matrix", free)
        return own

    def _compute(
        self,
        q: Any,
        v: Any,
        a: Any,
        jerk: Any,
        records: NDArray[np.void],
        order: int,
        representation: Any,
    ) -> dict[str, Sequence[Array]]:
        """Of all frames, by name; v, a and jerk may be None for zero."""
        kind = REPRESENTATIONS[choice("representation", representation, REPRESENTATIONS)]
        tree, k, n = self._tree, len(records), self._tree.nv_free
        motion = [
            np.zeros(n) if values is None else tree.v(name, values)
            for name, values in (("v", v), ("a", a), ("jerk", jerk))
        ]
        q = tree.q(q)
        poses, motions = np.empty((k, 4, 4)), np.empty((k, MAX_ORDER, 6))
        J, Jdot, Jddot = (np.empty((k if order > m else 0, 6, n)) for m in range(MAX_ORDER))
        COMPILED.frame_kinematics(
            tree.handle, q, *motion, records, kind, order, poses, motions, J, Jdot, Jddot
        )
        found: dict[str, Sequence[Array]] = {"pose": list(poses)}
        for m, matrices in enumerate((J, Jdot, Jddot)[:order]):
            motion_name, matrix_name = BROUGHT[m + 1]
            found[motion_name] = list(motions[:, m])
            found[matrix_name] = [tree.projected("rows", rows) for rows in matrices]
        return found
