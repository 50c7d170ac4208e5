"""Loads the robot of a daemon or of a recording from its description."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torqued.common.errors import ModelWarning, TorquedError
from torqued.kernels import Robot
from torqued.kernels.formats.sources import file_name, read_whole
from torqued.kernels.robot.options import SOURCES, with_source

if TYPE_CHECKING:
    from torqued.tools.recording.reader import Reader
    from torqued.tools.recording.recording import Recording

#: Options of `Robot.load` that a text of the robot's file stands for.
IN_TEXT = {*SOURCES, "dofs", "seed", "base"}


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
    fields = {key: value for key, value in fields.items() if key not in without}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # the daemon has shown them
        if not text:
            options = with_source(fields, Path())
            return Robot.load(options.pop("model"), **options)
        known = {key: value for key, value in fields.items() if key not in IN_TEXT}
        description = read_whole(text, file_name(text))
        return Robot.from_description(description, described["base"], **known)
