"""Two robots as one tree: arms on a torso, a tool from another file.

    attach = [{"model": "panda", "frame": "torso", "position": [0, 0.2, 0.4], "prefix": "left_"}]

The root link of the other robot is fixed to a frame; its names get a prefix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.common.rotation import check_pose
from torqued.kernels.input_checks import known_keys, known_name, numbers, sequence, shown
from torqued.kernels.model.catalog import describe
from torqued.kernels.model.checks import check
from torqued.kernels.model.checks_joint import ROUNDING
from torqued.kernels.model.compound import taken_apart
from torqued.kernels.model.description import ROOT_JOINT, Description, Joint, Pose
from torqued.kernels.model.model import Model
from torqued.kernels.model.rotations import rotation_from_rpy

#: Of an entry: the robot, the frame that carries it, m, rad about fixed axes x y z, and a text.
KEYS = ("model", "frame", "position", "rpy", "prefix")


def with_attached(description: Description, given: Any) -> Description:
    """The description with others on it, as a configuration has them."""
    for k, entry in enumerate(sequence("attach", () if given is None else given, "maps")):
        field = f"attach[{k}]"
        if not isinstance(entry, Mapping) or not isinstance(entry.get("model"), str):
            wanted = f"a map of {', '.join(KEYS)} with the name or path of a robot as model"
            raise InputError(f"{field}: {shown(entry)}, expected {wanted}", field, None, wanted)
        known_keys(field, entry, KEYS)
        position = numbers(f"{field}.position", entry.get("position", np.zeros(3)), (3,))
        rpy = numbers(f"{field}.rpy", entry.get("rpy", np.zeros(3)), (3,))
        pose = Pose(rotation_from_rpy(*rpy), position)
        prefix = entry.get("prefix", "")
        other = taken_apart(describe(entry["model"]))
        check(other, accept_unphysical=True)  # by its own name
        description = joined(description, other, entry.get("frame"), pose, prefix, field)
    return description


def described(name: str, robot: Any) -> Description:
    """What a robot was assembled from."""
    model = getattr(robot, "model", None)
    if not isinstance(model, Model):
        raise InputError(f"{name}: {shown(robot)}, expected a robot", "other", None, "a robot")
    if not model.as_described:
        wanted = "a robot as it was loaded: attach it before its payload, friction or edits"
        raise InputError(f"{name} has been changed, expected {wanted}", "other")
    return model.description


def pose_of(given: Any) -> Pose:
    """A pose (4, 4); None is the frame's own."""
    if given is None:
        return Pose()
    pose = numbers("pose", given, (4, 4))
    check_pose("pose", pose, ROUNDING)
    return Pose(pose[:3, :3].copy(), pose[:3, 3].copy())


def joined(
    description: Description, other: Description, frame: Any, pose: Pose, prefix: Any, field: str
) -> Description:
    """One tree: the root link of `other` is fixed at a pose in a frame of the description."""
    if not isinstance(prefix, str):
        raise InputError(f"{field}.prefix: {shown(prefix)}, expected a text", "prefix")
    carriers = {joint.name: joint.child for joint in description.joints}
    carriers |= {link.name: link.name for link in description.links}
    parent = carriers[known_name(f"{field}.frame", "frame", frame, carriers)]
    added = _renamed(other, prefix)
    moved = {joint.child for joint in added.joints}
    root = next(link.name for link in added.links if link.name not in moved)
    mount = Joint(f"{root}_mount", "fixed", parent, root, pose)
    for kind, own, new in (
        ("link", description.links, added.links),
        ("joint", description.joints, (mount, *added.joints)),
    ):
        taken = {item.name for item in own} & {item.name for item in new}
        if taken:
            names = ", ".join(sorted(taken)[:4])
            raise InputError(
                f"{field}: both robots have a {kind} {names}; expected a prefix other than "
                f"{prefix!r}",
                "prefix",
            )
    return replace(
        description,
        links=(*description.links, *added.links),
        joints=(*description.joints, mount, *added.joints),
        notes=(*description.notes, *added.notes),
        locked=(*description.locked, *added.locked),
        postures={**added.postures, **description.postures},
        constraints={**added.constraints, **description.constraints},
    )


def _renamed(other: Description, prefix: str) -> Description:
    """With the prefix before all names. What holds a frame in the world does not come along."""
    held = [
        name for name, items in other.constraints.items() if any(x.other is None for x in items)
    ]
    notes = []
    if held:
        notes.append(f"constraints {', '.join(held)} hold {other.name!r} in the world: left out")
    if other.base == "floating":
        notes.append(f"the floating base of {other.name!r} is left out: its root link is fixed")
    return replace(
        other,
        links=tuple(replace(link, name=prefix + link.name) for link in other.links),
        joints=tuple(_renamed_joint(joint, prefix) for joint in other.joints),
        notes=(*other.notes, *notes),
        locked=tuple(replace(joint, name=prefix + joint.name) for joint in other.locked),
        postures={
            prefix + name: {prefix + key: q for key, q in posture.items() if key != ROOT_JOINT}
            for name, posture in other.postures.items()
        },
        constraints={
            prefix + name: _renamed_constraints(items, prefix)
            for name, items in other.constraints.items()
            if name not in held
        },
    )


def _renamed_joint(joint: Joint, prefix: str) -> Joint:
    mimic = joint.mimic and replace(joint.mimic, joint=prefix + joint.mimic.joint)
    parent, child = prefix + joint.parent, prefix + joint.child
    return replace(joint, name=prefix + joint.name, parent=parent, child=child, mimic=mimic)


def _renamed_constraints(items: Sequence[Any], prefix: str) -> tuple[Any, ...]:
    return tuple(
        replace(item, frame=prefix + item.frame, other=prefix + item.other) for item in items
    )
