"""The real robots that tests run on (the URDF files of example-robot-data), and changed ones."""

from __future__ import annotations

import sysconfig
import warnings
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from torqued.kernels import ModelWarning, Robot
from torqued.kernels.model.description import Array


def robots_folder() -> Path:
    """Where the package of that name puts its robots; it need not exist."""
    packages = Path(sysconfig.get_path("platlib"))
    return packages / "cmeel.prefix" / "share" / "example-robot-data" / "robots"


def robot_urdfs() -> list[Path]:
    """All URDF files, in a fixed order; none where the package is not installed."""
    return sorted(robots_folder().rglob("*.urdf"))


def load_real(path: Path, base: str = "fixed", **options: Any) -> Robot:
    """A real robot; the harmless faults that its file may have are not this caller's subject."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return Robot.from_urdf(path, base, **options)


def random_motion(robot: Robot, seed: int = 0) -> tuple[Array, Array, Array]:
    """q, v, and one more vector (nv,) for accelerations or torques."""
    rng = np.random.default_rng(seed)
    q, v = robot.random_state(rng)
    return q, v, rng.normal(size=robot.nv)


def without_effort_limits(robot: Robot) -> Robot:
    """The same robot, whose torques nothing limits."""
    dofs = replace(robot.model.dofs, effort=np.full(robot.nv_free, np.inf))
    return Robot(replace(robot.model, dofs=dofs))
