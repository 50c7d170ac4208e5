"""A robot's file or text as a description: which kind it is, and which reader it takes.

A kind is recognised in `kind_of` alone: by the end of the file's name, or else by the root element
of its XML. A reader finds everything that is wrong and raises one `ModelError`. If it needs a
package beyond torqued[server] that is missing, its error names the extra.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torqued.common.errors import InputError, ModelError
from torqued.kernels.formats.lua import read_lua
from torqued.kernels.formats.mjcf import read_mjcf
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.sdf import read_sdf
from torqued.kernels.formats.toml_reader import read_toml
from torqued.kernels.formats.toml_writer import to_toml
from torqued.kernels.formats.urdf import read_urdf
from torqued.kernels.formats.xacro import expanded, read_xacro
from torqued.kernels.formats.xml_file import read_text
from torqued.kernels.input_checks import map_or_none, shown
from torqued.kernels.model.description import Description

#: Ends of names that decide the kind; others are XML.
SUFFIXES = {".toml": "toml", ".lua": "lua", ".xacro": "xacro"}
#: Root elements that do.
ROOTS = {"robot": "urdf", "mujoco": "mjcf", "mujocoinclude": "mjcf", "sdf": "sdf"}

#: Kind → its reader.
READERS: dict[str, Callable[[RobotFile], Description]] = {
    "urdf": read_urdf,
    "xacro": read_xacro,
    "mjcf": read_mjcf,
    "lua": read_lua,
    "toml": read_toml,
    "sdf": read_sdf,
}

#: The first tag of an XML text that is neither a declaration nor in a comment.
_COMMENT = re.compile(r"<!--.*?(-->|\Z)", re.DOTALL)
_ROOT = re.compile(r"<\s*(?:[\w.-]+:)?([A-Za-z_][\w.-]*)")
_XACRO = re.compile(r"<xacro:|\$\{|=\s*[\"']\$\(", re.ASCII)


def read_file(path: Any, arguments: Mapping[str, str] | None = None) -> Description:
    """The robot of a file; `arguments` are those of a xacro file."""
    return read(opened(path, arguments))


def opened(path: Any, arguments: Mapping[str, str] | None = None) -> RobotFile:
    """A file with its text."""
    source = checked_path(path)
    return RobotFile(read_text(source), source, Path(source).parent, _texts(arguments))


def standalone(path: Any, arguments: Mapping[str, str] | None = None) -> str:
    """A text that is the whole robot, whatever its file refers to: URDF or TOML."""
    file = opened(path, arguments)
    kind = kind_of(file)
    if kind == "xacro":
        return expanded(file)
    return file.text if kind in ("urdf", "toml") else to_toml(read(file))


def file_name(text: str) -> str:
    """What a file with a text of `standalone` is called."""
    return "robot.urdf" if text.lstrip("\ufeff \r\n\t").startswith("<") else "robot.toml"


def read_whole(
    text: Any, source: str = "<text>", arguments: Mapping[str, str] | None = None
) -> Description:
    """The robot of a text."""
    if not isinstance(text, str):
        raise InputError(f"text: {shown(text)}, expected a text", "text", None, "a text")
    return read(RobotFile(text, source, None, _texts(arguments)))


def read(file: RobotFile) -> Description:
    """The robot of a file that has been opened."""
    kind = kind_of(file)
    if file.arguments and kind != "xacro":
        given = ", ".join(file.arguments)
        raise ModelError(file.source, [f"is {kind}, but arguments ({given}) are for xacro files"])
    return READERS[kind](file)


def kind_of(file: RobotFile) -> str:
    """The kind of a file, a key of `READERS`."""
    suffix = Path(file.source).suffix.lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    text = _COMMENT.sub("", file.text)
    root = _ROOT.search(text)
    kind = ROOTS.get(root[1] if root else "", "urdf")
    return "xacro" if kind == "urdf" and _XACRO.search(text) else kind


def checked_path(path: Any) -> str:
    if not isinstance(path, str | os.PathLike):
        wanted = "the path of a file"
        raise InputError(f"path: {shown(path)}, expected {wanted}", "path", None, wanted)
    return os.fsdecode(path)


def _texts(arguments: Any) -> dict[str, str]:
    given = map_or_none("arguments", arguments)
    return {
        str(name): str(value).lower() if isinstance(value, bool) else str(value)
        for name, value in given.items()
    }
