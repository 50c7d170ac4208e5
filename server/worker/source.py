"""Where a daemon's robot comes from: what it takes to load it again."""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from torqued.common import errors
from torqued.common.errors import ModelWarning, TorquedError
from torqued.kernels.model.model import Model
from torqued.server.config import Config, load_config


@dataclass(frozen=True)
class Source:
    """A configuration file and the options that override it, as `load_config` takes them."""

    file: str | None
    options: Mapping[str, Any]
    settings: Mapping[str, Any] = field(default_factory=dict)  # of the daemon as it runs

    @classmethod
    def of(cls, file: Path | None, options: Mapping[str, Any], config: Config) -> Self:
        """The source of a configuration that has been loaded; may be sent to the worker."""
        plain = {
            key: os.fspath(value) if isinstance(value, Path) else value
            for key, value in options.items()
        }
        return cls(os.fspath(file) if file else None, plain, settings_of(config))

    def load(self) -> tuple[Model, list[str]]:
        """The robot from its present files, and changed settings that need a restart.

        Raises `errors.ReloadError` with all faults of the files.
        """
        try:
            config = load_config(Path(self.file) if self.file else None, self.options)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", ModelWarning)  # the model has them
                model = config.robot.load().model
        except TorquedError as error:
            raise errors.error("bad_model", str(error)) from error
        now = settings_of(config)
        return model, [key for key in now if now[key] != self.settings.get(key)]

    def description(self) -> dict[str, Any]:
        """How the robot was loaded, to load it again without its files: the options of
        `Robot.load`, and the `text` of its file."""
        try:
            robot = load_config(Path(self.file) if self.file else None, self.options).robot
            options, text = robot.described()
        except TorquedError as error:
            return {"problem": str(error)}
        return {"robot": options, "text": text}


def settings_of(config: Config) -> dict[str, Any]:
    """All settings but the robot, as plain values."""
    return config.model_dump(mode="json", exclude={"robot"})
