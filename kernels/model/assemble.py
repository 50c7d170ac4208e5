"""From a checked description to a `Model`: order, merge, turn axes to z, split joints.

Bodies are numbered depth first in document order. Links behind fixed joints are merged into the
body that carries them. Each joint becomes one or more elementary bodies of the five kinds of
`layout.py`, each with its joint's axis as its z axis.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from torqued.kernels.model.description import (
    JOINT_SIZES,
    ROOT_JOINT,
    Array,
    Description,
    Inertia,
    Joint,
    Link,
    Pose,
)
from torqued.kernels.model.model import Dofs, Frame, JointInfo, Mimics, Model
from torqued.kernels.model.rigid_body import joined, moved
from torqued.kernels.primitives import layout

X, Y, Z = np.eye(3)

#: Name of a floating base's joint where a joint of the robot is called `ROOT_JOINT` already.
OTHER_ROOT_JOINT = "floating_root_joint"


def root_joint_name(description: Description) -> str:
    """What the joint of a floating base is called: as no other joint."""
    taken = {joint.name for joint in description.joints}
    name = ROOT_JOINT if ROOT_JOINT not in taken else OTHER_ROOT_JOINT
    while name in taken:
        name += "_"
    return name


def axis_frame(axis: Array) -> Array:
    """The smallest rotation that takes z to `axis` (half a turn about x for −z)."""
    x, y, z = axis / np.linalg.norm(axis)
    if max(abs(x), abs(y)) < 1e-100:  # whose squares would vanish
        return np.eye(3) if z > 0.0 else np.diag([1.0, -1.0, -1.0])
    # 1 / (1 + z), without cancellation when the axis points down.
    k = 1.0 / (1.0 + z) if z > 0.0 else (1.0 - z) / (x * x + y * y)
    return np.array([[1 - k * x * x, -k * x * y, x], [-k * x * y, 1 - k * y * y, y], [-x, -y, z]])


def elementary_joints(joint: Joint) -> list[tuple[int, Array]]:
    """Kind and axis of the elementary joints that a joint is made of."""
    if joint.type in ("revolute", "continuous"):
        return [(layout.REVOLUTE, joint.axis)]
    if joint.type == "prismatic":
        return [(layout.PRISMATIC, joint.axis)]
    if joint.type == "helical":
        return [(layout.HELICAL, joint.axis)]
    if joint.type == "spherical":
        return [(layout.SPHERICAL, Z)]
    if joint.type == "floating":
        return [(layout.FLOATING, Z)]
    if joint.type == "translation":
        return [(layout.PRISMATIC, X), (layout.PRISMATIC, Y), (layout.PRISMATIC, Z)]
    if joint.type == "planar":
        A = axis_frame(joint.axis)
        return [
            (layout.PRISMATIC, A[:, 0]),
            (layout.PRISMATIC, A[:, 1]),
            (layout.REVOLUTE, A[:, 2]),
        ]
    if joint.type.startswith("euler_"):
        return [(layout.REVOLUTE, {"x": X, "y": Y, "z": Z}[letter]) for letter in joint.type[6:]]
    raise AssertionError(f"checks let joint type {joint.type!r} pass")


class _Assembler:
    """Walks the tree once and collects what the model needs."""

    def __init__(self, description: Description, base: str) -> None:
        self.links: dict[str, Link] = {link.name: link for link in description.links}
        self.children: dict[str, list[Joint]] = {name: [] for name in self.links}
        for joint in description.joints:
            self.children[joint.parent].append(joint)
        moved = {joint.child for joint in description.joints}
        self.root = next(name for name in self.links if name not in moved)
        self.bodies: list[np.ndarray] = []
        self.inertias: list[Inertia] = []
        self.frames: list[Frame] = []  # of links
        self.joint_frames: list[Frame] = []
        self.joints: list[JointInfo] = []
        self.declared: list[Joint] = []
        self.nq = self.nv = 0
        #: Still to visit: joints with the body and place they hang on, and ends of subtrees.
        self.waiting: list[tuple[Joint, int, Pose, int] | range] = []
        self.base_joints = int(base == "floating")
        if base == "floating":
            name = root_joint_name(description)
            self.enter(Joint(name, "floating", "", self.root), -1, Pose(), 0)
        else:
            self.attach(self.root, -1, Pose(), 0)
        while self.waiting:
            task = self.waiting.pop()
            if isinstance(task, range):
                for i in task:
                    self.bodies[i]["end"] = self.nv
            else:
                self.enter(*task)

    def attach(self, link: str, body: int, pose: Pose, depth: int) -> None:
        """Make `link` part of `body` (-1: the world); its joints come next, in document order."""
        if body >= 0:
            inertia = moved(self.links[link].inertia, pose)
            self.inertias[body] = joined(self.inertias[body], inertia)
        self.frames.append(Frame(link, body, pose.rotation, pose.position))
        for joint in reversed(self.children[link]):
            self.waiting.append((joint, body, pose @ joint.placement, depth))

    def enter(self, joint: Joint, parent: int, placement: Pose, depth: int) -> None:
        """Add the bodies of one joint and the link that it moves."""
        if joint.type == "fixed":
            frame = Frame(joint.name, parent, placement.rotation, placement.position)
            self.joint_frames.append(frame)
            self.attach(joint.child, parent, placement, depth)
            return
        nq, nv = JOINT_SIZES[joint.type]
        self.joints.append(JointInfo(joint.name, joint.type, self.nq, nq, self.nv, nv))
        self.declared.append(joint)
        first = len(self.bodies)
        back = np.eye(3)  # from the joint's axes into the previous elementary body's axes
        for kind, axis in elementary_joints(joint):
            A = axis_frame(axis)
            body = np.zeros((), layout.BODY)
            body["parent"], body["kind"] = parent, kind
            body["q"], body["column"], body["depth"] = self.nq, self.nv, depth
            body["columns"] = {layout.SPHERICAL: 3, layout.FLOATING: 6}.get(kind, 1)
            body["R"] = (placement.rotation @ back @ A).ravel()
            body["p"] = placement.position
            body["pitch"] = joint.pitch
            body["armature"][: body["columns"]] = joint.armature
            unbroken = parent >= 0 and parent == len(self.bodies) - 1
            body["run"] = self.bodies[parent]["run"] if unbroken else self.nv
            body["above"] = self.bodies[parent]["above"] if unbroken else parent
            parent = len(self.bodies)
            self.bodies.append(body)
            self.inertias.append(Inertia())
            self.nq += {layout.SPHERICAL: 4, layout.FLOATING: 7}.get(kind, 1)
            self.nv += int(body["columns"])
            depth += int(body["columns"])
            placement, back = Pose(), A.T
        self.waiting.append(range(first, parent + 1))
        self.joint_frames.append(Frame(joint.name, parent, back, np.zeros(3)))
        self.attach(joint.child, parent, Pose(back, np.zeros(3)), depth)

    def order_by_name(self) -> tuple[int, ...]:
        """Places of the joints in the order of readers that sort the joints below a link by name
        (urdfdom, and with it Pinocchio and RBDL)."""
        places = {joint.name: k for k, joint in enumerate(self.joints) if k >= self.base_joints}
        order = list(range(self.base_joints))
        waiting = self._last_name_first(self.root)
        while waiting:
            joint = waiting.pop()
            if joint.type != "fixed":
                order.append(places[joint.name])
            waiting += self._last_name_first(joint.child)
        return tuple(order)

    def _last_name_first(self, link: str) -> list[Joint]:
        return sorted(self.children[link], key=lambda joint: joint.name, reverse=True)

    def body_array(self) -> np.ndarray:
        bodies = np.array(self.bodies, layout.BODY)
        for i, inertia in enumerate(self.inertias):
            bodies[i]["mass"] = inertia.mass
            bodies[i]["com"] = inertia.com
            bodies[i]["inertia"] = inertia.rotational[np.triu_indices(3)]
        return bodies.view(np.recarray)

    def dofs(self, mimics: Mimics) -> Dofs:
        """Per velocity coordinate (position limits per q; none for quaternions and positions).

        Joints that others follow have the range that their followers leave them.
        """
        lower, upper = np.full(self.nq, -np.inf), np.full(self.nq, np.inf)
        columns = {
            name: np.zeros(self.nv) for name in ("velocity", "effort", "damping", "friction")
        }
        armature = np.zeros(self.nv)
        for info, joint in zip(self.joints, self.declared, strict=True):
            v = slice(info.v, info.v + info.nv)
            if joint.type not in ("spherical", "floating", "continuous"):
                lower[info.q : info.q + info.nq] = joint.limits.lower
                upper[info.q : info.q + info.nq] = joint.limits.upper
            columns["velocity"][v], columns["effort"][v] = (
                joint.limits.velocity,
                joint.limits.effort,
            )
            columns["damping"][v], columns["friction"][v] = joint.damping, joint.friction
            armature[v] = joint.armature
        for k in np.flatnonzero(mimics.q_multiplier):
            leader = mimics.leaders_q[mimics.q_index[k]]
            ends = (np.array([lower[k], upper[k]]) - mimics.offset[k]) / mimics.q_multiplier[k]
            least, most = max(lower[leader], ends.min()), min(upper[leader], ends.max())
            if least < most:  # files copy limits to followers that turn the other way round
                lower[leader], upper[leader] = least, most
        return Dofs(lower, upper, armature=armature, **columns)

    def mimics(self) -> Mimics:
        """For each coordinate of the free tree: which one it follows, and how."""
        by_name = {
            info.name: (info, joint) for info, joint in zip(self.joints, self.declared, strict=True)
        }

        #: Name → the joint that leads it, and q = multiplier · q[leader] + offset.
        resolved: dict[str, tuple[str, float, float]] = {}

        def resolve(name: str) -> tuple[str, float, float]:
            followers = []  # up to a joint that is resolved already, however long the chain
            while name not in resolved and (mimic := by_name[name][1].mimic) is not None:
                followers.append((name, mimic))
                name = mimic.joint
            found = resolved.setdefault(name, (name, 1.0, 0.0))
            for follower, mimic in reversed(followers):
                leader, multiplier, offset = found
                found = (
                    leader,
                    mimic.multiplier * multiplier,
                    mimic.multiplier * offset + mimic.offset,
                )
                resolved[follower] = found
            return found

        q_index, v_index = np.arange(self.nq), np.arange(self.nv)
        multiplier, q_multiplier = np.ones(self.nv), np.ones(self.nq)
        offset = np.zeros(self.nq)
        for info, joint in by_name.values():
            if joint.mimic is not None:
                leader, multiplier[info.v], offset[info.q] = resolve(info.name)
                q_multiplier[info.q] = multiplier[info.v]
                q_index[info.q], v_index[info.v] = by_name[leader][0].q, by_name[leader][0].v
        leaders_q, leaders_v = np.unique(q_index), np.unique(v_index)
        return Mimics(
            np.searchsorted(leaders_q, q_index),
            np.searchsorted(leaders_v, v_index),
            multiplier,
            q_multiplier,
            offset,
            leaders_q,
            leaders_v,
        )


def unique_frames(frames: list[Frame]) -> Iterator[Frame]:
    """Links first; a joint's frame only where no link has its name."""
    seen: set[str] = set()
    for frame in frames:
        if frame.name not in seen:
            seen.add(frame.name)
            yield frame


def assemble(
    description: Description, base: str, gravity: Array, warnings: tuple[str, ...] = ()
) -> Model:
    """Arrays of a description that has passed `checks.check`."""
    tree = _Assembler(description, base)
    world = np.zeros(1, layout.WORLD)
    world["gravity"] = gravity
    bodies, mimics = tree.body_array(), tree.mimics()
    heavy = np.flatnonzero(bodies["mass"] > 0.0)
    world["anchor"] = heavy[0] if len(heavy) else 0
    world["branched"] = any(bodies["parent"] != np.arange(-1, len(bodies) - 1))
    return Model(
        name=description.name,
        source=description.source,
        base=base,
        world=world,
        bodies=bodies,
        joints=tuple(tree.joints),
        order_by_name=tree.order_by_name(),
        frames=tuple(unique_frames([*tree.frames, *tree.joint_frames])),
        dofs=tree.dofs(mimics),
        mimics=mimics,
        warnings=warnings,
        description=description,
        locked=description.locked,
    )
