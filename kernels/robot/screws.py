"""The equations of [M18], natively: what they say in closed form, term by term.

`Robot` computes the same by faster ways. These are for looking inside, for other representations
and for checks: docs/KINEMATICS.md.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.charts.chart import QUATERNION_OFFSET
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.frames import BODY, HYBRID, REPRESENTATIONS, SPATIAL
from torqued.kernels.input_checks import choice, sequence, whole_number
from torqued.kernels.model.description import Array
from torqued.kernels.primitives import layout
from torqued.kernels.result_checks import finite_arithmetic
from torqued.kernels.robot.core import RobotCore
from torqued.kernels.robot.frame_table import FrameTable, Wrenches
from torqued.kernels.robot.tree import FreeTree
from torqued.kernels.screws.arbitrary_frame import Place, newton_euler_in_frame
from torqued.kernels.screws.closed_forms import (
    Bodies,
    Momenta,
    SystemMatrices,
    christoffel,
    christoffel_binet,
    momentum_form,
    read_bodies,
)
from torqued.kernels.screws.partials import MAX_ORDER, JacobianPartials
from torqued.kernels.screws.representations import convert, convert_wrench


@dataclass(frozen=True)
class JointWrenches:
    """Inverse dynamics with what goes through every joint, by the joint's name."""

    tau: Array  # (nv,)
    twists: dict[str, Array]  # (6,) of the link below the joint
    wrenches: dict[str, Array]  # (6,) [moment; force] that the joint hands to it


class Screws:
    """`robot.screws`."""

    def __init__(self, robot: RobotCore) -> None:
        self._robot, self.users = robot, robot.users

    @property
    def _tree(self) -> FreeTree:
        return self._robot.tree

    @property
    def _table(self) -> FrameTable:
        return self._robot.frame_table

    @finite_arithmetic
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
        whole_number("along: how many columns", len(columns), 1, MAX_ORDER)
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

    @finite_arithmetic
    def mass_matrix(self, q: Any) -> Array:
        """M (nv, nv) by [M18] eq. 81."""
        return self._tree.projected("matrix", SystemMatrices(self.bodies(q)).mass_matrix())

    @finite_arithmetic
    def coriolis_matrix(self, q: Any, v: Any) -> Array:
        """C (nv, nv) by [M18] eq. 84, with C v + g = `bias`; Ṁ = C + Cᵀ does not hold for it."""
        tree, system = self._tree, SystemMatrices(self.bodies(q))
        return tree.projected("matrix", system.coriolis_matrix(tree.v("v", v)))

    @finite_arithmetic
    def christoffel(self, q: Any, inertia: str = "tensor") -> Array:
        """Γ (nv, nv, nv) by [M18] eq. 86, or with inertia="binet" by eq. 87.

        Of robots whose velocities are the rates of coordinates; others are refused.
        """
        ways = {"tensor": christoffel, "binet": christoffel_binet}
        way = ways[choice("inertia", inertia, ways)]
        self._require_rates("q", range(self._tree.nv_free))
        return self._tree.projected("tensor", way(self.bodies(q)))

    @finite_arithmetic
    def momentum_form(self, q: Any, v: Any, a: Any) -> Momenta:
        """Spatial momenta of all bodies, their rates, and the torques, by [M18] eq. 79."""
        tree, bodies = self._tree, self.bodies(q)
        free, v, a = tree.q(q), tree.v("v", v), tree.v("a", a)
        twists, rates = np.empty((2, bodies.count, 6))
        records = self._body_frames()
        COMPILED.frame_motions(tree.handle, free, v, a, records, SPATIAL, twists, rates)
        gravity = np.array(tree.model.world["gravity"][0])
        natively = momentum_form(bodies, twists, rates, a, gravity)
        return replace(natively, tau=tree.projected("vector", natively.tau))

    @finite_arithmetic
    def newton_euler(
        self, q: Any, v: Any, a: Any, representation: str = "body", f_ext: Wrenches | None = None
    ) -> JointWrenches:
        """Inverse dynamics in a representation, with what goes through every joint.

        [M18] eq. 66-67, 70-71, 75-76, 56-57. Twists and wrenches are those of the link below each
        joint, at its frame; `f_ext` as in `Robot.inverse_dynamics`.
        """
        kind = REPRESENTATIONS[choice("representation", representation, REPRESENTATIONS)]
        tree, bodies = self._tree, self.bodies(q)
        free, v, a = tree.q(q), tree.v("v", v), tree.v("a", a)
        applied = np.zeros((bodies.count, 6))
        for i, wrench in enumerate(self._applied(free, f_ext)):
            applied[i] = convert_wrench("spatial", representation, bodies.poses[i], wrench)
        twists, accelerations, wrenches = np.empty((3, bodies.count, 6))
        tau = np.empty(tree.nv_free)
        COMPILED.newton_euler(
            *(tree.handle, free, v, a, kind, applied), *(twists, accelerations, wrenches, tau)
        )
        found: tuple[dict[str, Array], dict[str, Array]] = ({}, {})
        for name, i, pose in self._links(bodies):
            # Bodies have their own axes, turned to the joint's.
            own = bodies.poses[i]
            spatial = convert(representation, "spatial", own, twists[i])[0]
            found[0][name] = convert("spatial", representation, pose, spatial)[0]
            wrench = convert_wrench(representation, "spatial", own, wrenches[i])
            found[1][name] = convert_wrench("spatial", representation, pose, wrench)
        return JointWrenches(tree.projected("vector", tau), *found)

    @finite_arithmetic
    def newton_euler_in_frame(
        self,
        q: Any,
        v: Any,
        a: Any,
        frame: str,
        axes: str | None = None,
        f_ext: Wrenches | None = None,
    ) -> JointWrenches:
        """The same with all bodies in one frame, which may move: [M18] eq. 60, and 63 where `axes`
        names another frame for the axes. Twists and wrenches are at the origin of `frame`."""
        tree, bodies = self._tree, self.bodies(q)
        free, v, a = tree.q(q), tree.v("v", v), tree.v("a", a)
        place = self._place(free, v, frame, frame if axes is None else axes)
        spatial, rates = np.empty((2, bodies.count, 6))
        records = self._body_frames()
        COMPILED.frame_motions(tree.handle, free, v, a, records, SPATIAL, spatial, rates)
        gravity = np.array(tree.model.world["gravity"][0])
        applied = self._applied(free, f_ext)
        natively = newton_euler_in_frame(bodies, place, spatial, rates, a, gravity, applied)
        links = self._links(bodies)
        return JointWrenches(
            tree.projected("vector", natively.tau),
            {name: natively.twists[i] for name, i, _ in links},
            {name: natively.wrenches[i] for name, i, _ in links},
        )

    def _place(self, free: Array, v: Array, frame: str, axes: str) -> Place:
        tree = self._tree
        records = np.concatenate(
            [self._table.records([frame]), self._table.records([axes], field="axes")]
        ).view(np.recarray)
        poses, twists, unused = np.empty((2, 4, 4)), np.empty((2, 6)), np.empty((2, 6))
        COMPILED.frame_poses(tree.handle, free, records, poses)
        still = np.zeros(tree.nv_free)
        COMPILED.frame_motions(tree.handle, free, v, still, records, HYBRID, twists, unused)
        return Place(poses[0, :3, 3], twists[0, 3:], poses[1, :3, :3], twists[1, :3])

    def _applied(self, free: Array, f_ext: Wrenches | None) -> Array:
        """What acts on each body from outside, (N, 6), in spatial representation."""
        tree = self._tree
        applied = np.zeros((len(tree.model.bodies), 6))
        if f_ext:
            frames, wrenches = self._table.wrenches(f_ext)
            poses = np.empty((len(frames), 4, 4))
            COMPILED.frame_poses(tree.handle, free, frames, poses)
            for frame, pose, wrench in zip(frames, poses, wrenches, strict=True):
                if frame.body >= 0:
                    applied[frame.body] += convert_wrench("hybrid", "spatial", pose, wrench)
        return applied

    def _links(self, bodies: Bodies) -> list[tuple[str, int, Array]]:
        """Per joint: its name, the body below it, and the pose of the link there."""
        model, body_of = self._tree.model, self._tree.work.arrays.body_of
        links = []
        for joint in model.joints:
            i = int(body_of[joint.v + joint.nv - 1])
            link = next(frame for frame in model.frames if frame.body == i)  # others follow it
            pose = bodies.poses[i].copy()
            pose[:3, :3] = pose[:3, :3] @ link.rotation
            links.append((joint.name, i, pose))
        return links

    def bodies(self, q: Any) -> Bodies:
        """The bodies that the equations are about, with poses and Jacobians in their own frames."""
        tree, records = self._tree, self._body_frames()
        N, free = len(records), tree.q(q)
        poses, jacobians = np.empty((N, 4, 4)), np.empty((N, 6, tree.nv_free))
        COMPILED.frame_poses(tree.handle, free, records, poses)
        COMPILED.frame_jacobians(tree.handle, free, records, BODY, jacobians)
        return read_bodies(tree.model.bodies, poses, jacobians)

    def _body_frames(self) -> Any:
        """A frame in each body, at its own."""
        records = np.zeros(len(self._tree.model.bodies), layout.FRAME).view(np.recarray)
        records.body, records.R = np.arange(len(records)), np.eye(3).ravel()
        return records

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
