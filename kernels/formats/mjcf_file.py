from __future__ import annotations
from typing import Any
from torqued.kernels.formats.robot_file import RobotFile


def compiled(file: RobotFile, mujoco: Any) -> tuple[Any, str, list[str]]:
    spec = mujoco.MjSpec.from_string(file.text)
    return spec.compile(), spec.modelname, []
