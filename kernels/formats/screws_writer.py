"""A `Description` by screws, without joint frames ([M18] section 4.4), as TOML text.

Everything is written in one frame, that of the root link, with all coordinates zero: directions and
points of axes, centers of mass, inertias. Numbers are written in full, so that reading the text
gives the same robot up to rounding. `screws_reader.py` says what the keys mean.
"""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from typing import Any

import numpy as np

from torqued.kernels.model.compound import taken_apart
from torqued.kernels.model.description import (
    SINGLE_DOF,
    USES_AXIS,
    Array,
    Description,
    Joint,
    Link,
    Pose,
)
from torqued.kernels.model.rigid_body import moved


def to_screws(description: Description) -> str:
    """The description as TOML text; compound joints as the simple ones that they are."""
    description = taken_apart(description)
    poses = reference_poses(description)
    lines = [
        "# A robot by screws: all in the frame of its root link, with all coordinates zero.",
        f"name = {text_word(description.name)}",
    ]
    for link in description.links:
        lines += ["", "[[link]]", *_link_lines(link, poses[link.name])]
    for joint in description.joints:
        lines += ["", "[[joint]]", *_joint_lines(joint, poses[joint.child])]
    return "\n".join(lines) + "\n"


def reference_poses(description: Description) -> dict[str, Pose]:
    """A_i of every link, [M18] eq. 93: where its frame is in the root's, with all q zero."""
    children = {joint.child: joint for joint in description.joints}
    root = next(link.name for link in description.links if link.name not in children)
    below: dict[str, list[Joint]] = {}
    for joint in description.joints:
        below.setdefault(joint.parent, []).append(joint)
    poses = {root: Pose()}
    waiting = [root]
    while waiting:
        parent = waiting.pop()
        for joint in below.get(parent, []):
            poses[joint.child] = poses[parent] @ joint.placement
            waiting.append(joint.child)
    return poses


def _link_lines(link: Link, pose: Pose) -> list[str]:
    lines = [f"name = {text_word(link.name)}"]
    inertia = moved(link.inertia, pose)
    if link.inertia.mass != 0.0 or inertia.rotational.any():
        moments = inertia.rotational[np.triu_indices(3)]
        lines += [
            f"mass = {number_word(inertia.mass)}",
            f"com = {numbers_word(inertia.com)}",
            f"inertia = {numbers_word(moments)}",
        ]
    if pose.position.any():
        lines.append(f"position = {numbers_word(pose.position)}")
    if not np.array_equal(pose.rotation, np.eye(3)):
        lines.append(f"rotation = {numbers_word(pose.rotation.ravel())}")
    return lines


def _joint_lines(joint: Joint, pose: Pose) -> list[str]:
    lines = [
        f"name = {text_word(joint.name)}",
        f"type = {text_word(joint.type)}",
        f"parent = {text_word(joint.parent)}",
        f"child = {text_word(joint.child)}",
    ]
    if joint.type in USES_AXIS:
        lines.append(f"axis = {numbers_word(pose.rotation @ joint.axis)}")
    if joint.type in USES_AXIS - {"prismatic"} or joint.type not in {"fixed", *SINGLE_DOF}:
        lines.append(f"point = {numbers_word(pose.position)}")
    if joint.type == "helical":
        lines.append(f"pitch = {number_word(joint.pitch)}")
    for name in ("lower", "upper", "velocity", "effort"):
        if math.isfinite(value := getattr(joint.limits, name)):
            lines.append(f"{name} = {number_word(value)}")
    for name in ("damping", "friction", "armature"):
        if value := getattr(joint, name):
            lines.append(f"{name} = {number_word(value)}")
    if joint.mimic is not None:
        lines.append(
            f"mimic = {{ joint = {text_word(joint.mimic.joint)}, "
            f"multiplier = {number_word(joint.mimic.multiplier)}, "
            f"offset = {number_word(joint.mimic.offset)} }}"
        )
    return lines


def numbers_word(values: Array | Iterable[Any]) -> str:
    return f"[{', '.join(number_word(value) for value in values)}]"


def number_word(value: Any) -> str:
    """The shortest text that reads back as the same float64."""
    return repr(float(value))


def text_word(value: str) -> str:
    """As TOML quotes texts: JSON does so too, but for the one character that TOML forbids."""
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007f")
