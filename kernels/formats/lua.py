"""Lua files of RBDL into a `Description`.

Bodies hang from the world's link, ROOT, by joints that are named after them: `Shank_joint`. A
joint of several rows is a chain of simple ones. Points and local frames become massless links.

E turns coordinates from parent to child in a `joint_frame`. In local frames and in transforms of
loops it is the frame's rotation, as RBDL uses it there (src/Constraint_Loop.cc). Of an inertia
that is not symmetric RBDL uses what is below the diagonal.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from torqued.common.errors import ModelError
from torqued.kernels.constraints.types import ROWS, Loop
from torqued.kernels.contacts.types import Contact
from torqued.kernels.formats.lua_tables import (
    PRINTED,
    ROUNDED,
    Body,
    Constraint,
    Frame,
    LuaFile,
    Place,
    Tables,
)
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.sandbox import evaluated
from torqued.kernels.input_checks import shown
from torqued.kernels.model.assemble import axis_frame
from torqued.kernels.model.checks import further_faults
from torqued.kernels.model.description import Array, Description, Inertia, Joint, Link, Pose

ROOT = "ROOT"  # the world's frame in RBDL
CPU_SECONDS = 2  # files of hundreds of bodies take milliseconds
MIN_TIME = 1e-6  # s, of stabilization
JOINT_TYPES = {
    "JointTypeSpherical": "spherical",
    "JointTypeEulerZYX": "euler_zyx",
    "JointTypeEulerXYZ": "euler_xyz",
    "JointTypeEulerYXZ": "euler_yxz",
    "JointTypeTranslationXYZ": "translation",
    "JointTypeFloatingBase": "floating",
}


def read_lua(file: RobotFile) -> Description:
    """The robot; what cannot be read, or else what makes no sense, in one `ModelError`."""
    file.require("lupa", "lua")
    table = evaluated(file, "torqued.kernels.formats.lua_program", {}, CPU_SECONDS)["table"]
    tables = Tables()
    lua = tables.read(LuaFile, table if isinstance(table, dict) else {})  # a list has no keys
    if tables.problems:
        raise ModelError(file.source, tables.problems)
    with np.errstate(all="ignore"):  # `checks.py` refuses numbers that are too large
        description = _Reader(tables).description(lua, file.source)
    if problems := tables.problems:
        raise ModelError(file.source, problems + further_faults(description, problems))
    return description


class _Reader:
    def __init__(self, tables: Tables) -> None:
        self.tables, self.fault, self.warn = tables, tables.fault, tables.warn
        self.links = {ROOT: Link(ROOT)}
        self.joints: list[Joint] = []
        #: Kind and name of bodies, points and local frames → the body, and the pose in it.
        self.places = {("body", ROOT): (ROOT, Pose())}

    def description(self, file: LuaFile, source: str) -> Description:
        for frame in file.frames:
            self._frame(frame)
        if not self.tables.problems:  # else it may be no tree
            self._note_order()
        first, *others = self.joints  # the first one's parent is ROOT
        self.floats = (
            first.type == "floating"
            and np.array_equal(first.placement.rotation, np.eye(3))
            and not first.placement.position.any()
            and all(joint.parent != ROOT for joint in others)
        )
        if self.floats:  # its root link is the body, and no joint leads there
            del self.links[ROOT]
            del self.joints[0]
        for point in file.points:
            self._place("point", point)
        for local_frame in file.local_frames:
            self._place("local_frame", local_frame)
        constraints: dict[str, tuple[Contact | Loop, ...]] = {}
        for key, items in file.constraint_sets.items():
            found: list[Contact | Loop] = []
            for k, item in enumerate(items):
                where = f"constraint set {key!r}, constraint {k + 1}"
                if item.constraint_type == "contact":
                    found += self._contacts(where, item)
                elif item.constraint_type == "loop":
                    found += self._loops(where, item)
                else:
                    kind = f"constraint_type {shown(item.constraint_type)}"
                    self.fault(where, f"{kind} is unknown, allowed: 'contact', 'loop'")
            constraints[key] = tuple(found)
        if file.gravity is None:
            self.warn("the file", "has no gravity, for which RBDL takes 0, -9.81, 0")
        links, notes = tuple(self.links.values()), tuple(self.tables.notes)
        return Description(
            *(Path(source).stem, links, tuple(self.joints), source, notes),
            base="floating" if self.floats else "fixed",
            gravity=None if file.gravity is None else tuple(file.gravity.tolist()),
            constraints=constraints,
        )

    def _frame(self, frame: Frame) -> None:
        where, parent = f"frame {frame.name!r}", frame.parent
        if frame.name in self.links:
            self.fault(where, "another frame above has this name")
        if parent not in self.links:
            allowed = f"{ROOT} or a frame above"
            self.fault(where, f"parent {shown(parent)} is unknown, allowed: {allowed}")
            parent = ROOT
        inertia = self._inertia(where, frame.body) if frame.body else Inertia()
        self.links[frame.name] = Link(frame.name, inertia)
        self.places["body", frame.name] = frame.name, Pose()
        placed = frame.joint_frame
        pose = self.tables.pose(f"{where}: joint_frame", placed.r, placed.E)
        placement = Pose(pose.rotation.T, pose.position)
        joint = Joint(f"{frame.name}_joint", "fixed", parent, frame.name, placement)
        self.joints.append(self._moving(where, joint, frame.joint))

    def _inertia(self, where: str, body: Body) -> Inertia:
        given = body.inertia
        if np.isnan(given).any():
            given = np.eye(3)
            self.warn(where, "body has no inertia, for which RBDL takes 1 kg m² about all axes")
        rotational = np.tril(given) + np.tril(given, -1).T
        if np.abs(given - rotational).max() > ROUNDED * np.abs(given).max():
            problem = f"inertia {given.tolist()} is not symmetric; as in RBDL, what is below its"
            self.warn(where, f"{problem} diagonal counts")
        return Inertia(body.mass, body.com, rotational)

    def _moving(self, where: str, joint: Joint, given: tuple[Any, ...]) -> Joint:
        """A fixed joint, with the motion that the frame gives it."""
        if not given:
            return joint
        if len(given) == 1 and isinstance(given[0], str):
            if given[0] not in JOINT_TYPES:
                allowed = f"{', '.join(JOINT_TYPES)}, or rows of six numbers"
                self.fault(where, f"joint {shown(given[0])} is unknown, allowed: {allowed}")
            return replace(joint, type=JOINT_TYPES.get(given[0], "fixed"))
        rows = self.tables.field(where, "joint", Array, given, np.empty((0, 6)))
        if rows is ...:
            return joint
        motions = [self._motion(f"{where}: joint row {k + 1}", row) for k, row in enumerate(rows)]
        if len(motions) == 1:
            kind, axis, pitch = motions[0]
            return replace(joint, type=kind, axis=axis, pitch=pitch)
        if any(kind == "helical" for kind, _, _ in motions):
            self.fault(where, "a row that turns and slides is one among several, allowed: alone")
        return replace(joint, type="generic", motions=tuple(m[:2] for m in motions))

    def _motion(self, where: str, row: Array) -> tuple[str, Array, float]:
        """Kind, axis and pitch of one row."""
        turn, slide = row[:3], row[3:]
        axis = turn if turn.any() else slide
        length = math.hypot(*axis)
        if not 0.0 < length < math.inf:
            self.fault(where, f"{row.tolist()} is not a motion")
        elif abs(length - 1.0) > PRINTED:
            self.warn(where, f"its axis has length {length:.6g} and was normalised")
        if axis is slide:
            return "prismatic", slide / length, 0.0
        pitch = float(turn @ slide) / length / length
        if np.abs(slide - pitch * turn).max() > ROUNDED * length * abs(pitch):
            self.fault(where, f"{row.tolist()} slides across its axis, allowed: along it")
        return ("helical" if slide.any() else "revolute"), turn / length, pitch

    def _place(self, kind: str, given: Place) -> None:
        """A link for a point or a local frame."""
        where, link = f"{kind} {given.name!r}", given.name
        body, _ = self._found(where, "body", given.body)
        pose = self.tables.pose(where, given.r + given.point, given.E)  # one of them is zero
        self.places.setdefault((kind, given.name), (body, pose))
        if body == ROOT and self.floats:
            self.warn(where, "is in the world, which has no link here; left out")
            return
        if link in self.links:
            link += f"_{kind}"
            self.warn(where, f"its name is taken, so its link is {link!r}")
        self.links[link] = Link(link)
        self.joints.append(Joint(f"{link}_joint", "fixed", body, link, pose))

    def _contacts(self, where: str, item: Constraint) -> list[Contact]:
        if item.point_name:
            body, pose = self._found(where, "point", item.point_name)
        else:
            body, pose = self._found(where, "body", item.body)[0], Pose(position=item.point)
        if body == ROOT and self.floats:
            self.fault(where, "holds the world, allowed: a frame of the robot")
        point = tuple(pose.position.tolist())
        normals = item.normal_sets if item.normal_sets.size else item.normal[None]
        if not normals.any(axis=1).all():
            self.fault(where, f"a normal of {normals.tolist()} is zero or missing")
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
                self.fault(where, f"axis {row.tolist()}, expected a turn or a slide")
            elif np.count_nonzero(row) == 1:
                along.append(ROWS[int(np.flatnonzero(row)[0])])
            else:
                direction = (row[:3] + row[3:]) / np.abs(row).max()
                held.append((["rz" if turns else "z"], axis_frame(direction)))
        if a == ROOT and self.floats:
            # With all or no rows of a kind, a loop holds the same from either side.
            if len(held) > 1 or set(along) not in ({*ROWS}, {*ROWS[:3]}, {*ROWS[3:]}):
                self.fault(where, "successor is ROOT, allowed for this loop: as predecessor")
            a, A, b, B = b, B, a, A
        time = item.stabilization_parameter if item.enable_stabilization else math.inf
        if not time >= MIN_TIME:
            self.fault(where, f"stabilization_parameter {time} is below {MIN_TIME:g} s")
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
        if name:
            return self._found(where, "local_frame", name)
        pose = self.tables.pose(f"{where}: {side}_transform", placement.r, placement.E)
        return self._found(where, "body", body)[0], pose

    def _found(self, where: str, kind: str, name: str) -> tuple[str, Pose]:
        if (kind, name) not in self.places:
            self.fault(where, f"{kind} {shown(name)} is unknown, allowed: one of this file")
        return self.places.get((kind, name), (ROOT, Pose()))

    def _note_order(self) -> None:
        """RBDL numbers joints in the file's order; a `Model` does so depth first."""
        below = defaultdict(list)
        for joint in self.joints:
            below[joint.parent].append(joint)
        stack, walked = below[ROOT][::-1], []
        while stack:
            walked.append(stack.pop())
            stack += below[walked[-1].child][::-1]
        theirs, ours = (
            [joint.child for joint in joints if joint.type != "fixed"]
            for joints in (self.joints, walked)
        )
        if theirs != ours:
            self.warn("the file", f"q is not in RBDL's order but in: {', '.join(ours)}")


def _tuples(matrix: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, matrix.tolist()))
