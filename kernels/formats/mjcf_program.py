"""Reads an MJCF file in the process of `sandbox.py`, which bounds MuJoCo's compiler."""

from __future__ import annotations

import codecs
from pathlib import Path
from typing import Any

import mujoco  # noqa: F401  (loads now, while it may)

from torqued.kernels.formats.mjcf import described
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.toml_writer import as_table

codecs.lookup("utf-8-sig")  # likewise


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """The description as a table."""
    folder = request["folder"] and Path(request["folder"])
    file = RobotFile(request["text"], request["source"], folder)
    return {"description": as_table(described(file))}
