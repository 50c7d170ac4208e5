"""Robots of the experiments: descriptions that are changed before they are loaded.

The daemon and the simulated robot are given a description each. Where the two differ, as with a
load that the daemon's model has wrong, the difference is the experiment.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.model import catalog
from torqued.kernels.model.description import (
    Array,
    Description,
    Inertia,
    Joint,
    Limits,
    Link,
    Pose,
)
from torqued.kernels.model.families import family
from torqued.kernels.model.urdf_file import read_whole
from torqued.kernels.model.urdf_writer import to_urdf
from torqued.kernels.model.xml_file import read_text

#: The fingers are held by a separate drive, as on the real arm.
PANDA_FINGERS = ("panda_finger_joint1", "panda_finger_joint2")
#: A pose in the middle of the Panda's workspace, as its makers start from, rad.
PANDA_READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])


def described(name: str) -> Description:
    """The description of a robot by name, as `torqued models` lists them, or by URDF file."""
    kind = catalog.family_name(name)
    if kind:
        return family(*kind, 0)
    path = catalog.find_urdf(name)
    return read_whole(read_text(path), str(path))


def panda() -> Description:
    """The arm with seven joints."""
    return with_locked(described("panda"), PANDA_FINGERS)


def with_locked(description: Description, names: Collection[str]) -> Description:
    """Joints fixed where they are at q = 0."""
    missing = set(names) - {joint.name for joint in description.joints}
    if missing:
        raise InputError(f"unknown joints to lock: {', '.join(sorted(missing))}")
    joints = tuple(
        replace(joint, type="fixed", mimic=None, limits=Limits()) if joint.name in names else joint
        for joint in description.joints
    )
    return replace(description, joints=joints)


def with_payload(
    description: Description, link: str, mass: float, at: Array, edge: float = 0.1
) -> Description:
    """A cube of `mass` kg with edges of `edge` m, its center `at` (3,) m in the link's axes."""
    inertia = Inertia(mass, np.zeros(3), mass * edge**2 / 6.0 * np.eye(3))
    place = Pose(position=np.asarray(at, float))
    joint = Joint("payload_joint", "fixed", link, "payload", place)
    return replace(
        description,
        links=(*description.links, Link("payload", inertia)),
        joints=(*description.joints, joint),
    )


def write_urdf(description: Description, path: Path) -> Path:
    """The file from which a daemon loads it."""
    path.write_text(to_urdf(description), encoding="utf-8")
    return path
