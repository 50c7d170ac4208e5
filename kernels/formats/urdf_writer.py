"""A `Description` as URDF text, so that other programs can load it and `urdf.py` reads it back.

Numbers are written in full: reading the text gives the same numbers again, except that rotations
pass through roll, pitch and yaw and come back within rounding. What URDF has no tag for is written
in torqued's extensions (see `urdf.py`).
"""

from __future__ import annotations

import math
from collections.abc import Iterable

# Only used to write: parsing goes through defusedxml.
from xml.etree.ElementTree import Element, SubElement, indent, tostring

import numpy as np

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
    if any(losses.values()):
        used = {name: spelled_number(value) for name, value in losses.items() if value}
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
    """Unknown limits are left out where possible: other programs know no `inf`."""
    known = {}
    if math.isfinite(limits.lower) or math.isfinite(limits.upper):
        known = {"lower": limits.lower, "upper": limits.upper}
    for name in ("velocity", "effort"):
        if math.isfinite(getattr(limits, name)):
            known[name] = getattr(limits, name)
    if known:
        SubElement(joint, "limit", {name: spelled_number(value) for name, value in known.items()})


def _write_pose(parent: Element, pose: Pose) -> None:
    origin = SubElement(parent, "origin", xyz=spelled(pose.position))
    if not np.array_equal(pose.rotation, np.eye(3)):
        origin.set("rpy", spelled(rpy_from_rotation(pose.rotation)))


def spelled(values: Array | Iterable[float]) -> str:
    return " ".join(spelled_number(value) for value in values)


def spelled_number(value: float) -> str:
    """The shortest text that reads back as the same float64."""
    return repr(float(value))
