"""What every reader of robots is given."""

from __future__ import annotations

import importlib.util
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from torqued.common.errors import ModelError


@dataclass(frozen=True)
class RobotFile:
    """A robot's file as text."""

    text: str
    source: str = "<text>"  # names it in messages
    folder: Path | None = None  # what its references are relative to; None: a text without a file
    arguments: Mapping[str, str] = field(default_factory=dict)  # of a xacro file

    def require(self, package: str, extra: str) -> None:
        """A `ModelError` if a package that this file needs is not installed."""
        if importlib.util.find_spec(package) is None:
            problem = f"needs the package {package}: pip install 'torqued[{extra}]'"
            raise ModelError(self.source, [problem])
