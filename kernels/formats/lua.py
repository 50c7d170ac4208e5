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
from torqued.kernels.formats.lua_constraints import ROOT, ConstraintSets, known_body
from torqued.kernels.formats.lua_tables import PRINTED, ROUNDED, Table, Tables
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.sandbox import evaluated
from torqued.kernels.input_checks import shown
from torqued.kernels.model.checks import further_faults
from torqued.kernels.model.description import Array, Description, Inertia, Joint, Link, Pose

CPU_SECONDS = 2  # files of hundreds of bodies take milliseconds
JOINT_TYPES = {
    "JointTypeSpherical": "spherical",
    "JointTypeEulerZYX": "euler_zyx",
    "JointTypeEulerXYZ": "euler_xyz",
    "JointTypeEulerYXZ": "euler_yxz",
    "JointTypeTranslationXYZ": "translation",
    "JointTypeFloatingBase": "floating",
}
READ = ("frames", "points", "local_frames", "constraint_sets", "gravity")


def read_lua(file: RobotFile) -> Description:
    """The robot; what cannot be read and what makes no sense in one `ModelError`."""
    file.package("lupa", "lua")
    table = evaluated(file, "torqued.kernels.formats.lua_program", {}, CPU_SECONDS)["table"]
    reader = _Reader()
    description = reader.description(table, Path(file.source).stem, file.source)
    if faults := reader.tables.findings.faults:
        raise ModelError(file.source, faults + further_faults(description, faults))
    return description


class _Reader:
    def __init__(self) -> None:
        self.tables = Tables()
        self.fault, self.warn = self.tables.findings.fault, self.tables.findings.warn
        self.links: dict[str, Link] = {}
        self.joints: list[Joint] = []
        self.bodies: set[str] = {ROOT}
        self.places: dict[tuple[str, str], tuple[str, Pose]] = {}

    def description(self, file: Any, name: str, source: str) -> Description:
        table = self.tables.table("file", {"table": file}, "table")
        frames = self.tables.tables("file", table, "frames")
        if not frames:
            self.fault("file", "'frames' is empty, expected a table for each body")
        self.links[ROOT] = Link(ROOT)
        for k, frame in enumerate(frames):
            self._frame(k, frame)
        if not self.tables.findings.faults:  # else it may be no tree
            self._note_order()
        first = [joint for joint in self.joints if joint.parent == ROOT]
        floats = len(first) == 1 and first[0].type == "floating" and _is_nothing(first[0].placement)
        if floats:  # its root link is the body, and no joint leads there
            del self.links[ROOT]
            self.joints = [joint for joint in self.joints if joint is not first[0]]
        for kind in ("points", "local_frames"):
            for k, place in enumerate(self.tables.tables("file", table, kind)):
                self._place(kind, k, place)
        sets = self.tables.table("file", table, "constraint_sets")
        reader = ConstraintSets(self.tables, self.bodies, self.places, floats)
        constraints = {key: reader.read(key, sets) for key in sets}
        gravity = None
        if "gravity" in table:
            gravity = tuple(self.tables.numbers("file", table, "gravity", (3,)).tolist())
        else:
            self.warn("file", "has no gravity, for which RBDL takes 0, -9.81, 0")
        self.tables.count_unused("file", table, READ)
        self.tables.note_unused()
        links, notes = tuple(self.links.values()), tuple(self.tables.findings.warnings)
        return Description(
            *(name, links, tuple(self.joints), source, notes),
            base="floating" if floats else "fixed",
            gravity=gravity,
            constraints=constraints,
        )

    def _frame(self, k: int, frame: Table) -> None:
        where = f"frame number {k + 1}"
        name = self.tables.text(where, frame, "name") or where
        where = f"frame {name!r}"
        parent = self.tables.text(where, frame, "parent") or ROOT
        if name in self.bodies:
            self.fault(where, "another frame above has this name")
        if parent not in self.bodies:
            allowed = f"{ROOT} or a frame above"
            self.fault(where, f"parent {shown(parent)} is unknown, allowed: {allowed}")
            parent = ROOT
        self.bodies.add(name)
        self.links[name] = Link(name, self._inertia(where, self.tables.table(where, frame, "body")))
        key = "joint_frame"
        pose = self.tables.pose(f"{where}: {key}", self.tables.table(where, frame, key))
        placement = Pose(pose.rotation.T, pose.position)
        joint = Joint(f"{name}_joint", "fixed", parent, name, placement)
        self.joints.append(self._moving(where, joint, frame))
        self.tables.count_unused("frames", frame, ("name", "parent", "body", "joint", key))

    def _inertia(self, where: str, body: Table) -> Inertia:
        if not body:
            return Inertia()
        where = f"{where}: body"
        mass = float(self.tables.numbers(where, body, "mass", ()))
        com = self.tables.numbers(where, body, "com", (3,), np.zeros(3))
        if "inertia" not in body:
            self.warn(where, "has no inertia, for which RBDL takes 1 kg m² about all axes")
        given = self.tables.numbers(where, body, "inertia", (3, 3), np.eye(3))
        rotational = np.tril(given) + np.tril(given, -1).T
        if np.abs(given - rotational).max() > ROUNDED * np.abs(given).max():
            problem = f"inertia {given.tolist()} is not symmetric; as in RBDL, what is below its"
            self.warn(where, f"{problem} diagonal counts")
        self.tables.count_unused("bodies", body, ("mass", "com", "inertia"))
        return Inertia(mass, com, rotational)

    def _moving(self, where: str, joint: Joint, frame: Table) -> Joint:
        """A fixed joint, with the motion that the frame gives it."""
        given = frame.get("joint") or []
        if not given:
            return joint
        if isinstance(given, list) and len(given) == 1 and isinstance(given[0], str):
            if given[0] not in JOINT_TYPES:
                allowed = f"{', '.join(JOINT_TYPES)}, or rows of six numbers"
                self.fault(where, f"joint {shown(given[0])} is unknown, allowed: {allowed}")
            return replace(joint, type=JOINT_TYPES.get(given[0], "fixed"))
        rows = self.tables.numbers(where, frame, "joint", (-1, 6))
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
        main = turn if turn.any() else slide
        length = math.hypot(*main)
        if not 0.0 < length < math.inf:
            self.fault(where, f"{row.tolist()} is not a motion")
            return "revolute", np.array([0.0, 0.0, 1.0]), 0.0
        if abs(length - 1.0) > PRINTED:
            self.warn(where, f"its axis has length {length:.6g} and was normalised")
        axis = main if abs(length - 1.0) < 1e-15 else main / length
        if not turn.any() or not slide.any():
            return ("revolute" if turn.any() else "prismatic"), axis, 0.0
        pitch = float(axis @ slide) / length
        if np.abs(slide / length - pitch * axis).max() > ROUNDED * abs(pitch):
            self.fault(where, f"{row.tolist()} slides across its axis, allowed: along it")
        return "helical", axis, pitch

    def _place(self, kind: str, k: int, given: Table) -> None:
        """A link for a point or a local frame."""
        where = f"{kind} number {k + 1}"
        name = self.tables.text(where, given, "name")
        body = known_body(self.tables, self.bodies, where, given, "body")
        pose = self.tables.pose(where, given)
        position = self.tables.numbers(where, given, "point", (3,), pose.position)
        pose = Pose(pose.rotation, position)
        self.places.setdefault((kind, name), (body, pose))
        self.tables.count_unused(kind, given, ("name", "body", "point", "r", "E"))
        if body not in self.links:
            self.warn(where, f"{name!r} is in the world, which has no link here; left out")
            return
        link = name
        while link in self.links:
            link += f"_{kind[:-1]}"
        if link != name:
            self.warn(where, f"its name {name!r} is taken, so its link is {link!r}")
        self.links[link] = Link(link)
        self.joints.append(Joint(f"{link}_joint", "fixed", body, link, pose))

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
            self.warn("file", f"q is not in RBDL's order but in: {', '.join(ours)}")


def _is_nothing(pose: Pose) -> bool:
    return bool(not pose.position.any() and np.array_equal(pose.rotation, np.eye(3)))
