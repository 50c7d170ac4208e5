"""The real robots that tests run on: the URDF files of example-robot-data."""

from __future__ import annotations

import sysconfig
import warnings
from pathlib import Path
from typing import Any

from torqued.kernels import ModelWarning, Robot


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
