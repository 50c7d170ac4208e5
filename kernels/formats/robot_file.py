"""What every reader of robots is given."""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import ModuleType

from torqued.common.errors import ModelError


@dataclass(frozen=True)
class RobotFile:
    """A robot's file as text."""

    text: str
    source: str = "<text>"  # names it in messages
    folder: Path | None = None  # what its references are relative to; None: a text without a file
    arguments: Mapping[str, str] = field(default_factory=dict)  # of a xacro file

    def package(self, name: str, extra: str) -> ModuleType:
        """A package that this file needs, imported."""
        try:
            return importlib.import_module(name)
        except ImportError as error:
            problem = f"needs the package {name} ({error}): pip install 'torqued[{extra}]'"
            raise ModelError(self.source, [problem]) from None
