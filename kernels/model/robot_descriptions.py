"""Robots of the package robot_descriptions, which downloads each when it is first asked for.

A name is that of a module (`ur5e_description`, `go2_mj_description`), or the same without
`_description` (`ur5e`); without `_mj` too where there is no other.
"""

from __future__ import annotations

import contextlib
import importlib
import os
import sys
from functools import cache
from pathlib import Path
from typing import Any

from torqued.common.errors import InputError

#: Paths that modules have, the best first, and the kinds of files that they are.
PATHS = {"URDF_PATH": "urdf", "XACRO_PATH": "xacro", "MJCF_PATH": "mjcf"}
#: Tags of robots that move freely, and of those that are bolted down.
FREE, HELD = {"humanoid", "quadruped", "biped", "drone"}, {"arm", "dual_arm", "end_effector"}


@cache
def known() -> dict[str, Any]:
    """Module → what the package says of it; empty when it is not installed."""
    try:
        return dict(importlib.import_module("robot_descriptions").DESCRIPTIONS)
    except ImportError:
        return {}


def module_of(name: str) -> str | None:
    """The module that a name means."""
    candidates = (name, f"{name}_description", f"{name}_mj_description")
    return next((module for module in candidates if module in known()), None)


def base_of(module: str) -> str | None:
    """How the robot is held, where its tags say so."""
    tags = known()[module].tags
    return "floating" if tags & FREE else "fixed" if tags & HELD else None


def folder_of(module: str) -> Path:
    """Where its repository is, or will be."""
    cache_folder = os.environ.get("ROBOT_DESCRIPTIONS_CACHE", "~/.cache/robot_descriptions")
    return Path(cache_folder).expanduser() / str(_repository(module).cache_path)


def is_there(module: str) -> bool:
    """Whether its repository has been downloaded."""
    try:
        head = (folder_of(module) / ".git" / "HEAD").read_text().strip()
    except OSError:
        return False
    commit = str(_repository(module).commit)
    return head == commit or (len(commit) < 40 and not head.startswith("ref:"))  # a tag


def located(module: str) -> tuple[Path, dict[str, str]]:
    """Its file, downloaded where it is not there yet, and the arguments that it takes as xacro."""
    os.environ.setdefault("GIT_TERMINAL_PROMPT", "0")  # git must not ask for a password
    try:
        with contextlib.redirect_stdout(sys.stderr):
            found = importlib.import_module(f"robot_descriptions.{module}")
    except Exception as error:  # of git, of the network, or of the module itself
        print(file=sys.stderr)  # ends the line of its progress
        repository, folder = _repository(module), folder_of(module)
        raise InputError(
            f"robot {module!r} cannot be downloaded ({_reason(error)}); where there is a network, "
            f"`git clone {repository.url}` and `git checkout {repository.commit}`, and put that in "
            f"place of {folder}"
        ) from None
    for attribute, kind in PATHS.items():
        if path := getattr(found, attribute, None):
            given = getattr(found, "XACRO_ARGS", {}) if kind == "xacro" else {}
            return Path(path), {key: str(value) for key, value in given.items()}
    raise InputError(f"robot {module!r} has none of {', '.join(PATHS)}")


def _reason(error: Exception) -> str:
    """In a line: what git says, where it does."""
    text = " ".join(str(error).split())
    start = text.find("fatal: ")
    return text[start if start >= 0 else 0 :][:200].strip(" '")


def _repository(module: str) -> Any:
    repositories = importlib.import_module("robot_descriptions._repositories").REPOSITORIES
    return repositories[known()[module].repository]
