"""Constraint sets of RBDL's Lua files as contacts and loops."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace

import numpy as np

from torqued.kernels.constraints.types import ROWS, Loop
from torqued.kernels.contacts.types import Contact
from torqued.kernels.formats.lua_tables import Table, Tables
from torqued.kernels.input_checks import shown
from torqued.kernels.model.assemble import axis_frame
from torqued.kernels.model.description import Array, Pose

ROOT = "ROOT"  # the world's frame in RBDL
#: Of `stabilization_parameter`: [RBDL] addons/luamodel/luamodel.cc.
USUAL_TIME = np.array(0.1)

Constraint = Contact | Loop


class ConstraintSets:
    """Reads them, with the bodies and the points and local frames of the file."""

    def __init__(
        self,
        tables: Tables,
        bodies: Collection[str],
        places: Mapping[tuple[str, str], tuple[str, Pose]],
        floats: bool,
    ) -> None:
        self.tables, self.fault = tables, tables.findings.fault
        self.bodies, self.places, self.floats = bodies, places, floats

    def read(self, key: str, sets: Table) -> tuple[Constraint, ...]:
        found: list[Constraint] = []
        for k, item in enumerate(self.tables.tables("constraint_sets", sets, key)):
            where = f"constraint set {key!r}, constraint {k + 1}"
            kind = self.tables.text(where, item, "constraint_type")
            if kind == "contact":
                found += self._contacts(where, item)
            elif kind == "loop":
                for loop in self._loops(where, item):
                    last = found[-1] if found else None
                    if isinstance(last, Loop) and replace(last, held=loop.held) == loop:
                        found[-1] = replace(loop, held=tuple(dict.fromkeys(last.held + loop.held)))
                    else:
                        found.append(loop)
            elif kind:
                allowed = "allowed: 'contact', 'loop'"
                self.fault(where, f"constraint_type {shown(kind)} is unknown, {allowed}")
        return tuple(found)

    def _contacts(self, where: str, item: Table) -> list[Contact]:
        body, pose = self._place(where, item, "points", "point_name", "body")
        if "point_name" not in item:
            position = self.tables.numbers(where, item, "point", (3,), np.zeros(3))
            pose = Pose(pose.rotation, position)
        if body == ROOT and self.floats:
            self.fault(where, "holds the world, allowed: a frame of the robot")
        point = tuple(pose.position.tolist())
        normals = self._rows(where, item, "normal", 3)
        if not normals.any(axis=1).all():
            self.fault(where, f"normals {normals.tolist()}: one is zero")
        used = ("constraint_type", "point_name", "body", "point", "normal", "normal_sets")
        self.tables.count_unused("contacts", item, used)
        if np.linalg.matrix_rank(normals) == 3:
            return [Contact(body, "point", point)]
        return [Contact(body, "normal", point, tuple(normal.tolist())) for normal in normals]

    def _loops(self, where: str, item: Table) -> list[Loop]:
        """One of all rows along the predecessor's axes, and one for each other direction."""
        (a, A), (b, B) = (self._side(where, item, side) for side in ("successor", "predecessor"))
        stiffness, damping = self._gains(where, item)
        along: list[str] = []
        held: list[tuple[tuple[str, ...], Array]] = []
        for row in self._rows(where, item, "axis", 6):
            turns = bool(row[:3].any())
            if turns == row[3:].any():
                self.fault(where, f"axis {row.tolist()}, expected a turn or a slide")
            elif np.count_nonzero(row) == 1:
                along.append(ROWS[int(np.flatnonzero(row)[0])])
            else:
                direction = axis_frame((row[:3] + row[3:]) / np.abs(row).max())
                held.append((("rz" if turns else "z",), B.rotation @ direction))
        if a == ROOT and self.floats:  # a robot's frame is held, and the world has none here
            # With all or no rows of a kind, a loop holds the same from either side.
            if held or set(along) not in ({*ROWS}, {*ROWS[:3]}, {*ROWS[3:]}):
                self.fault(where, "successor is ROOT, allowed for this loop: as predecessor")
            a, A, b, B = b, B, a, A
        if along:
            held.insert(0, (tuple(dict.fromkeys(along)), B.rotation))
        target = np.eye(4)
        target[:3, :3] = B.rotation @ A.rotation.T
        grounded = b == ROOT
        if grounded:
            target[:3, 3] = B.position
        return [
            Loop(
                a,
                None if grounded else b,
                held=rows,
                axis=_tuples(axes),
                point=tuple(A.position.tolist()),
                other_point=(0.0, 0.0, 0.0) if grounded else tuple(B.position.tolist()),
                target=_tuples(target),
                stiffness=stiffness,
                damping=damping,
            )
            for rows, axes in held
        ]

    def _gains(self, where: str, item: Table) -> tuple[float, float]:
        """Stiffness and damping; what a loop says beside its frames and axes is noted."""
        used = {"constraint_type", "axis", "axis_sets", "enable_stabilization"}
        gains = 0.0, 0.0
        if item.get("enable_stabilization"):
            key = "stabilization_parameter"
            used.add(key)
            time = float(self.tables.numbers(where, item, key, (), USUAL_TIME))
            if time <= 0.0:
                self.fault(where, f"{key} is {time}, allowed: above 0")
            else:
                gains = 1.0 / time**2, 2.0 / time
        sides = ("predecessor_", "successor_")
        self.tables.count_unused("loops", item, {*used, *(k for k in item if k.startswith(sides))})
        return gains

    def _side(self, where: str, item: Table, side: str) -> tuple[str, Pose]:
        key = f"{side}_local_frame"
        body, pose = self._place(where, item, "local_frames", key, f"{side}_body")
        if key in item:
            return body, pose
        key = f"{side}_transform"
        return body, self.tables.pose(f"{where}: {key}", self.tables.table(where, item, key))

    def _place(self, where: str, item: Table, kind: str, key: str, body: str) -> tuple[str, Pose]:
        """A point or a local frame that is named, or else a body."""
        if key in item:
            name = self.tables.text(where, item, key)
            if name and (kind, name) not in self.places:
                self.fault(where, f"{key} {shown(name)} is not among the {kind}")
            return self.places.get((kind, name), (ROOT, Pose()))
        return known_body(self.tables, self.bodies, where, item, body), Pose()

    def _rows(self, where: str, item: Table, key: str, size: int) -> Array:
        """(k, size) of `key` or of its plural."""
        if f"{key}_sets" in item:
            return self.tables.numbers(where, item, f"{key}_sets", (-1, size))
        return self.tables.numbers(where, item, key, (size,))[None]


def known_body(tables: Tables, bodies: Collection[str], where: str, item: Table, key: str) -> str:
    name = tables.text(where, item, key)
    if name and name not in bodies:
        tables.findings.fault(where, f"{key} {shown(name)} is unknown, allowed: a frame's name")
    return name if name in bodies else ROOT


def _tuples(matrix: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, matrix.tolist()))
