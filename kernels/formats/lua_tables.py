"""Tables of RBDL's Lua files. Their keys are the fields of these classes; notes name others."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from torqued.kernels.formats.toml_records import Records, hints
from torqued.kernels.model.description import Array, Pose

#: How far files of few digits, and how far rounding may put a rotation or an axis' length off.
PRINTED, ROUNDED = 1e-3, 1e-9


@dataclass(frozen=True)
class Placement:
    r: Array = field(default_factory=lambda: np.zeros(3))
    E: Array = field(default_factory=lambda: np.eye(3))


@dataclass(frozen=True)
class Body:
    mass: float
    com: Array = field(default_factory=lambda: np.zeros(3))
    # NaN, which no file can say, where there is none.
    inertia: Array = field(default_factory=lambda: np.full((3, 3), np.nan))


@dataclass(frozen=True)
class Frame:
    name: str
    parent: str
    body: Body | None = None
    joint: tuple[Any, ...] = ()  # a name, or rows of six numbers
    joint_frame: Placement = field(default_factory=Placement)


@dataclass(frozen=True)
class Place:
    """A point, or a local frame with r and E."""

    name: str
    body: str
    point: Array = field(default_factory=lambda: np.zeros(3))
    r: Array = field(default_factory=lambda: np.zeros(3))
    E: Array = field(default_factory=lambda: np.eye(3))


@dataclass(frozen=True)
class Constraint:
    constraint_type: str
    # Of contacts.
    point_name: str = ""
    body: str = ""
    point: Array = field(default_factory=lambda: np.zeros(3))
    normal: Array = field(default_factory=lambda: np.zeros(3))
    normal_sets: Array = field(default_factory=lambda: np.empty((0, 3)))
    # Of loops.
    predecessor_local_frame: str = ""
    predecessor_body: str = ""
    predecessor_transform: Placement = field(default_factory=Placement)
    successor_local_frame: str = ""
    successor_body: str = ""
    successor_transform: Placement = field(default_factory=Placement)
    axis: Array = field(default_factory=lambda: np.zeros(6))
    axis_sets: Array = field(default_factory=lambda: np.empty((0, 6)))
    enable_stabilization: bool = False
    stabilization_parameter: float = 0.1  # s: [RBDL] addons/luamodel/luamodel.cc


@dataclass(frozen=True)
class LuaFile:
    frames: tuple[Frame, ...]
    points: tuple[Place, ...] = ()
    local_frames: tuple[Place, ...] = ()
    constraint_sets: Mapping[str, tuple[Constraint, ...]] = field(default_factory=dict)
    gravity: Array | None = None


class Tables(Records):
    """Reads them, and collects notes."""

    def __init__(self) -> None:
        super().__init__()
        self.notes: list[str] = []

    def fault(self, where: str, sentence: str) -> None:
        self.problems.append(f"{where}: {sentence}")

    def warn(self, where: str, sentence: str) -> None:
        self.notes.append(f"{where}: {sentence}")

    def read(self, kind: Any, table: Any, where: str = "the file") -> Any:
        """An empty table, which is a list here, is as good as none."""
        if isinstance(table, dict):
            for key in sorted(table.keys() - hints(kind).keys()):
                self.warn(where.replace(":", ""), f"{key!r} is ignored")  # several in one line
            table = {key: table[key] for key in hints(kind) if table.get(key, []) != []}
        return super().read(kind, table, where)

    def pose(self, where: str, r: Array, given: Array) -> Pose:
        """Of a position and a rotation E."""
        E = np.clip(given, -2.0, 2.0)  # beyond, it is not a rotation, and may overflow
        if not E[2].any():  # in an example of RBDL, whose axes are right without it
            E = np.array([E[0], E[1], np.cross(E[0], E[1])])
            self.warn(where, "the last row of E is zero and was made the cross product")
        U, _, V = np.linalg.svd(E)
        off = float(np.abs(U @ V - E).max())
        if off > PRINTED or np.linalg.det(U @ V) < 0.0:
            self.fault(where, f"E {given.tolist()} is not a rotation")
            return Pose()
        if off > ROUNDED:
            self.warn(where, f"E is a rotation within {off:.2g} and was made one")
            E = U @ V
        return Pose(E, r)
