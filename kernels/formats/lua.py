"""Lua files of RBDL into a `Description`.

Bodies hang from the world's link, ROOT, by joints that are named after them: `Shank_joint`. A
joint of several rows is a chain of simple ones. Points and local frames become massless links.

E turns coordinates from parent to child in a `joint_frame`. In local frames and in transforms of
loops it is the frame's rotation, as RBDL uses it there (src/Constraint_Loop.cc). Of an inertia
that is not symmetric RBDL uses what is below the diagonal.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from torqued.common.errors import ModelError
from torqued.kernels.constraints.types import ROWS, Loop
from torqued.kernels.contacts.types import Contact
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.sandbox import evaluated
from torqued.kernels.input_checks import shown
from torqued.kernels.model.assemble import axis_frame
from torqued.kernels.model.checks import further_faults
from torqued.kernels.model.description import Array, Description, Inertia, Joint, Link, Pose
from torqued.kernels.model.diagnostics import Findings

CPU_SECONDS = 2  # files of hundreds of bodies take milliseconds
ROOT = "ROOT"
JOINT_TYPES = {
    "JointTypeSpherical": "spherical",
    "JointTypeEulerZYX": "euler_zyx",
    "JointTypeEulerXYZ": "euler_xyz",
    "JointTypeEulerYXZ": "euler_yxz",
    "JointTypeTranslationXYZ": "translation",
    "JointTypeFloatingBase": "floating",
}
#: How far files of few digits, and how far rounding may put a rotation or an axis' length off.
PRINTED, ROUNDED = 1e-3, 1e-9

Table = dict[str, Any]


def read_lua(file: RobotFile) -> Description:
    """The robot; what cannot be read and what makes no sense in one `ModelError`."""
    file.package("lupa", "lua")
    table = evaluated(file, "torqued.kernels.formats.lua_program", {}, CPU_SECONDS)["table"]
    reader = _Reader()
    description = reader.description(table or {}, Path(file.source).stem, file.source)
    if faults := reader.findings.faults:
        raise ModelError(file.source, faults + further_faults(description, faults))
    return description


class _Reader:
    """Reads on after a fault, with stand-ins, so that one pass finds all of them."""

    def __init__(self) -> None:
        self.findings = Findings()
        self.unused: Counter[tuple[str, str]] = Counter()
        self.links: dict[str, Link] = {}
        self.joints: list[Joint] = []
        self.bodies: set[str] = {ROOT}
        self.places: dict[tuple[str, str], tuple[str, Pose]] = {}

    def description(self, table: Any, name: str, source: str) -> Description:
        table = self._table("file", {"": table}, "")
        frames = self._tables("file", table, "frames")
        if not frames:
            self.findings.fault("file", "'frames' is empty, expected a table for each body")
        first = [frame for frame in frames if frame.get("parent") == ROOT]
        floats = len(first) == 1 and first[0].get("joint") == ["JointTypeFloatingBase"]
        floats = floats and "joint_frame" not in first[0]
        if not floats:
            self.links[ROOT] = Link(ROOT)
        for k, frame in enumerate(frames):
            self._frame(k, frame)
        self._note_order()
        if floats:  # its root link is the body, and no joint leads there
            self.joints = [joint for joint in self.joints if joint.parent != ROOT]
        for kind in ("points", "local_frames"):
            for k, place in enumerate(self._tables("file", table, kind)):
                self._place(kind, k, place)
        sets = self._table("file", table, "constraint_sets")
        constraints = {key: self._constraints(key, sets) for key in sets}
        gravity = None
        if "gravity" in table:
            gravity = tuple(self._numbers("file", table, "gravity", (3,)).tolist())
        else:
            self.findings.warn("file", "has no gravity, for which RBDL takes 0, -9.81, 0")
        read = ("frames", "points", "local_frames", "constraint_sets", "gravity")
        self._count_unused("file", table, read)
        for (where, key), times in self.unused.items():
            count = "once" if times == 1 else f"{times} times"
            self.findings.warn(where, f"{key!r} is ignored ({count})")
        links, notes = tuple(self.links.values()), tuple(self.findings.warnings)
        base = "floating" if floats else "fixed"
        return Description(
            *(name, links, tuple(self.joints), source, notes),
            base=base,
            gravity=gravity,
            constraints=constraints,
        )

    def _frame(self, k: int, frame: Table) -> None:
        name = self._text(f"frame number {k + 1}", frame, "name") or f"frame number {k + 1}"
        where = f"frame {name!r}"
        parent = self._text(where, frame, "parent") or ROOT
        if name in self.bodies:
            self.findings.fault(where, "another frame above has this name")
        if parent not in self.bodies:
            problem = f"parent {shown(parent)} is unknown, allowed: {ROOT} or a frame above"
            self.findings.fault(where, problem)
            parent = ROOT
        self.bodies.add(name)
        self.links[name] = Link(name, self._inertia(where, self._table(where, frame, "body")))
        pose = self._pose(f"{where}: joint_frame", self._table(where, frame, "joint_frame"))
        placement = Pose(pose.rotation.T, pose.position)
        joint = Joint(f"{name}_joint", "fixed", parent, name, placement)
        self.joints.append(self._moving(where, joint, frame))
        self._count_unused("frames", frame, ("name", "parent", "body", "joint", "joint_frame"))

    def _inertia(self, where: str, body: Table) -> Inertia:
        if not body:
            return Inertia()
        where = f"{where}: body"
        mass = float(self._numbers(where, body, "mass", ()))
        if "inertia" not in body:
            self.findings.warn(where, "has no inertia, for which RBDL takes 1 kg m² about all axes")
        given = self._numbers(where, body, "inertia", (3, 3), np.eye(3))
        below = np.tril(given)
        rotational = below + np.tril(below, -1).T
        if np.abs(given - rotational).max() > ROUNDED * np.abs(given).max():
            problem = f"inertia {given.tolist()} is not symmetric; as in RBDL, what is below its"
            self.findings.warn(where, f"{problem} diagonal counts")
        com = self._numbers(where, body, "com", (3,), np.zeros(3))
        self._count_unused("bodies", body, ("mass", "com", "inertia"))
        return Inertia(mass, com, rotational)

    def _moving(self, where: str, joint: Joint, frame: Table) -> Joint:
        """A fixed joint, with the motion that the frame gives it."""
        given = frame.get("joint") or []
        if not given:
            return joint
        if isinstance(given, list) and isinstance(given[0], str) and len(given) == 1:
            if given[0] in JOINT_TYPES:
                return replace(joint, type=JOINT_TYPES[given[0]])
            allowed = f"{', '.join(JOINT_TYPES)}, or rows of six numbers"
            self.findings.fault(where, f"joint {shown(given[0])} is unknown, allowed: {allowed}")
            return joint
        rows = self._numbers(where, frame, "joint", (-1, 6))
        motions = [self._motion(f"{where}: joint row {k + 1}", row) for k, row in enumerate(rows)]
        if len(motions) == 1:
            kind, axis, pitch = motions[0]
            return replace(joint, type=kind, axis=axis, pitch=pitch)
        if any(kind == "helical" for kind, _, _ in motions):
            problem = "a row that turns and slides is one among several, allowed: the only one"
            self.findings.fault(where, problem)
        return replace(joint, type="generic", motions=tuple(m[:2] for m in motions))

    def _motion(self, where: str, row: Array) -> tuple[str, Array, float]:
        """Kind, axis and pitch of one row."""
        turn, slide = row[:3], row[3:]
        main = turn if turn.any() else slide
        length = math.hypot(*main)
        if not 0.0 < length < math.inf:
            self.findings.fault(where, f"{row.tolist()} is not a motion")
            return "revolute", np.array([0.0, 0.0, 1.0]), 0.0
        if abs(length - 1.0) > PRINTED:
            self.findings.warn(where, f"its axis has length {length:.6g} and was normalised")
        axis = main if abs(length - 1.0) < 1e-15 else main / length
        if not turn.any() or not slide.any():
            return ("revolute" if turn.any() else "prismatic"), axis, 0.0
        pitch = float(axis @ slide) / length
        if np.abs(slide / length - pitch * axis).max() > ROUNDED * abs(pitch):
            self.findings.fault(where, f"{row.tolist()} slides across its axis, allowed: along it")
        return "helical", axis, pitch

    def _place(self, kind: str, k: int, given: Table) -> None:
        """A link for a point or a local frame."""
        where = f"{kind} number {k + 1}"
        name, body = self._text(where, given, "name"), self._body(where, given, "body")
        pose = self._pose(where, given)
        pose = replace(pose, position=self._numbers(where, given, "point", (3,), pose.position))
        self.places.setdefault((kind, name), (body, pose))
        self._count_unused(kind, given, ("name", "body", "point", "r", "E"))
        if body not in self.links:
            self.findings.warn(where, f"{name!r} is in the world, which has no link here; left out")
            return
        link = name
        while link in self.links:
            link += f"_{kind[:-1]}"
        if link != name:
            self.findings.warn(where, f"its name {name!r} is taken, so its link is {link!r}")
        self.links[link] = Link(link)
        self.joints.append(Joint(f"{link}_joint", "fixed", body, link, pose))

    def _constraints(self, key: str, sets: Table) -> tuple[Contact | Loop, ...]:
        found: list[Contact | Loop] = []
        for k, item in enumerate(self._tables("constraint_sets", sets, key)):
            where = f"constraint set {key!r}, constraint {k + 1}"
            kind = self._text(where, item, "constraint_type")
            if kind == "contact":
                found += self._contacts(where, item)
            elif kind == "loop":
                for loop in self._loops(where, item):
                    last = found[-1] if found else None
                    if isinstance(last, Loop) and replace(last, held=loop.held) == loop:
                        loop = replace(loop, held=tuple(dict.fromkeys(last.held + loop.held)))
                        found.pop()
                    found.append(loop)
            elif kind:
                allowed = "'contact', 'loop'"
                problem = f"constraint_type {shown(kind)} is unknown, allowed: {allowed}"
                self.findings.fault(where, problem)
        return tuple(found)

    def _contacts(self, where: str, item: Table) -> list[Contact]:
        if "point_name" in item:
            body, pose = self._known_place(where, "points", item, "point_name")
        else:
            body = self._body(where, item, "body")
            pose = Pose(np.eye(3), self._numbers(where, item, "point", (3,), np.zeros(3)))
        normals = self._rows(where, item, "normal", 3)
        if not normals.any(axis=1).all():
            self.findings.fault(where, f"normals {normals.tolist()}: one is zero")
        read = ("constraint_type", "point_name", "body", "point", "normal", "normal_sets")
        self._count_unused("contacts", item, read)
        point = tuple(pose.position.tolist())
        if np.linalg.matrix_rank(normals) == 3:
            return [Contact(body, "point", point)]
        return [Contact(body, "normal", point, tuple(normal.tolist())) for normal in normals]

    def _loops(self, where: str, item: Table) -> list[Loop]:
        a, A = self._side(where, item, "successor")
        b, B = self._side(where, item, "predecessor")
        axes, gains = self._rows(where, item, "axis", 6), {}
        if item.get("enable_stabilization"):
            time = float(self._numbers(where, item, "stabilization_parameter", (), np.array(0.1)))
            if time <= 0.0:
                problem = f"stabilization_parameter {time}, allowed: above 0"
                self.findings.fault(where, problem)
                time = 1.0
            gains = {"stiffness": 1.0 / time**2, "damping": 2.0 / time}
        read = ("constraint_type", "axis", "axis_sets", "enable_stabilization")
        read += ("stabilization_parameter",) if gains else ()
        sides = ("body", "transform", "local_frame")
        read += tuple(f"{side}_{x}" for side in ("predecessor", "successor") for x in sides)
        self._count_unused("loops", item, read)
        held: list[tuple[tuple[str, ...], Array]] = [((), B.rotation)]
        for row in axes:
            if row[:3].any() == row[3:].any():
                problem = f"axis {row.tolist()}, expected a turn or a slide"
                self.findings.fault(where, problem)
            elif np.count_nonzero(row) == 1:  # along an axis of the frame, with the others of them
                rows = (*held[0][0], ROWS[int(np.flatnonzero(row)[0])])
                held[0] = (tuple(dict.fromkeys(rows)), B.rotation)
            else:
                name, direction = ("rz", row[:3]) if row[:3].any() else ("z", row[3:])
                held.append(((name,), B.rotation @ axis_frame(direction)))
        if a == ROOT and ROOT not in self.links:
            # Its frame can only be the robot's. With all or no axes of a kind held, both sides do.
            if len(held) > 1 or set(held[0][0]) not in ({*ROWS}, {*ROWS[:3]}, {*ROWS[3:]}):
                problem = "successor is ROOT, allowed beside a floating base: as predecessor"
                self.findings.fault(where, problem)
            a, A, b, B = b, B, a, A
            held[0] = (held[0][0], B.rotation)
        pose = np.eye(4)
        pose[:3, :3] = B.rotation @ A.rotation.T
        pose[:3, 3] = B.position if b == ROOT else 0.0
        fields = {
            "other": None if b == ROOT else b,
            "point": tuple(A.position.tolist()),
            "other_point": (0.0, 0.0, 0.0) if b == ROOT else tuple(B.position.tolist()),
            "target": _tuples(pose),
            **gains,
        }
        return [Loop(a, held=rows, axis=_tuples(R), **fields) for rows, R in held if rows]

    def _side(self, where: str, item: Table, side: str) -> tuple[str, Pose]:
        if f"{side}_local_frame" in item:
            return self._known_place(where, "local_frames", item, f"{side}_local_frame")
        key = f"{side}_transform"
        pose = self._pose(f"{where}: {key}", self._table(where, item, key))
        return self._body(where, item, f"{side}_body"), pose

    def _known_place(self, where: str, kind: str, item: Table, key: str) -> tuple[str, Pose]:
        name = self._text(where, item, key)
        if name and (kind, name) not in self.places:
            self.findings.fault(where, f"{key} {shown(name)} is not among the {kind}")
        return self.places.get((kind, name), (ROOT, Pose()))

    def _body(self, where: str, item: Table, key: str) -> str:
        name = self._text(where, item, key)
        if name and name not in self.bodies:
            self.findings.fault(where, f"{key} {shown(name)} is unknown, allowed: a frame's name")
        return name if name in self.bodies else ROOT

    def _pose(self, where: str, table: Table) -> Pose:
        """Of r and E: E as it is given."""
        position = self._numbers(where, table, "r", (3,), np.zeros(3))
        E = self._numbers(where, table, "E", (3, 3), np.eye(3))
        if np.abs(E).max() <= 2.0:
            U, _, V = np.linalg.svd(E)
            off = float(np.abs(U @ V - E).max())
            if off <= PRINTED and np.linalg.det(E) > 0.0:
                if off > ROUNDED:
                    self.findings.warn(where, f"E is a rotation within {off:.2g} and was made one")
                return Pose(E if off <= ROUNDED else U @ V, position)
        self.findings.fault(where, f"E {E.tolist()} is not a rotation")
        return Pose(np.eye(3), position)

    def _note_order(self) -> None:
        """RBDL numbers joints in the file's order; a `Model` does so depth first."""
        below = defaultdict(list)
        for joint in self.joints:
            below[joint.parent].append(joint)
        stack, walked = below[ROOT][::-1], []
        while stack:
            walked.append(stack.pop())
            stack += below[walked[-1].child][::-1]
        orders = [
            [j.child for j in joints if j.type != "fixed"] for joints in (self.joints, walked)
        ]
        if orders[0] != orders[1]:
            self.findings.warn("file", f"q is not in RBDL's order but in: {', '.join(orders[1])}")

    def _rows(self, where: str, item: Table, key: str, size: int) -> Array:
        """(k, size) of `key` or of its plural."""
        if f"{key}_sets" in item:
            return self._numbers(where, item, f"{key}_sets", (-1, size))
        return self._numbers(where, item, key, (size,))[None]

    def _table(self, where: str, item: Table, key: str) -> Table:
        given = item.get(key)
        if given is not None and given != [] and not isinstance(given, dict):
            self.findings.fault(where, f"{key!r} is {shown(given)}, expected a table with names")
        return given if isinstance(given, dict) else {}

    def _tables(self, where: str, item: Table, key: str) -> list[Table]:
        given = item.get(key)
        if given is not None and not isinstance(given, list):
            self.findings.fault(where, f"{key!r} is {shown(given)}, expected a list of tables")
        listed = enumerate(given) if isinstance(given, list) else ()
        return [self._table(f"{key} number {k + 1}", {key: x}, key) for k, x in listed]

    def _text(self, where: str, item: Table, key: str) -> str:
        given = item.get(key)
        if not isinstance(given, str) or not given.strip():
            problem = "is missing" if given is None else f"is {shown(given)}, expected a text"
            self.findings.fault(where, f"{key!r} {problem}")
            return ""
        return given

    def _numbers(
        self, where: str, item: Table, key: str, shape: tuple[int, ...], default: Any = None
    ) -> Array:
        """An array of this shape (-1: any number of rows)."""
        given = item.get(key)
        if _are_numbers(given, shape):
            return np.array(given, np.float64)
        if given is not None or default is None:
            wanted = f"{' x '.join(map(str, shape))} finite numbers" if shape else "a finite number"
            problem = "is missing" if given is None else f"is {shown(given)}"
            self.findings.fault(where, f"{key!r} {problem}, expected {wanted.replace('-1', 'k')}")
        stand_in = np.ones([max(1, n) for n in shape]) if default is None else default
        return np.asarray(stand_in, np.float64)

    def _count_unused(self, where: str, item: Table, read: tuple[str, ...]) -> None:
        self.unused.update((where, key) for key in item if key not in read)


def _are_numbers(given: Any, shape: tuple[int, ...]) -> bool:
    if not shape:
        return type(given) in (int, float) and math.isfinite(given)
    if not isinstance(given, list) or not given or shape[0] not in (-1, len(given)):
        return False
    return all(_are_numbers(item, shape[1:]) for item in given)


def _tuples(matrix: Array) -> tuple[tuple[float, ...], ...]:
    return tuple(map(tuple, matrix.tolist()))
