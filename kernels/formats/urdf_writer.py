"""A `Description` as URDF text, so that other programs can load it and `urdf.py` reads it back.

Numbers are written in full: reading the text gives the same numbers again, except that rotations
pass through roll, pitch and yaw and come back within rounding. What URDF has no tag for is written
in torqued's extensions (see `urdf.py`).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict

# Only used to write: parsing goes through defusedxml.
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

from torqued.kernels.formats.urdf import NO_LIMIT
from torqued.kernels.model.description import (
    COMPOUND,
    USES_AXIS,
    Array,
    Description,
    Inertia,
    Joint,
    Limits,
    Pose,
)
from torqued.kernels.model.rotations import rpy_from_rotation

#: Joints that have limits in every URDF.
LIMITED = ("revolute", "prismatic")


def to_urdf(description: Description) -> str:
    """The description as URDF text."""
    robot = Element("robot", name=description.name)
    for link in description.links:
        element = SubElement(robot, "link", name=link.name)
        if _is_something(link.inertia):
            _write_inertia(element, link.inertia)
    for joint in description.joints:
        _write_joint(robot, joint)
    indent(robot)
    return tostring(robot, encoding="unicode") + "\n"


def _is_something(inertia: Inertia) -> bool:
    return inertia.mass != 0.0 or bool(inertia.com.any() or inertia.rotational.any())


def _write_inertia(link: Element, inertia: Inertia) -> None:
    inertial = SubElement(link, "inertial")
    _write_pose(inertial, Pose(np.eye(3), inertia.com))
    SubElement(inertial, "mass", value=spelled_number(inertia.mass))
    moments = SubElement(inertial, "inertia")
    for row, column in zip(*np.triu_indices(3), strict=True):
        name = "i" + "xyz"[row] + "xyz"[column]
        moments.set(name, spelled_number(inertia.rotational[row, column]))


def _write_joint(robot: Element, joint: Joint) -> None:
    element = SubElement(robot, "joint", name=joint.name, type=joint.type)
    SubElement(element, "parent", link=joint.parent)
    SubElement(element, "child", link=joint.child)
    _write_pose(element, joint.placement)
    if joint.type in USES_AXIS | COMPOUND:
        SubElement(element, "axis", xyz=spelled(joint.axis))
    for kind, axis in joint.motions:
        SubElement(element, "motion", type=kind, xyz=spelled(axis))
    if joint.type == "helical":
        SubElement(element, "pitch", value=spelled_number(joint.pitch))
    if joint.type != "fixed":
        _write_limits(element, joint.limits)
    losses = {name: getattr(joint, name) for name in ("damping", "friction", "armature")}
    if any(losses.values()):  # other programs refuse armature alone
        used = {k: spelled_number(x) for k, x in losses.items() if x or k == "damping"}
        SubElement(element, "dynamics", used)
    if joint.mimic is not None:
        SubElement(
            element,
            "mimic",
            joint=joint.mimic.joint,
            multiplier=spelled_number(joint.mimic.multiplier),
            offset=spelled_number(joint.mimic.offset),
        )


def _write_limits(joint: Element, limits: Limits) -> None:
    """Other programs require all of them, and know no `inf`."""
    known = {name: min(max(x, -NO_LIMIT), NO_LIMIT) for name, x in asdict(limits).items()}
    if joint.get("type") == "continuous":
        known = {name: known[name] for name in ("velocity", "effort")}
    if any(abs(x) < NO_LIMIT for x in known.values()) or joint.get("type") in LIMITED:
        SubElement(joint, "limit", {name: spelled_number(x) for name, x in known.items()})


def _write_pose(parent: Element, pose: Pose) -> None:
    origin = SubElement(parent, "origin", xyz=spelled(pose.position))
    if not np.array_equal(pose.rotation, np.eye(3)):
        origin.set("rpy", spelled(rpy_from_rotation(pose.rotation)))


def spelled(values: Array | Iterable[float]) -> str:
    return " ".join(spelled_number(value) for value in values)


def spelled_number(value: float) -> str:
    """The shortest text that reads back as the same float64."""
    return repr(float(value))
