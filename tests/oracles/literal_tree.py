"""A `Description` as numbered bodies with dense 6x6 quantities, each in its body's own frame.

Bodies are numbered from 0 depth first in document order; a parent of -1 is the ground, which
the papers call body 0. Links behind fixed joints are merged into the body that carries them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np

from torqued.kernels.model.description import JOINT_SIZES, Description, Joint, Pose

from . import literal_joints
from .spatial import Array, inertia, transform

Base = Literal["fixed", "floating"]

#: Name of the joint that a floating base adds between the world and the root link.
FLOATING_BASE = "root_joint"


@dataclass
class Body:
    """A moving body and the joint that moves it."""

    name: str  # of the joint
    link: str  # the joint's child, whose frame is the body's frame
    kind: str
    parent: int
    placement: Pose  # of the joint's frame in the parent body's frame
    axis: Array
    pitch: float
    armature: float
    inertia: Array  # (6, 6) about the body's origin, merged links included
    qs: slice
    vs: slice


class LiteralTree:
    """The robot as [EW21] section 2.2 and [F16] table 1 have it; all joints free, mimic or not."""

    def __init__(self, description: Description, base: Base = "fixed") -> None:
        self.base = base
        self.nq = 0
        self.nv = 0
        self.bodies: list[Body] = []
        #: For each link its body (-1: ground) and its pose in that body.
        self.link_frames: dict[str, tuple[int, Pose]] = {}
        self._inertias = {link.name: link.inertia for link in description.links}

        root = root_link(description)
        if base == "floating":
            self._add_moving(Joint(FLOATING_BASE, "floating", "world", root), -1, Pose())
        else:
            self._add_link(root, -1, Pose())
        self._add_subtree(description, root)

    def _add_subtree(self, description: Description, link: str) -> None:
        for joint in description.joints:
            if joint.parent != link:
                continue
            body, pose = self.link_frames[link]
            if joint.type == "fixed":
                self._add_link(joint.child, body, pose @ joint.placement)
            else:
                self._add_moving(joint, body, pose @ joint.placement)
            self._add_subtree(description, joint.child)

    def _add_moving(self, joint: Joint, parent: int, placement: Pose) -> None:
        nq, nv = JOINT_SIZES[joint.type]
        axis = np.asarray(joint.axis, dtype=np.float64)
        body = Body(
            name=joint.name,
            link=joint.child,
            kind=joint.type,
            parent=parent,
            placement=placement,
            axis=axis / np.linalg.norm(axis),
            pitch=joint.pitch,
            armature=joint.armature,
            inertia=np.zeros((6, 6)),
            qs=slice(self.nq, self.nq + nq),
            vs=slice(self.nv, self.nv + nv),
        )
        self.nq += nq
        self.nv += nv
        self.bodies.append(body)
        self._add_link(joint.child, len(self.bodies) - 1, Pose())

    def _add_link(self, link: str, body: int, pose: Pose) -> None:
        self.link_frames[link] = (body, pose)
        if body >= 0:
            own = self._inertias[link]
            X = transform(pose.rotation, pose.position)
            self.bodies[body].inertia += X.T @ inertia(own.mass, own.com, own.rotational) @ X

    def pose(self, i: int, q: Array) -> Pose:
        """Of body i in its parent body."""
        body = self.bodies[i]
        rotation, position = literal_joints.pose(body.kind, body.axis, body.pitch, q[body.qs])
        return body.placement @ Pose(rotation, position)

    def world_pose(self, i: int, q: Array) -> Pose:
        """Of body i in the world."""
        parent = self.bodies[i].parent
        return self.pose(i, q) if parent < 0 else self.world_pose(parent, q) @ self.pose(i, q)

    def X(self, i: int, q: Array) -> Array:
        """ᵢX_p(i), from the parent's coordinates to those of body i, [F16] section 4.1."""
        pose = self.pose(i, q)
        return transform(pose.rotation, pose.position)

    def X0(self, i: int, q: Array) -> Array:
        """ᵢX_0, from world coordinates to those of body i."""
        parent = self.bodies[i].parent
        return self.X(i, q) if parent < 0 else self.X(i, q) @ self.X0(parent, q)

    def phi(self, i: int, q: Array) -> Array:
        """Φ_i (6, d) in coordinates of body i."""
        body = self.bodies[i]
        return literal_joints.phi(body.kind, body.axis, body.pitch, q[body.qs])

    def phi_ring(self, i: int, q: Array, v: Array) -> Array:
        """Φ̊_i (6, d) in coordinates of body i."""
        body = self.bodies[i]
        return literal_joints.phi_ring(body.kind, body.axis, body.pitch, q[body.qs], v[body.vs])

    def armature(self) -> Array:
        """Rotor inertia per degree of freedom, the diagonal that is added to M."""
        diagonal = np.zeros(self.nv)
        for body in self.bodies:
            diagonal[body.vs] = body.armature
        return diagonal

    def neutral(self) -> Array:
        """Zero everywhere, quaternions at identity."""
        q = np.zeros(self.nq)
        for body in self.bodies:
            if body.kind in ("spherical", "floating"):
                q[body.qs.stop - 1] = 1.0
        return q

    def random_configuration(self, rng: np.random.Generator) -> Array:
        """Angles and displacements uniform in [-π, π], quaternions uniform, Euler joints well
        away from where their Φ loses rank."""
        q = rng.uniform(-np.pi, np.pi, self.nq)
        for body in self.bodies:
            if body.kind in ("spherical", "floating"):
                quaternion = rng.standard_normal(4)
                q[body.qs.stop - 4 : body.qs.stop] = quaternion / np.linalg.norm(quaternion)
            elif body.kind in ("euler_zxz", "euler_zyz"):
                q[body.qs.start + 1] = rng.uniform(0.5, 2.5)
            elif body.kind.startswith("euler_"):
                q[body.qs.start + 1] = rng.uniform(-1.0, 1.0)
        return q

    def integrate(self, q: Array, v: Array, dt: float) -> Array:
        """Every joint keeps its v for dt."""
        moved = np.zeros(self.nq)
        for body in self.bodies:
            moved[body.qs] = literal_joints.integrate(body.kind, q[body.qs], v[body.vs], dt)
        return moved


def root_link(description: Description) -> str:
    """The one link that is no joint's child."""
    children = {joint.child for joint in description.joints}
    (root,) = [link.name for link in description.links if link.name not in children]
    return root


class MimicMaps(NamedTuple):
    """q_full = Gq q + offset and v_full = Gv v, with the followers' coordinates removed."""

    Gq: Array  # (nq_full, nq)
    Gv: Array  # (nv_full, nv)
    offset: Array  # (nq_full,)


def mimic_maps(description: Description, base: Base = "fixed") -> MimicMaps:
    """For any tree; chains of mimics are followed to the joint that leads them."""
    tree = LiteralTree(description, base)
    joints = {joint.name: joint for joint in description.joints}
    bodies = {body.name: body for body in tree.bodies}

    def leader(name: str) -> tuple[str, float, float]:
        joint = joints.get(name)  # None for the floating base
        if joint is None or joint.mimic is None:
            return name, 1.0, 0.0
        top, multiplier, offset = leader(joint.mimic.joint)
        m = joint.mimic.multiplier
        return top, m * multiplier, m * offset + joint.mimic.offset

    Gq, Gv = np.zeros((tree.nq, tree.nq)), np.zeros((tree.nv, tree.nv))
    offsets = np.zeros(tree.nq)
    followers_q: list[int] = []
    followers_v: list[int] = []
    for body in tree.bodies:
        top, multiplier, offset = leader(body.name)
        Gq[body.qs, bodies[top].qs] = multiplier * np.eye(body.qs.stop - body.qs.start)
        Gv[body.vs, bodies[top].vs] = multiplier * np.eye(body.vs.stop - body.vs.start)
        offsets[body.qs] = offset
        if top != body.name:
            followers_q.extend(range(body.qs.start, body.qs.stop))
            followers_v.extend(range(body.vs.start, body.vs.stop))
    return MimicMaps(np.delete(Gq, followers_q, 1), np.delete(Gv, followers_v, 1), offsets)
