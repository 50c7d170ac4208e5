"""A robot given by screws, without joint frames ([M18] section 4.4), from TOML.

    name = "arm"

    [[link]]                    # the root first or anywhere; at least one
    name = "upper"
    mass = 2.0                  # kg; none where it is left out
    com = [0.1, 0, 0.5]         # m, in the reference frame
    inertia = [xx, xy, xz, yy, yz, zz]   # kg m² about com, in the reference frame's axes
    position = [0, 0, 0.4]      # where the link's own frame is; left out: the reference frame
    rotation = [1, 0, 0, 0, 1, 0, 0, 0, 1]   # its axes, row by row

    [[joint]]
    name = "elbow"
    type = "revolute"           # as in URDF, and torqued's own types
    parent = "upper"
    child = "lower"
    axis = [0, 1, 0]            # direction e
    point = [0.2, 0, 0.4]       # any point y on the axis: the screw is Y = (e, y × e + h e)
    pitch = 0.0                 # h, of helical joints, m/rad
    lower = -2.0                # and upper, velocity, effort, damping, friction, armature
    mimic = { joint = "other", multiplier = 1.0, offset = 0.0 }

The reference frame is the root's, and all numbers are those of the robot with all coordinates zero.
A joint of several degrees of freedom has its center at `point` and the axes of its child's frame.
A link whose frame is not on its joint's axis gets another frame there, named after the joint.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import numpy as np

from torqued.common.errors import ModelError
from torqued.kernels.formats.toml_records import Kind, Records, number, numbers, text
from torqued.kernels.input_checks import shown
from torqued.kernels.model.checks import further_faults
from torqued.kernels.model.description import (
    JOINT_SIZES,
    SINGLE_DOF,
    USES_AXIS,
    Array,
    Description,
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
    Pose,
)

TOP_KEYS = ("name", "link", "joint")
LINK_KEYS: dict[str, Kind] = {
    **{"name": text, "mass": number, "com": numbers(3), "inertia": numbers(6)},
    **{"position": numbers(3), "rotation": numbers(9)},
}
MIMIC_KEYS = {"joint": text, "multiplier": number, "offset": number}
JOINT_KEYS: dict[str, Kind] = {
    **dict.fromkeys(("name", "type", "parent", "child"), text),
    **dict.fromkeys(("axis", "point"), numbers(3)),
    **dict.fromkeys(("pitch", "lower", "upper", "velocity", "effort"), number),
    **dict.fromkeys(("damping", "friction", "armature"), number),
    "mimic": MIMIC_KEYS,
}

#: How far a link's frame may be from its joint's axis, relative to its distance from the origin,
#: what is nothing beside 1, and how far a rotation may be from a rotation.
NEAR = 1e-12
ROUNDING = 1e-15
ROTATION_TOLERANCE = 1e-9


def read_screws(table: Mapping[str, Any], source: str) -> Description:
    """The robot; what cannot be read and what makes no sense in one `ModelError`."""
    if "robot" in table:
        problem = "configuration, with a key 'robot': give it as --config, or to Robot.from_config"
        raise ModelError(source, [problem])
    reader = _Reader(table)
    if reader.problems:
        raise ModelError(source, reader.problems)
    description = reader.description(source)
    if reader.problems:
        faults = further_faults(description, reader.problems)
        raise ModelError(source, reader.problems + faults)
    return description


class _Reader(Records):
    def __init__(self, table: Mapping[str, Any]) -> None:
        super().__init__()
        self.known("the file", table, TOP_KEYS)
        self.name = table.get("name", "robot")
        if not isinstance(self.name, str):
            self.problems.append(f"key 'name' is {shown(self.name)}, expected a text")
        self.links = self.records("link", table.get("link", []), LINK_KEYS, ("name",))
        needed = ("name", "type", "parent", "child")
        self.joints = self.records("joint", table.get("joint", []), JOINT_KEYS, needed)
        if not self.links and not self.problems:
            self.problems.append("[[link]] is missing, expected at least one")
        for joint in self.joints:
            self._judge_joint(joint)

    def _judge_joint(self, joint: dict[str, Any]) -> None:
        where, kind = joint["where"], joint.get("type")
        if not kind:
            return  # reported already
        if kind not in JOINT_SIZES:
            words = ", ".join(JOINT_SIZES)
            self.problems.append(f"{where}: type {kind!r} is unknown, allowed: {words}")
            return
        needs = {
            "axis": kind in USES_AXIS,
            "point": kind not in ("fixed", "prismatic"),
            "pitch": kind == "helical",
        }
        for key, needed in needs.items():
            if needed and key not in joint:
                self.problems.append(f"{where}: {key!r} is missing: a {kind} joint requires it")
        axis = joint.get("axis")
        if axis is not None and kind in USES_AXIS and not axis.any():
            self.problems.append(f"{where}: 'axis' is zero, expected a direction")

    def description(self, source: str) -> Description:
        """From one frame to frames of links and joints."""
        poses = {link["name"]: self._pose(link) for link in self.links}
        links = [Link(link["name"], _inertia(link, poses[link["name"]])) for link in self.links]
        names = set(poses)
        joints: list[Joint] = []
        for record in self.joints:
            parent, child = poses.get(record["parent"]), poses.get(record["child"])
            parent, child = parent or Pose(), child or Pose()  # reported by the checks of the tree
            at = _joint_pose(record, child)
            joint = _joint(record, _relative(parent, at), at)
            if at is child:
                joints.append(joint)
                continue
            between, mount = f"{joint.name}_axis", f"{joint.name}_mount"
            if taken := names & {between, mount}:
                self.problems.append(
                    f"{record['where']}: its axis does not pass the frame of {joint.child!r} and "
                    f"gets another frame, whose name {min(taken)!r} is taken"
                )
            names |= {between, mount}
            links.append(Link(between))
            joints.append(replace(joint, child=between))
            joints.append(Joint(mount, "fixed", between, joint.child, _relative(at, child)))
        return Description(self.name, tuple(links), tuple(joints), source)

    def _pose(self, link: dict[str, Any]) -> Pose:
        rotation = link.get("rotation", np.eye(3).ravel()).reshape(3, 3)
        error = float(np.abs(rotation.T @ rotation - np.eye(3)).max())
        if error > ROTATION_TOLERANCE or np.linalg.det(rotation) < 0.0:
            self.problems.append(
                f"{link['where']}: 'rotation' is not a rotation (Rᵀ R off by {error:.3g} from 1, "
                f"its determinant {np.linalg.det(rotation):.3g}), expected nine numbers row by row"
            )
            rotation = np.eye(3)
        return Pose(rotation, link.get("position", np.zeros(3)))


def _inertia(link: dict[str, Any], pose: Pose) -> Inertia:
    """In the link's own frame."""
    moments = np.zeros((3, 3))
    if "inertia" in link:
        moments[np.triu_indices(3)] = link["inertia"]
        moments = moments + np.triu(moments, 1).T
    R = pose.rotation
    com: Array = R.T @ (link.get("com", pose.position) - pose.position)
    return Inertia(link.get("mass", 0.0), com, R.T @ moments @ R)


def _joint_pose(record: dict[str, Any], child: Pose) -> Pose:
    """Where the joint's frame is: the child's own where it is on the axis, which is usual."""
    if record["type"] in ("fixed", "prismatic"):
        return child
    away = child.position - record["point"]
    if record["type"] in SINGLE_DOF:
        axis = record["axis"] / np.linalg.norm(record["axis"])
        away = away - axis * (axis @ away)
    size = max(float(np.abs(child.position).max()), float(np.abs(record["point"]).max()))
    if float(np.abs(away).max()) <= NEAR * size:
        return child
    return Pose(child.rotation, record["point"])


def _relative(outer: Pose, inner: Pose) -> Pose:
    R = outer.rotation
    return Pose(R.T @ inner.rotation, R.T @ (inner.position - outer.position))


def _joint(record: dict[str, Any], placement: Pose, at: Pose) -> Joint:
    limits = {key: record[key] for key in ("lower", "upper", "velocity", "effort") if key in record}
    losses = {key: record[key] for key in ("damping", "friction", "armature") if key in record}
    more: dict[str, Any] = {}
    if record["type"] in USES_AXIS:
        axis = at.rotation.T @ record["axis"]
        # Beside −z, rounding alone would decide which way the plane of a planar joint is turned.
        more["axis"] = np.where(np.abs(axis) < ROUNDING, 0.0, axis)
    if "mimic" in record:
        more["mimic"] = Mimic(**record["mimic"])
    return Joint(
        record["name"],
        record["type"],
        record["parent"],
        record["child"],
        placement,
        pitch=record.get("pitch", 0.0),
        limits=Limits(**limits),
        **losses,
        **more,
    )
