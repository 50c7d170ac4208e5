"""MJCF (MuJoCo XML) files into a `Description`.

MuJoCo compiles the file, from the reduced copy that `mjcf_file.py` makes of it, and all numbers
are those of the compiled model: q, M and all that moves are MuJoCo's. Bodies become links, sites
links without mass on fixed joints. Where a body has several joints, or one that does not go
through its origin, links without mass stand in between. What drives joints and what couples them
is read in `mjcf_parts.py`, which also names whatever has no counterpart here.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from torqued.kernels.formats.mjcf_file import compiled
from torqued.kernels.formats.mjcf_parts import Drives, Names, couplings, drives, note, pose, unread
from torqued.kernels.formats.robot_file import RobotFile
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
from torqued.kernels.model.rotations import rotation_from_quaternion

#: Kinds of joints by MuJoCo's numbers (mjtJoint), and how many coordinates they have.
FREE, BALL, SLIDE, HINGE = range(4)
KINDS = {FREE: "floating", BALL: "spherical", SLIDE: "prismatic", HINGE: "revolute"}
SIZES = {FREE: 7, BALL: 4, SLIDE: 1, HINGE: 1}

#: m: a joint closer to its body's origin goes through it.
CLOSE = 1e-14


def read_mjcf(file: RobotFile) -> Description:
    """The robot, as MuJoCo compiles it."""
    mujoco: Any = file.package("mujoco", "mjcf")
    model, name, notes = compiled(file, mujoco)
    tree = _Tree(model, Names(model, mujoco))
    mimics, constraints, of_couplings = couplings(model, mujoco, tree.names, tree.standing)
    driven = drives(model, mujoco, tree.names, mimics)
    joints = tuple(tree.joints(driven, mimics))
    fall = tuple(model.opt.gravity.tolist())
    if model.opt.disableflags & int(mujoco.mjtDisableBit.mjDSBL_GRAVITY):
        notes.append(f"option: gravity {fall} is switched off by its flag")
        fall = (0.0, 0.0, 0.0)
    notes += [*tree.notes(), *of_couplings, *driven.notes, *unread(model, mujoco, tree.names)]
    return Description(
        name=name,
        links=tuple(tree.links()),
        joints=joints,
        source=file.source,
        notes=tuple(notes),
        base="fixed" if tree.base is None else "floating",
        gravity=fall,
        postures={name: tree.posture(k) for k, name in enumerate(tree.names.keys)},
        constraints=constraints,
    )


class _Tree:
    """Links and joints of the compiled model."""

    def __init__(self, model: Any, names: Names) -> None:
        self.model, self.names = model, names
        moving = {int(model.body_rootid[body]) for body in model.jnt_bodyid}
        top = moving.pop() if len(moving) == 1 else 0
        floats = model.body_jntnum[top] == 1 and model.jnt_type[model.body_jntadr[top]] == FREE
        #: The body that is a floating base; None: the root link is the world.
        self.base = top if floats else None
        #: Bodies and sites that are links: of the base and what hangs from it, or all.
        self.bodies = [i for i in range(model.nbody) if not floats or model.body_rootid[i] == top]
        self.sites = [i for i in range(model.nsite) if model.site_bodyid[i] in self.bodies]
        #: Where bodies without a link stand in the world, by number; and the world itself.
        self.standing = {0: Pose()}
        for i in range(1, model.nbody):
            if i not in self.bodies:
                self.standing[i] = self.standing[model.body_parentid[i]] @ self._placement(i)
        self.between: list[str] = []  # links without mass, between the joints of a body

    def notes(self) -> Iterator[str]:
        yield from self.names.notes
        places = ((self.names.bodies, self.bodies, "body"), (self.names.sites, self.sites, "site"))
        for names, kept, kind in places:
            if out := [name for i, name in enumerate(names) if i not in kept and name != "world"]:
                yield note(kind, out, "does not move with the floating base and is left out")

    def links(self) -> Iterator[Link]:
        for i in self.bodies:
            yield Link(self.names.bodies[i], self._inertia(i) if i else Inertia())
        for name in [*self.between, *(self.names.sites[i] for i in self.sites)]:
            yield Link(name)

    def joints(self, driven: Drives, mimics: Mapping[int, Mimic]) -> Iterator[Joint]:
        """In MuJoCo's order of coordinates."""
        for i in self.bodies:
            if i not in (0, self.base):
                yield from self._joints_of(i, driven, mimics)
        for i in self.sites:
            place = pose(self.model.site_pos[i], self.model.site_quat[i])
            parent = self.names.bodies[self.model.site_bodyid[i]]
            yield self._fixed(parent, self.names.sites[i], place)

    def _joints_of(self, i: int, driven: Drives, mimics: Mapping[int, Mimic]) -> Iterator[Joint]:
        """The chain from the parent of body i, one after the other: each joint turns about its
        anchor in the body's axes as the joints before it have turned them."""
        model, link = self.model, self.names.bodies[i]
        above, place = self.names.bodies[model.body_parentid[i]], self._placement(i)
        first = model.body_jntadr[i]
        numbers = range(first, first + model.body_jntnum[i])
        for j in numbers:
            kind, axis, q0 = model.jnt_type[j], model.jnt_axis[j].copy(), 0.0
            anchor = np.zeros(3)
            if kind == FREE:
                place = Pose()  # q is the pose in the world
            elif kind in (SLIDE, HINGE):
                q0 = model.qpos0[model.jnt_qposadr[j]]
            if kind in (BALL, HINGE):
                anchor = model.jnt_pos[j] - (axis @ model.jnt_pos[j] * axis if kind == HINGE else 0)
                anchor = anchor if np.abs(anchor).max() > CLOSE else np.zeros(3)
            start = Pose(np.eye(3), anchor)
            if kind == SLIDE:
                start = Pose(np.eye(3), -q0 * axis)
            elif kind == HINGE and q0:
                turn = np.append(np.sin(-q0 / 2) * axis, np.cos(-q0 / 2))
                start = Pose(rotation_from_quaternion(*turn), anchor)
            place = place @ start
            reached = j == numbers[-1] and not anchor.any()
            below = link if reached else self.names.new_link(f"{self.names.joints[j]}_link")
            if not reached:
                self.between.append(below)
            yield self._moving(j, above, below, place, axis, driven, mimics.get(j))
            above, place = below, Pose(np.eye(3), -anchor)
        if above != link:
            yield self._fixed(above, link, place)

    def _moving(
        self,
        j: int,
        above: str,
        below: str,
        place: Pose,
        axis: Array,
        driven: Drives,
        mimic: Mimic | None,
    ) -> Joint:
        model, dof, kind = self.model, self.model.jnt_dofadr[j], int(self.model.jnt_type[j])
        bounded = bool(model.jnt_limited[j]) and kind in (SLIDE, HINGE)
        lower, upper = model.jnt_range[j].tolist() if bounded else (-np.inf, np.inf)
        return Joint(
            name=self.names.joints[j],
            type="continuous" if kind == HINGE and not bounded else KINDS[kind],
            parent=above,
            child=below,
            placement=place,
            axis=axis,
            limits=Limits(lower, upper, effort=float(driven.effort[j])),
            damping=float(driven.damping[j]),
            friction=float(model.dof_frictionloss[dof]),
            armature=float(driven.armature[j]),
            mimic=mimic,
        )

    def _fixed(self, above: str, below: str, place: Pose) -> Joint:
        return Joint(self.names.new_joint(f"{below}_fixed"), "fixed", above, below, place)

    def _placement(self, i: int) -> Pose:
        return pose(self.model.body_pos[i], self.model.body_quat[i])

    def _inertia(self, i: int) -> Inertia:
        R = pose(self.model.body_ipos[i], self.model.body_iquat[i]).rotation
        rotational = R @ np.diag(self.model.body_inertia[i]) @ R.T
        rotational = (rotational + rotational.T) / 2.0
        return Inertia(float(self.model.body_mass[i]), self.model.body_ipos[i].copy(), rotational)

    def posture(self, k: int) -> dict[str, tuple[float, ...]]:
        """q of a keyframe by joint; quaternions x y z w."""
        model, posture = self.model, {}
        for j in range(model.njnt):
            adr, kind = model.jnt_qposadr[j], int(model.jnt_type[j])
            q = model.key_qpos[k, adr : adr + SIZES[kind]].tolist()
            if kind in (FREE, BALL):
                q = [*q[:-4], *q[-3:], q[-4]]
            name = self.names.joints[j]
            posture[name if self.base != model.jnt_bodyid[j] else ROOT_JOINT] = tuple(q)
        return posture
