"""Where frames are, for pictures."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.kernels import Robot
from torqued.kernels.charts.rotation import quaternion_of

Array = NDArray[np.float64]


def frame_poses(
    robot: Robot, q: Any, names: Iterable[str] | None = None
) -> dict[str, tuple[Array, Array]]:
    """Frame → position (3,) m and quaternion x y z w (4,), in the world; of all, or of some."""
    found = {}
    for name in robot.frame_names if names is None else names:
        pose = robot.frame_pose(q, name)
        found[name] = pose[:3, 3], quaternion_of(pose[:3, :3])
    return found
