"""MJCF (MuJoCo XML) files into a `Description`.

MuJoCo compiles the file in a process of few rights (`sandbox.py`), from the reduced copy that
`mjcf_file.py` makes of it, and all numbers are those of the compiled model: q, M and all that
moves are MuJoCo's. Bodies become links, sites links without mass on fixed joints. Where a body has
several joints, or one that does not go through its origin, links without mass stand in between.
What drives joints and what couples them is read in `mjcf_parts.py`, which also names whatever has
no counterpart here.
"""

from __future__ import annotations

import importlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from torqued.common.errors import ModelError
from torqued.kernels.formats.mjcf_file import compiled
from torqued.kernels.formats.mjcf_parts import Compiled, couplings, drives, note_unread, pose
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.sandbox import evaluated
from torqued.kernels.formats.toml_reader import description_of
from torqued.kernels.model.description import (
    ROOT_JOINT,
    Array,
    Description,
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    Pose,
)

#: Kinds of joints by MuJoCo's numbers (mjtJoint), and how many coordinates they have.
FREE, BALL, SLIDE, HINGE = range(4)
KINDS = {FREE: "floating", BALL: "spherical", SLIDE: "prismatic", HINGE: "revolute"}
SIZES = {FREE: 7, BALL: 4, SLIDE: 1, HINGE: 1}

#: m: a joint closer to its body's origin goes through it.
CLOSE = 1e-14


CPU_SECONDS = 6  # the largest of the menagerie take 1.5


def read_mjcf(file: RobotFile) -> Description:
    """The robot, as MuJoCo compiles it."""
    file.require("mujoco", "mjcf")
    found = evaluated(file, "torqued.kernels.formats.mjcf_program", {}, CPU_SECONDS)
    return description_of(found["description"], file.source)


@np.errstate(all="ignore")  # `checks.py` reports numbers that are none
def described(file: RobotFile) -> Description:
    """The description of what MuJoCo compiles here."""
    mujoco: Any = importlib.import_module("mujoco")
    model, name, notes = compiled(file, mujoco)
    if model.nbody == 1:
        raise ModelError(file.source, ["has no bodies"])
    c = Compiled(model, mujoco, notes)
    tree = _Tree(c)
    mimics, constraints = couplings(c, tree.standing)
    joints = tuple(tree.joints(mimics, *drives(c, mimics)))
    note_unread(c)
    fall = tuple(model.opt.gravity.tolist())
    if model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY):
        notes.append(f"option: gravity {fall} is switched off by its flag")
        fall = (0.0, 0.0, 0.0)
    return Description(
        name=name,
        links=tuple(tree.links()),
        joints=joints,
        source=file.source,
        notes=tuple(notes),
        base="floating" if tree.base else "fixed",
        gravity=fall,
        postures={key: tree.posture(k) for k, key in enumerate(c.names["key"])},
        constraints=constraints,
    )


class _Tree:
    """Links and joints of the compiled model."""

    def __init__(self, c: Compiled) -> None:
        self.c, self.model, self.body_names = c, c.model, c.names["body"]
        self.between: list[str] = []  # links without mass, between the joints of a body
        root_of, count = self.model.body_rootid.tolist(), self.model.nbody
        moving = {root_of[body] for body in self.model.jnt_bodyid}
        top = moving.pop() if len(moving) == 1 else 0
        floats = self.model.jnt_type[self.model.body_jntadr[top]] == FREE if top else False
        #: The body that is a floating base; 0: the root link is the world.
        self.base = top if floats and self.model.body_jntnum[top] == 1 else 0
        #: Bodies and sites that are links: of the base and what hangs from it, or all.
        self.bodies = [i for i in range(count) if self.base in (0, root_of[i])]
        kept = np.isin(self.model.site_bodyid, self.bodies)
        self.sites = np.flatnonzero(kept).tolist()
        #: Where bodies that do not move stand in the world, and the world itself.
        self.standing = {0: Pose()}
        for i in range(1, count):
            above = int(self.model.body_parentid[i])
            if above in self.standing and not self.model.body_jntnum[i]:
                self.standing[i] = self.standing[above] @ self._placement(i)
        left_out = sorted({*range(1, count)} - {*self.bodies})
        c.note("body", left_out, "does not move with the floating base: left out")
        c.note("site", ~kept, "does not move with the floating base: left out")

    def links(self) -> Iterator[Link]:
        for i in self.bodies:
            yield Link(self.body_names[i], self._inertia(i))
        for name in [*self.between, *(self.c.names["site"][i] for i in self.sites)]:
            yield Link(name)

    def joints(self, mimics: Mapping[int, Mimic], effort: Array, losses: Array) -> Iterator[Joint]:
        """In MuJoCo's order of coordinates."""
        for i in self.bodies:
            if i not in (0, self.base):
                yield from self._chain(i, mimics, effort, losses)
        for i in self.sites:
            above = self.body_names[self.model.site_bodyid[i]]
            place = pose(self.model.site_pos[i], self.model.site_quat[i])
            yield self._fixed(above, self.c.names["site"][i], place)

    def _chain(
        self, i: int, mimics: Mapping[int, Mimic], effort: Array, losses: Array
    ) -> Iterator[Joint]:
        """Between body i and its parent: each joint moves about its anchor in the axes of the body,
        as those before it have moved it."""
        model, link = self.model, self.body_names[i]
        above, place = self.body_names[model.body_parentid[i]], self._placement(i)
        end = model.body_jntadr[i] + model.body_jntnum[i]
        for j in range(model.body_jntadr[i], end):
            kind, axis = int(model.jnt_type[j]), model.jnt_axis[j].copy()
            q0 = float(model.qpos0[model.jnt_qposadr[j]])
            start, anchor = Pose(), np.zeros(3)
            if kind == FREE:
                place = Pose()  # q is its pose in the world
            elif kind == SLIDE:
                start = Pose(position=-q0 * axis)
            else:
                half = -q0 / 2.0 if kind == HINGE else 0.0
                along = axis * (axis @ model.jnt_pos[j]) if kind == HINGE else 0.0
                anchor = model.jnt_pos[j] - along
                anchor *= np.abs(anchor).max() > CLOSE
                start = pose(anchor, np.array([np.cos(half), *np.sin(half) * axis]))
            arrives = j == end - 1 and not anchor.any()
            below = link if arrives else self.c.new("body", f"{self.c.names['joint'][j]}_link")
            self.between += [below] * (not arrives)
            limited = model.jnt_limited[j] and kind in (SLIDE, HINGE)
            lower, upper = model.jnt_range[j].tolist() if limited else (-np.inf, np.inf)
            armature, damping, friction = losses[:, j].tolist()
            yield Joint(
                name=self.c.names["joint"][j],
                type="continuous" if kind == HINGE and not limited else KINDS[kind],
                parent=above,
                child=below,
                placement=place @ start,
                axis=axis,
                limits=Limits(lower, upper, effort=float(effort[j])),
                damping=damping,
                friction=friction,
                armature=armature,
                mimic=mimics.get(j),
            )
            above, place = below, Pose(position=-anchor)
        if above != link:
            yield self._fixed(above, link, place)

    def _fixed(self, above: str, below: str, place: Pose) -> Joint:
        return Joint(self.c.new("joint", f"{below}_fixed"), "fixed", above, below, place)

    def _placement(self, i: int) -> Pose:
        return pose(self.model.body_pos[i], self.model.body_quat[i])

    def _inertia(self, i: int) -> Inertia:
        place = pose(self.model.body_ipos[i], self.model.body_iquat[i])
        rotational = place.rotation @ np.diag(self.model.body_inertia[i]) @ place.rotation.T
        rotational = (rotational + rotational.T) / 2.0
        return Inertia(float(self.model.body_mass[i]), place.position, rotational)

    def posture(self, k: int) -> dict[str, tuple[float, ...]]:
        """q of a keyframe by joint; quaternions x y z w."""
        posture = {}
        for j, name in enumerate(self.c.names["joint"]):
            start, kind = self.model.jnt_qposadr[j], int(self.model.jnt_type[j])
            q = self.model.key_qpos[k, start : start + SIZES[kind]].tolist()
            if kind in (FREE, BALL):
                q = [*q[:-4], *q[-3:], q[-4]]
            base = self.base and self.model.jnt_bodyid[j] == self.base
            posture[ROOT_JOINT if base else name] = tuple(q)
        return posture
