"""The equations of [M18], natively: what they say in closed form, term by term.

`Robot` computes the same by faster ways. These are for looking inside, for other representations
and for checks: docs/KINEMATICS.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.charts.chart import QUATERNION_OFFSET
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.frames import BODY, REPRESENTATIONS, SPATIAL
from torqued.kernels.input_checks import choice, sequence, whole_number
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import finite
from torqued.kernels.robot.frame_table import FrameTable
from torqued.kernels.robot.tree import FreeTree
from torqued.kernels.screws.partials import HIGHEST_ORDER, JacobianPartials


class Screws:
    """`robot.screws`."""

    def __init__(self, tree: FreeTree, table: FrameTable) -> None:
        self._tree, self._table = tree, table

    @finite
    def jacobian_partial(
        self,
        q: Any,
        frame: str,
        along: Sequence[int],
        representation: str = "hybrid",
        point: Any = None,
    ) -> Array:
        """∂^ν J / ∂q_α1 … ∂q_αν (6, nv) of a frame, with ν columns α of v in `along`.

        By nested screw products ([M18] eq. 14, 23). Of joints whose velocities are the rates of
        their coordinates: columns of spherical and floating joints are refused.
        """
        choice("representation", representation, REPRESENTATIONS)
        tree = self._tree
        columns = sequence("along", along, "columns of v")
        whole_number("along: how many columns", len(columns), 1, HIGHEST_ORDER)
        for k, column in enumerate(columns):
            whole_number(f"along[{k}]", column, 0, tree.nv - 1)
        partials = self._partials(q, frame, point)
        total = np.zeros((6, tree.nv_free))
        # Columns that follow a column of the robot's move with it: ∂/∂q_k = Σ_m G_mk ∂/∂q_m.
        mimics = tree.model.mimics
        followers = [np.flatnonzero(mimics.v_index == column).tolist() for column in columns]
        for free in product(*followers):
            self._require_rates("along", free)
            weight = float(np.prod(mimics.multiplier[list(free)]))
            total += weight * partials.matrix(representation, free)
        return tree.projected("rows", total)

    def _partials(self, q: Any, frame: str, point: Any) -> JacobianPartials:
        tree, records = self._tree, self._table.records([frame], point)
        free, poses = tree.q(q), np.empty((1, 4, 4))
        spatial, body = np.empty((2, 1, 6, tree.nv_free))
        COMPILED.frame_poses(tree.handle, free, records, poses)
        COMPILED.frame_jacobians(tree.handle, free, records, SPATIAL, spatial)
        COMPILED.frame_jacobians(tree.handle, free, records, BODY, body)
        columns: list[int] = []
        b = int(records[0].body)
        while b >= 0:
            row = tree.model.bodies[b]
            columns += range(int(row.column), int(row.column + row.columns))
            b = int(row.parent)
        body_of = tree.work.arrays.body_of.tolist()
        return JacobianPartials(sorted(columns), body_of, spatial[0], body[0], poses[0, :3, 3])

    def _require_rates(self, field: str, columns: Sequence[int]) -> None:
        """Refuse columns of quasi-velocities: derivatives along them depend on the order."""
        for joint in self._tree.model.joints:
            within = [k for k in columns if joint.v <= k < joint.v + joint.nv]
            if within and joint.type in QUATERNION_OFFSET:
                wanted = "columns of joints whose velocities are the rates of their coordinates"
                raise InputError(
                    f"{field}: column {within[0]} is of joint {joint.name!r} of type "
                    f"{joint.type!r}, expected {wanted}",
                    field,
                    int(within[0]),
                    wanted,
                )
