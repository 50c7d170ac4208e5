"""The robots that torqued knows by name.

Three sources: the URDF files of the example-robot-data package, when it is installed, named after
their files (`panda`, `icub`) or in short (`ur5`, `talos`); the families of the papers at any size
(`chain20`, `tree50`); and the modules of the package robot_descriptions (`ur5e_description`).
Wherever a name is accepted, the path of a file is accepted too.
"""

from __future__ import annotations

import difflib
import importlib.metadata
import os
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, cast

from torqued.common.errors import InputError, ModelError, ModelWarning
from torqued.kernels.model import robot_descriptions

if TYPE_CHECKING:
    from torqued.kernels import Robot
    from torqued.kernels.model.description import Description

Base = Literal["fixed", "floating"]

#: The papers' families, as `Robot.family` names them, and what each looks like.
FAMILIES: dict[str, str] = {
    "chain": "serial chain of N joints",
    "tree": "binary tree of N joints",
    "biped": "two legs, N joints",
    "quadruped": "four legs, N joints",
}

_FAMILY_NAME = re.compile(rf"({'|'.join(FAMILIES)})([0-9]+)")

#: Most names that an error suggests.
MAX_SUGGESTIONS = 4


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


@dataclass(frozen=True)
class Entry:
    """A robot of example-robot-data as `torqued models` lists it."""

    name: str
    short: str  # another name for it, or nothing
    base: Base  # the default base
    joints: int  # degrees of freedom beside the base's six
    path: Path
    locked: str  # joints and where they are held, or nothing


def usable() -> Iterator[Entry]:
    """The robots of example-robot-data whose files can be loaded, each loaded to be sure."""
    from torqued.kernels.model.known_robots import SHORT_NAMES, base_of
    from torqued.kernels.model.lock import sentence

    shorts = {name: short for short, name in SHORT_NAMES.items()}
    for name, path in urdf_files().items():
        base = cast(Base, base_of(name))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            try:
                robot = _robot_class().from_urdf(path, base=base, locked=usual_locked(name))
            except ModelError:
                continue
        if name not in SHORT_NAMES:  # that name means another file
            joints = robot.nv - (6 if base == "floating" else 0)
            held = sentence(robot.model.locked)
            yield Entry(name, shorts.get(name, ""), base, joints, path, held)


def usual_locked(name: str) -> tuple[str, ...]:
    """Joints that a robot has locked by default: those of the gripper of a named arm."""
    from torqued.kernels.model.known_robots import GRIPPERS

    return GRIPPERS.get(_meant(name), ())


def usual_armature(name: str, given: Any = None) -> Any:
    """Rotor inertias by joint, kg m²: published ones of a named robot, but for those that are
    given; an empty map leaves all out."""
    from torqued.kernels.model.known_robots import ROTORS

    if given is not None and not (given and isinstance(given, Mapping)):
        return given
    return {**ROTORS.get(_meant(name), {}), **(given or {})}


def load(name: str, base: Base | None = None) -> Robot:
    """The robot of that name or URDF file.

    `base` decides how a URDF's root link is held, by default as `usual_base` says; a family brings
    its own base.
    """
    return _robot_class().named(name, base)


def family_name(name: str) -> tuple[str, int] | None:
    """`chain20` → ("chain", 20); None for other names."""
    family = _FAMILY_NAME.fullmatch(name)
    return (family[1], int(family[2])) if family else None


def _robot_class() -> type[Robot]:
    """Loads every kernel, which a misspelt name need not wait for."""
    from torqued.kernels import Robot

    return Robot


def find_file(name: str) -> Path:
    """The file that a name or a path means, whatever it holds; `sources.py` finds that out."""
    module = check_name(name)
    if module:
        return robot_descriptions.located(module)[0]
    return urdf_files().get(_meant(name), Path(name))


def check_name(name: str) -> str | None:
    """The module of robot_descriptions that a name means, if it does; an `InputError` where a name
    means nothing."""
    path, known = Path(name), urdf_files()
    if family_name(name) or _meant(name) in known or is_file(path):
        return None
    if module := robot_descriptions.module_of(name):
        return module
    if path.suffix or os.sep in name or os.path.isdir(name):
        what = "is a directory" if os.path.isdir(path) else "no such file"
        raise InputError(f"robot {name!r}: {what}")
    raise InputError(f"robot {name!r} is not known; {_advice(name, known)}")


def is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # a name that is too long, or a loop of links
        return False


def _meant(name: str) -> str:
    from torqued.kernels.model.known_robots import SHORT_NAMES

    return SHORT_NAMES.get(name, name)


def usual_arguments(name: str) -> dict[str, str]:
    """Those of the xacro file that a name means."""
    module = check_name(name)
    return robot_descriptions.located(module)[1] if module else {}


def describe(name: str) -> Description:
    """The description of a name, with its gripper locked and its rotors, a family with its size,
    or a file."""
    from torqued.kernels.formats.sources import read_file
    from torqued.kernels.model.families import family
    from torqued.kernels.model.lock import lock
    from torqued.kernels.model.rotors import with_armature

    kind_and_size = family_name(name)
    if kind_and_size:
        return family(*kind_and_size)
    description = with_armature(
        read_file(find_file(name), usual_arguments(name)), usual_armature(name)
    )
    return lock(description, usual_locked(name))


def usual_base(name: str, path: Path, description: Description) -> Base | None:
    """Default base of a robot: known by its name or stated by its file; None where it is clear that
    something holds it.

    Refused where it is none of these: a robot of several limbs may stand on them, or be bolted
    down.
    """
    from torqued.kernels.model.known_robots import base_of

    for known, file in urdf_files().items():
        if path == file:
            return cast(Base, base_of(known))
    module = None if path == Path(name) else robot_descriptions.module_of(name)
    said = description.base or (module and robot_descriptions.base_of(module))
    if said:
        return cast(Base, said)
    root, limbs = root_limbs(description)
    if root in WORLDS or len(limbs) < 2:
        return None
    raise InputError(
        f"robot {str(path)!r}: {len(limbs)} limbs start at its root link {root!r} (joints "
        f"{', '.join(limbs[:4])}{', …' if len(limbs) > 4 else ''}), so its base is not clear; "
        'state base = "fixed" or "floating" (--base of commands)',
        "base",
    )


#: What root links are called that are not the robot's own.
WORLDS = frozenset({"world", "World", "map", "odom"})


def root_limbs(description: Description) -> tuple[str, list[str]]:
    """The root link, and the joints that move against it; empty without a single root."""
    children = {joint.child for joint in description.joints}
    roots = [link.name for link in description.links if link.name not in children]
    if len(roots) != 1:
        return "", []
    rigid, limbs = [roots[0]], []
    for link in rigid:  # grows by what is fixed to it
        for joint in description.joints:
            if joint.parent != link:
                continue
            if joint.type != "fixed":
                limbs.append(joint.name)
            elif joint.child not in rigid:
                rigid.append(joint.child)
    return roots[0], limbs


def _advice(name: str, known: dict[str, Path]) -> str:
    from torqued.kernels.model.known_robots import SHORT_NAMES

    others, lower = robot_descriptions.known(), name.lower()
    first = {*known, *(SHORT_NAMES if known else ()), *(f"{kind}20" for kind in FAMILIES)}
    for names in (sorted(first), sorted(others)):
        longer = [other for other in names if lower in other.lower()]
        alike = difflib.get_close_matches(lower, names, MAX_SUGGESTIONS)
        if close := list(dict.fromkeys([*longer, *alike]))[:MAX_SUGGESTIONS]:
            return f"did you mean {' or '.join(close)}?"
    packages = {"example-robot-data": known, "torqued[descriptions]": others}
    more = " ".join(f"'{package}'" for package, found in packages.items() if not found)
    more = f"more names come with `pip install {more}`" if more else "`torqued models` lists names"
    return f"{more}; a file or a family such as chain20 also works"
