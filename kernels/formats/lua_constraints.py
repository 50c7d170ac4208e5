"""Constraints of RBDL's Lua files as contacts and loops."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace

import numpy as np

from torqued.kernels.constraints.types import ROWS, Loop
from torqued.kernels.contacts.types import Contact
from torqued.kernels.formats.lua_tables import Constraint, Tables
from torqued.kernels.input_checks import shown
from torqued.kernels.model.assemble import axis_frame
from torqued.kernels.model.description import Array, Pose

ROOT = "ROOT"  # the world's frame in RBDL
MIN_TIME = 1e-6  # s: of stabilization


@dataclass(frozen=True)
class ConstraintReader:
    tables: Tables
    bodies: Collection[str]
    places: Mapping[tuple[str, str], tuple[str, Pose]]  # points and local frames
    floats: bool  # the robot has no link for the world

    def read(self, where: str, item: Constraint) -> list[Contact] | list[Loop]:
        if item.constraint_type == "contact":
            return self._contacts(where, item)
        if item.constraint_type == "loop":
            return self._loops(where, item)
        problem = f"constraint_type {shown(item.constraint_type)} is unknown"
        self.tables.fault(where, f"{problem}, allowed: 'contact', 'loop'")
        return []

    def _contacts(self, where: str, item: Constraint) -> list[Contact]:
        body, pose = self._place(where, "points", item.point_name, item.body)
        if body == ROOT and self.floats:
            self.tables.fault(where, "holds the world, allowed: a frame of the robot")
        point = tuple((pose.position if item.point_name else item.point).tolist())
        normals = item.normal_sets if item.normal_sets.size else item.normal[None]
        if not normals.any(axis=1).all():
            self.tables.fault(where, f"a normal of {normals.tolist()} is zero or missing")
        if np.linalg.matrix_rank(normals) == 3:
            return [Contact(body, "point", point)]
        return [Contact(body, "normal", point, tuple(normal)) for normal in normals.tolist()]

    def _loops(self, where: str, item: Constraint) -> list[Loop]:
        """One of all rows along the predecessor's axes, and one for each other direction."""
        (a, A), (b, B) = (self._side(where, item, side) for side in ("successor", "predecessor"))
        along: list[str] = []
        held: list[tuple[list[str], Array]] = [(along, np.eye(3))]  # rows, and their axes in B
        for row in item.axis_sets if item.axis_sets.size else item.axis[None]:
            turns = bool(row[:3].any())
            if turns == row[3:].any():
                self.tables.fault(where, f"axis {row.tolist()}, expected a turn or a slide")
            elif np.count_nonzero(row) == 1:
                along.append(ROWS[int(np.flatnonzero(row)[0])])
            else:
                direction = (row[:3] + row[3:]) / np.abs(row).max()
                held.append((["rz" if turns else "z"], axis_frame(direction)))
        if a == ROOT and self.floats:
            # With all or no rows of a kind, a loop holds the same from either side.
            if len(held) > 1 or set(along) not in ({*ROWS}, {*ROWS[:3]}, {*ROWS[3:]}):
                self.tables.fault(where, "successor is ROOT, allowed for this loop: as predecessor")
            a, A, b, B = b, B, a, A
        time = item.stabilization_parameter if item.enable_stabilization else math.inf
        if not time >= MIN_TIME:
            allowed = f"allowed: at least {MIN_TIME:g} s"
            self.tables.fault(where, f"stabilization_parameter is {time}, {allowed}")
            time = math.inf
        target = np.eye(4)
        target[:3, :3], target[:3, 3] = B.rotation @ A.rotation.T, B.position
        loop = Loop(
            a,
            None if b == ROOT else b,
            point=tuple(A.position.tolist()),
            target=_tuples(target),
            stiffness=1.0 / time / time,
            damping=2.0 / time,
        )
        return [
            replace(loop, held=tuple(dict.fromkeys(rows)), axis=_tuples(B.rotation @ axes))
            for rows, axes in held
            if rows
        ]

    def _side(self, where: str, item: Constraint, side: str) -> tuple[str, Pose]:
        name, body, placement = (
            getattr(item, f"{side}_{key}") for key in ("local_frame", "body", "transform")
        )
        place, pose = self._place(where, "local_frames", name, body)
        if not name:
            pose = self.tables.pose(f"{where}: {side}_transform", placement.r, placement.E)
        return place, pose

    def _place(self, where: str, kind: str, name: str, body: str) -> tuple[str, Pose]:
        """A point or a local frame that is named, or else a body."""
        if name and (kind, name) not in self.places:
            self.tables.fault(where, f"{shown(name)} is not among the {kind}")
        if not name and body not in self.bodies:
            self.tables.fault(where, f"body {shown(body)} is unknown, allowed: a frame's name")
        return self.places.get((kind, name), (body, Pose()))


def _tuples(matrix: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, matrix.tolist()))
