"""SDF files, which are not read: what to do with them."""

from __future__ import annotations

from torqued.common.errors import ModelError
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.model.description import Description


def read_sdf(file: RobotFile) -> Description:
    """A `ModelError` that says how to convert it."""
    command = f"`sdf2mjcf {file.source} robot.xml`"
    package = "pip install sdformat-mjcf, with Gazebo's python3-sdformat13 and python3-gz-math7"
    problem = f"SDF file (root element <sdf>): convert it to MJCF with {command} ({package})"
    raise ModelError(file.source, [f"{problem} and load robot.xml"])
