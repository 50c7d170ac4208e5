"""The real robots that tests run on: the URDF files of example-robot-data."""

from __future__ import annotations

import sysconfig
from pathlib import Path


def robots_folder() -> Path:
    """Where the package of that name puts its robots; it need not exist."""
    packages = Path(sysconfig.get_path("platlib"))
    return packages / "cmeel.prefix" / "share" / "example-robot-data" / "robots"


def robot_urdfs() -> list[Path]:
    """All URDF files, in a fixed order; none where the package is not installed."""
    return sorted(robots_folder().rglob("*.urdf"))
