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

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from torqued.common.errors import ModelError
from torqued.kernels.formats.toml_records import Records
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


@dataclass(frozen=True)
class _Link:
    name: str
    mass: float = 0.0
    com: Array | None = None
    inertia: Array = field(default_factory=lambda: np.zeros(6))
    position: Array = field(default_factory=lambda: np.zeros(3))
    rotation: Array = field(default_factory=lambda: np.eye(3).ravel())


@dataclass(frozen=True)
class _Joint:
    name: str
    type: str
    parent: str
    child: str
    axis: Array | None = None
    point: Array | None = None
    pitch: float | None = None
    lower: float = -math.inf
    upper: float = math.inf
    velocity: float = math.inf
    effort: float = math.inf
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0
    mimic: Mimic | None = None


@dataclass(frozen=True)
class _File:
    name: str = "robot"
    link: tuple[_Link, ...] = ()
    joint: tuple[_Joint, ...] = ()


#: How far a link's frame may be from its joint's axis, relative to its distance from the origin,
#: what is nothing beside 1, and how far a rotation may be from a rotation.
NEAR = 1e-12
ROUNDING = 1e-15
ROTATION_TOLERANCE = 1e-9


def read_screws(table: Mapping[str, Any], source: str) -> Description:
    """The robot; what cannot be read and what makes no sense in one `ModelError`."""
    if "robot" in table:
        problem = "configuration, with a key 'robot', not the file of a robot"
        raise ModelError(source, [problem])
    records = Records()
    file: _File = records.read(_File, table)
    if not file.link:
        records.problems.append("[[link]] is missing, expected at least one")
    problems = records.problems
    joints = file.joint if isinstance(file.joint, tuple) else ()
    problems += [fault for joint in joints for fault in _faults(joint)]
    if problems:
        raise ModelError(source, problems)
    description = _description(file, source, problems)
    if problems:
        raise ModelError(source, problems + further_faults(description, problems))
    return description


def _faults(joint: _Joint) -> list[str]:
    kind: Any = joint.type
    where = f"joint {joint.name!r}"
    if kind is ...:  # reported already
        return []
    if kind not in JOINT_SIZES:
        return [f"{where}: type {kind!r} is unknown, allowed: {', '.join(JOINT_SIZES)}"]
    needs = {
        "axis": kind in USES_AXIS,
        "point": kind not in ("fixed", "prismatic"),
        "pitch": kind == "helical",
    }
    missing = [key for key, needed in needs.items() if needed and getattr(joint, key) is None]
    faults = [f"{where}: {key!r} is missing: a {kind} joint requires it" for key in missing]
    if isinstance(joint.axis, np.ndarray) and kind in USES_AXIS and not joint.axis.any():
        faults.append(f"{where}: 'axis' is zero, expected a direction")
    return faults


def _description(file: _File, source: str, problems: list[str]) -> Description:
    """From one frame to frames of links and joints."""
    poses = {link.name: _pose(link, problems) for link in file.link}
    links = [Link(link.name, _inertia(link, poses[link.name])) for link in file.link]
    names = set(poses)
    joints: list[Joint] = []
    for given in file.joint:
        # Links that do not exist are reported by the checks of the tree.
        parent, child = poses.get(given.parent, Pose()), poses.get(given.child) or Pose()
        at = _joint_pose(given, child)
        joint = _joint(given, _relative(parent, at), at)
        if at is child:
            joints.append(joint)
            continue
        between, mount = f"{joint.name}_axis", f"{joint.name}_mount"
        if taken := names & {between, mount}:
            problems.append(
                f"joint {joint.name!r}: its axis does not pass the frame of {joint.child!r} and "
                f"gets another frame, whose name {min(taken)!r} is taken"
            )
        names |= {between, mount}
        links.append(Link(between))
        joints.append(replace(joint, child=between))
        joints.append(Joint(mount, "fixed", between, joint.child, _relative(at, child)))
    return Description(file.name, tuple(links), tuple(joints), source)


def _pose(link: _Link, problems: list[str]) -> Pose:
    rotation = link.rotation.reshape(3, 3)
    error = float(np.abs(rotation.T @ rotation - np.eye(3)).max())
    if error > ROTATION_TOLERANCE or np.linalg.det(rotation) < 0.0:
        problems.append(
            f"link {link.name!r}: 'rotation' is not a rotation (Rᵀ R off by {error:.3g} from 1, "
            f"its determinant {np.linalg.det(rotation):.3g}), expected nine numbers row by row"
        )
        rotation = np.eye(3)
    return Pose(rotation, link.position)


def _inertia(link: _Link, pose: Pose) -> Inertia:
    """In the link's own frame."""
    moments = np.zeros((3, 3))
    moments[np.triu_indices(3)] = link.inertia
    moments = moments + np.triu(moments, 1).T
    R = pose.rotation
    com = np.zeros(3) if link.com is None else R.T @ (link.com - pose.position)
    return Inertia(link.mass, com, R.T @ moments @ R)


def _joint_pose(joint: _Joint, child: Pose) -> Pose:
    """Where the joint's frame is: the child's own where it is on the axis, which is usual."""
    if joint.point is None or joint.type in ("fixed", "prismatic"):
        return child
    away = child.position - joint.point
    if joint.axis is not None and joint.type in SINGLE_DOF:
        axis = joint.axis / np.linalg.norm(joint.axis)
        away = away - axis * (axis @ away)
    size = max(float(np.abs(child.position).max()), float(np.abs(joint.point).max()))
    if float(np.abs(away).max()) <= NEAR * size:
        return child
    return Pose(child.rotation, joint.point)


def _relative(outer: Pose, inner: Pose) -> Pose:
    R = outer.rotation
    return Pose(R.T @ inner.rotation, R.T @ (inner.position - outer.position))


def _joint(given: _Joint, placement: Pose, at: Pose) -> Joint:
    shared = ("name", "type", "parent", "child", "damping", "friction", "armature", "mimic")
    joint = Joint(
        **{key: getattr(given, key) for key in shared},
        placement=placement,
        pitch=given.pitch or 0.0,
        limits=Limits(given.lower, given.upper, given.velocity, given.effort),
    )
    if given.axis is None or given.type not in USES_AXIS:
        return joint
    axis = at.rotation.T @ given.axis
    # Beside −z, rounding alone would decide which way the plane of a planar joint is turned.
    return replace(joint, axis=np.where(np.abs(axis) < ROUNDING, 0.0, axis))
