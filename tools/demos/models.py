"""Robots of the experiments: descriptions that are changed before they are loaded.

The daemon and the simulated robot are given a description each. Where the two differ, as with a
load that the daemon's model has wrong, the difference is the experiment.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np

from torqued.kernels.formats.sources import read_file
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model import catalog
from torqued.kernels.model.description import (
    Array,
    Description,
    Inertia,
    Joint,
    Link,
    Pose,
)
from torqued.kernels.model.lock import lock

#: A pose in the middle of the Panda's workspace, as its makers start from, rad.
PANDA_READY = np.array([0.0, -0.785, 0.0, -2.356, 0.0, 1.571, 0.785])


def panda() -> Description:
    """The arm of its file, with seven joints: the fingers are held by a separate drive. Without
    rotors: the experiment with springs has its own, and light wrists are the harder case."""
    return lock(read_file(catalog.find_file("panda")), catalog.usual_locked("panda"))


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
