"""A robot's file or text as a description, with everything that is wrong in one report.

Files are URDF, or robots by screws (`screws_reader.py`) where their name ends in `.toml`.
"""

from __future__ import annotations

import os
from typing import Any

from torqued.common.errors import InputError, ModelError
from torqued.kernels.input_checks import shown
from torqued.kernels.model.checks import further_faults
from torqued.kernels.model.description import Description
from torqued.kernels.model.screws_reader import read_screws
from torqued.kernels.model.urdf import parse_with_faults
from torqued.kernels.model.xml_file import read_text

SCREWS_SUFFIX = ".toml"


def read_file(path: Any) -> Description:
    """The robot of a URDF file, or of one by screws."""
    source = checked_path(path)
    read = read_screws if source.endswith(SCREWS_SUFFIX) else read_whole
    return read(read_text(source), source)


def read_whole(text: Any, source: str = "<text>") -> Description:
    """The robot of a URDF text; what cannot be read and what makes no sense in one `ModelError`."""
    if not isinstance(text, str):
        raise InputError(f"text: {shown(text)}, expected a text", "text", None, "a text")
    description, faults = parse_with_faults(text, source)
    if faults:
        raise ModelError(source, faults + further_faults(description, faults))
    return description


def checked_path(path: Any) -> str:
    if not isinstance(path, str | os.PathLike):
        wanted = "the path of a file"
        raise InputError(f"path: {shown(path)}, expected {wanted}", "path", None, wanted)
    return os.fspath(path)
