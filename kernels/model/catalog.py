"""The robots that torqued knows by name.

Two sources: the URDF files of the example-robot-data package, when it is installed, named after
their files (`panda`, `icub`); and the families of the papers at any size (`chain20`, `tree50`).
Wherever a name is accepted, the path of a URDF file is accepted too.
"""

from __future__ import annotations

import difflib
import importlib.metadata
import os
import re
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from torqued.common.errors import InputError

if TYPE_CHECKING:
    from torqued.kernels import Robot

Base = Literal["fixed", "floating"]

#: The papers' families, as `Robot.family` names them, and what each looks like.
FAMILIES: dict[str, str] = {
    "chain": "serial chain of N joints",
    "tree": "binary tree of N joints",
    "biped": "floating base, two legs, N joints",
    "quadruped": "floating base, four legs, N joints",
}

_FAMILY_NAME = re.compile(rf"({'|'.join(FAMILIES)})([0-9]+)")


def urdf_files() -> dict[str, Path]:
    """Name → file for every URDF of example-robot-data; empty when that is not installed."""
    try:
        files = importlib.metadata.files("example-robot-data") or []
    except importlib.metadata.PackageNotFoundError:
        return {}
    urdfs = sorted(Path(str(file.locate())) for file in files if file.suffix == ".urdf")
    stems = Counter(path.stem for path in urdfs)
    named = {path.stem if stems[path.stem] == 1 else _folder_name(path): path for path in urdfs}
    return dict(sorted(named.items()))


def _folder_name(path: Path) -> str:
    """`…/anymal_b_simple_description/robots/anymal.urdf` → `anymal_b_simple`."""
    return path.parent.parent.name.removesuffix("_description")


def load(name: str, base: Base = "fixed") -> Robot:
    """The robot of that name or URDF file.

    `base` decides how a URDF's root link is held; a family brings its own base.
    """
    return _robot_class().named(name, base)


def family_name(name: str) -> tuple[str, int] | None:
    """`chain20` → ("chain", 20); None for other names."""
    family = _FAMILY_NAME.fullmatch(name)
    return (family[1], int(family[2])) if family else None


def _robot_class() -> type[Robot]:
    """Loads every kernel, which a list of names or a misspelt one need not wait for."""
    from torqued.kernels import Robot

    return Robot


def find_urdf(name: str) -> Path:
    """The URDF file that a name or a path means."""
    path = Path(name)
    if path.suffix == ".urdf" or os.sep in name:
        if not path.is_file():
            raise InputError(f"robot {name!r}: there is no such file")
        return path
    known = urdf_files()
    if name in known:
        return known[name]
    raise InputError(f"robot {name!r} is not known; {_advice(name, known)}")


def _advice(name: str, known: dict[str, Path]) -> str:
    close = difflib.get_close_matches(name, [*known, *(f"{family}20" for family in FAMILIES)])
    if close:
        return f"did you mean {' or '.join(close)}?"
    if not known:
        return (
            "named robots come with `pip install example-robot-data`; "
            "without it, give a URDF file or a family such as chain20"
        )
    return "`torqued models` lists the names; a URDF file or a family such as chain20 works too"
