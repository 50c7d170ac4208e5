"""xacro files, expanded and read as URDF.

A file can include and load files of its folder and of packages that it finds (`$(find arm)`):
those above its folder or beside one of them, and of ROS_PACKAGE_PATH and AMENT_PREFIX_PATH.
"""

from __future__ import annotations

import os
import re
from dataclasses import replace

from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.sandbox import evaluated
from torqued.kernels.formats.urdf import read_urdf
from torqued.kernels.model.description import Description

CPU_SECONDS = 5  # the largest files in circulation take two
PATHS = ("ROS_PACKAGE_PATH", "AMENT_PREFIX_PATH")
USED = re.compile(r"<xacro:|\$[{(]", re.ASCII)


def read_xacro(file: RobotFile) -> Description:
    """The robot; what cannot be read and what makes no sense in one `ModelError`."""
    text, notes = _expanded(file)
    description = read_urdf(replace(file, text=text))
    return replace(description, notes=(*notes, *description.notes))


def expanded(file: RobotFile) -> str:
    """The URDF text."""
    return _expanded(file)[0]


def _expanded(file: RobotFile) -> tuple[str, list[str]]:
    if not USED.search(file.text) and not file.arguments:
        return file.text, []
    file.require("xacro", "xacro")
    request = {
        "name": os.path.basename(file.source),
        "arguments": {str(name): str(value) for name, value in file.arguments.items()},
        "paths": {name: os.environ.get(name, "").split(os.pathsep) for name in PATHS},
    }
    found = evaluated(file, "torqued.kernels.formats.xacro_program", request, CPU_SECONDS)
    return found["text"], found["notes"]
