"""A `Description` as MJCF text, for MuJoCo.

Joints of several degrees of freedom become several joints of one body. A link has the inertia of
all that is fixed to it, by its principal axes, which MuJoCo keeps to more digits than
`fullinertia`. It moves no body without mass: those have `MIN_VALUE` kg and kg m², which is below
the rounding of everything else.
"""

from __future__ import annotations

import math
from collections.abc import Mapping

# Only used to write: parsing goes through defusedxml.
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from torqued.common.errors import ModelError
from torqued.kernels.formats.urdf_writer import spelled
from torqued.kernels.model.assemble import elementary_joints, root_joint_name
from torqued.kernels.model.bodies import Bodies
from torqued.kernels.model.checks import check
from torqued.kernels.model.checks_mass import PRINTED
from torqued.kernels.model.compound import taken_apart
from torqued.kernels.model.description import (
    JOINT_SIZES,
    ROOT_JOINT,
    Description,
    Inertia,
    Joint,
    Pose,
)
from torqued.kernels.primitives import layout

#: What MuJoCo asks of the mass and moments of a moving body (mjMINVAL), and how deep elements may
#: lie in each other.
MIN_VALUE, MAX_DEPTH = 1e-15, 490
TYPES = {layout.REVOLUTE: "hinge", layout.PRISMATIC: "slide", layout.SPHERICAL: "ball"}
LOSSES = ("armature", "damping", "frictionloss")
DOFS = {"hinge": 1, "slide": 1, "ball": 3, "free": 6}


def to_mjcf(description: Description) -> str:
    """The description as MJCF text."""
    return mjcf_and_notes(description)[0]


def mjcf_and_notes(description: Description) -> tuple[str, list[str]]:
    """MJCF text, and what of the description MuJoCo gets otherwise."""
    description = taken_apart(description)
    check(description)
    writer = _Writer(description)
    if writer.problems:
        raise ModelError(description.source, writer.problems)
    indent(writer.root)
    return tostring(writer.root, encoding="unicode") + "\n", writer.notes


class _Writer:
    def __init__(self, description: Description) -> None:
        self.problems: list[str] = []
        self.notes: list[str] = []
        bodies = Bodies(description)
        first = next(iter(bodies.body))
        below: dict[str, list[Joint]] = {link.name: [] for link in description.links}
        for joint in description.joints:
            below[joint.parent].append(joint)
        base = "floating" if description.base == "floating" else "fixed"
        held = Joint(root_joint_name(description), base, "", first)
        self.moving: list[Joint] = []  # in the order of qpos
        efforts = [joint.limits.effort for joint in description.joints if joint.type != "fixed"]
        #: Whether it has motors: without any, efforts are unknown.
        self.driven = any(effort < math.inf for effort in efforts) and any(efforts)
        self.root = Element("mujoco", model=description.name)
        SubElement(self.root, "compiler", angle="radian")
        if description.gravity is not None:
            SubElement(self.root, "option", gravity=spelled(description.gravity))
        world = SubElement(self.root, "worldbody")
        self.equality, self.actuator = Element("equality"), Element("actuator")
        waiting = [(held, world, 0)]
        while waiting:
            joint, parent, depth = waiting.pop()
            link = joint.child
            if link == "world" and joint is held and base == "fixed":
                body = world
            else:
                body = SubElement(parent, "body", name=link)
                _write_pose(body, joint.placement)
                self._write_joints(body, joint, parent is world)
                # It carries the links that are fixed to it; nothing that stands still needs any.
                if bodies.body[link] == link and (joint is not held or base == "floating"):
                    self._write_inertia(body, link, bodies.inertia[link])
                if link == "world":
                    self.problems.append("link 'world': is not the root, as MuJoCo's world is")
            if depth == MAX_DEPTH:
                self.problems.append(
                    f"link {link!r}: {depth} links lead to it, more than MuJoCo reads"
                )
                return
            waiting += [(below_it, body, depth + 1) for below_it in reversed(below[link])]
        for part in (self.equality, self.actuator, self._keyframes(description)):
            if len(part):
                self.root.append(part)

    def _write_inertia(self, body: Element, link: str, inertia: Inertia) -> None:
        """By principal moments and axes. Rounding of files with few digits is mended: MuJoCo takes
        A + B ≥ C ≥ 0 to the bit."""
        w, V = np.linalg.eigh(inertia.rotational)
        rounding = PRINTED * abs(w[2]) + MIN_VALUE
        if w[0] < -rounding or w[2] - w[0] - w[1] > rounding:
            moments = ", ".join(f"{moment:.6g}" for moment in w)
            problem = f"MuJoCo refuses the principal moments {moments} of all that is fixed to it"
            self.problems.append(f"link {link!r}: {problem}")
        if inertia.mass < MIN_VALUE:
            note = f"gets {MIN_VALUE:g} kg, since MuJoCo moves no body without mass"
            self.notes.append(f"link {link!r}: {note}")
        w, mass = np.maximum(w, MIN_VALUE), max(float(inertia.mass), MIN_VALUE)
        w[2] = min(w[2], w[0] + w[1])
        element = SubElement(body, "inertial", pos=spelled(inertia.com), mass=repr(mass))
        element.set("diaginertia", spelled(w))
        _write_pose(element, Pose(V * np.linalg.det(V)))

    def _write_joints(self, body: Element, joint: Joint, on_world: bool) -> None:
        """The joints of MuJoCo that are one of ours."""
        if joint.type == "fixed":
            return
        self.moving.append(joint)
        if joint.type == "helical":
            self.problems.append(f"joint {joint.name!r}: MJCF has no helical joints")
            return
        free = joint.type == "floating" and on_world and len(body.attrib) == 1  # no pose
        parts = [("free", np.zeros(3))] if free else []
        if joint.type == "floating" and not free:
            parts = [*(("slide", axis) for axis in np.eye(3)), ("ball", np.zeros(3))]
        elif not free:
            parts = [(TYPES[kind], axis) for kind, axis in elementary_joints(joint)]
        limits, effort = joint.limits, joint.limits.effort
        known = math.isfinite(limits.lower) or math.isfinite(limits.upper)
        ranged = joint.type != "continuous" and known
        losses = zip(LOSSES, (joint.armature, joint.damping, joint.friction), strict=True)
        written = {key: repr(float(value)) for key, value in losses if value}
        for k, (kind, axis) in enumerate(parts, start=1):
            name = joint.name if len(parts) == 1 else f"{joint.name}_{k}"
            element = SubElement(body, "joint", written, name=name, type=kind)
            if kind in ("hinge", "slide"):
                element.set("axis", spelled(axis))
                if ranged and limits.lower < limits.upper:
                    element.set("range", spelled((limits.lower, limits.upper)))
            if joint.parent and joint.mimic is None and effort > 0.0 and self.driven:
                self._write_motors(name, effort, DOFS[kind])
        if ranged and limits.lower == limits.upper:
            self.notes.append(f"joint {joint.name!r}: equal limits are none in MJCF")
        if 0.0 < effort < math.inf and (joint.mimic or parts[0][0] == "ball"):
            what = "a joint that follows" if joint.mimic else "a ball joint"
            self.notes.append(f"joint {joint.name!r}: effort of {what}, which is not read back")
        if joint.mimic is None and effort == 0.0 and not self.driven:
            self.notes.append(f"joint {joint.name!r}: effort 0, but without motors MJCF has none")
        if joint.mimic is not None:
            words = spelled((joint.mimic.offset, joint.mimic.multiplier, 0.0, 0.0, 0.0))
            ends = {"joint1": joint.name, "joint2": joint.mimic.joint}
            SubElement(self.equality, "joint", ends, polycoef=words)

    def _write_motors(self, name: str, effort: float, dofs: int) -> None:
        for k in range(dofs):
            motor = SubElement(self.actuator, "motor", name=name, joint=name)
            if dofs > 1:
                motor.attrib |= {"name": f"{name}_{k + 1}", "gear": spelled(np.eye(6)[k])}
            if effort < math.inf:
                ranges = dict.fromkeys(("ctrlrange", "forcerange"), spelled((-effort, effort)))
                motor.attrib |= ranges

    def _keyframes(self, description: Description) -> Element:
        element = Element("keyframe")
        joints = {joint.name: joint for joint in description.joints}
        for name, posture in description.postures.items():
            qpos: list[float] = []
            for joint in self.moving:
                values = _position(joint, posture, joints)
                if len(values) != (nq := JOINT_SIZES[joint.type][0]):
                    problem = f"has {len(values)} coordinates, expected {nq}"
                    self.problems.append(f"posture {name!r}: joint {joint.name!r} {problem}")
                if joint.type in ("spherical", "floating"):  # w first
                    values = (*values[:-4], *values[-1:], *values[-4:-1])
                qpos += values
            names = {joint.name if joint.parent else ROOT_JOINT for joint in self.moving}
            if idle := [joint for joint in posture if joint not in names]:
                self.notes.append(f"posture {name!r}: {', '.join(idle)} cannot move")
            SubElement(element, "key", name=name, qpos=spelled(qpos))
        return element


def _position(
    joint: Joint, posture: Mapping[str, tuple[float, ...]], joints: Mapping[str, Joint]
) -> tuple[float, ...]:
    """Where a posture has a joint, or the one that it follows."""
    if joint.mimic is not None:
        leader = _position(joints[joint.mimic.joint], posture, joints)
        return tuple(joint.mimic.multiplier * value + joint.mimic.offset for value in leader)
    turns = joint.type in ("spherical", "floating")
    neutral = (0.0,) * (JOINT_SIZES[joint.type][0] - 1) + (float(turns),)
    return tuple(posture.get(joint.name if joint.parent else ROOT_JOINT, neutral))


def _write_pose(element: Element, pose: Pose) -> None:
    if pose.position.any():
        element.set("pos", spelled(pose.position))
    if not np.array_equal(pose.rotation, np.eye(3)):
        element.set("xyaxes", spelled(pose.rotation[:, :2].T.ravel()))
