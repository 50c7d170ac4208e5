"""Loads the robot of a daemon or of a recording from its description."""

from __future__ import annotations

import tempfile
import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torqued.common.errors import ModelWarning, TorquedError
from torqued.kernels import Robot
from torqued.server.config import RobotConfig

if TYPE_CHECKING:
    from torqued.tools.recording.reader import Reader
    from torqued.tools.recording.recording import Recording

#: Keys of `[robot]` that name its source.
SOURCES = ("model", "urdf", "screws")


class NoRobotError(TorquedError):
    """A recording or daemon without a robot that can be loaded."""


def recorded_robot(recording: Recording, without: Collection[str] = ()) -> Robot:
    """As the daemon had it, with its tool, payload and friction, except for some keys."""
    return described_robot(recording.robot, recording.robot_text, f"{recording.path}", without)


def observed_robot(reader: Reader) -> Robot:
    """As the daemon has it now."""
    return described_robot(reader.robot, reader.robot_file(), f"daemon {reader.name!r}")


def described_robot(
    described: Mapping[str, Any], text: str, where: str, without: Collection[str] = ()
) -> Robot:
    """The robot of a directory, whose file has this text."""
    fields: dict[str, Any] = dict(described["source"].get("robot", {}))
    if not fields:
        problem = described["source"].get("problem", "it was not loaded from a file")
        raise NoRobotError(f"{where} has no robot description: {problem}; use --robot")
    with tempfile.TemporaryDirectory(prefix="torqued-robot-") as folder:
        if text:
            kind = "screws" if "screws" in fields else "urdf"
            path = Path(folder) / ("robot.toml" if kind == "screws" else "robot.urdf")
            path.write_text(text, encoding="utf-8")
            fields = {key: value for key, value in fields.items() if key not in SOURCES}
            fields |= {kind: path, "base": described["base"]}
        fields = {key: value for key, value in fields.items() if key not in without}
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)  # the daemon has shown them
            return RobotConfig.model_validate(fields).load()
