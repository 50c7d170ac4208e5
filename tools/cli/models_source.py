"""The robot that `torqued models check` and `convert` mean."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path

from torqued.common.errors import InputError
from torqued.kernels.formats.robot_file import RobotFile
from torqued.kernels.formats.sources import kind_of, read_file
from torqued.kernels.formats.xml_file import read_text
from torqued.kernels.model import catalog
from torqued.kernels.model.description import Description
from torqued.kernels.model.families import family
from torqued.kernels.model.lock import lock_with_faults
from torqued.kernels.model.rotors import with_armature
from torqued.tools.cli.options import locked_joints


@dataclass(frozen=True)
class Source:
    """A robot's description and where it is from."""

    description: Description  # with its base
    file: str
    kind: str
    guessed: tuple[str, ...]  # sentences about what the file does not say
    faults: tuple[str, ...]  # of --locked


def source_of(args: argparse.Namespace) -> Source:
    """The robot that the options of `add_action` mean."""
    pairs = [argument.partition("=") for argument in args.arg]
    if wrong := [name for name, equals, _ in pairs if not equals or not name]:
        raise InputError(f"--arg {wrong[0]}: expected NAME=VALUE")
    guessed: list[str] = []
    if kind_and_size := catalog.family_name(args.robot):
        description, file, kind = family(*kind_and_size), "", "family"
        base = "floating" if kind_and_size[0] in ("biped", "quadruped") else "fixed"
    else:
        path = catalog.find_urdf(args.robot)
        description = read_file(path, {name: value for name, _, value in pairs})
        description = with_armature(description, catalog.usual_armature(args.robot))
        file, kind = str(path), kind_of(RobotFile(read_text(path), str(path)))
        base = description.base or _usual_base(path, description, guessed)
    given = locked_joints(args.locked)
    locked = catalog.usual_locked(args.robot) if given is None else given
    description, faults = lock_with_faults(description, locked)
    description = replace(description, base=args.base or base)
    return Source(description, file, kind, () if args.base else tuple(guessed), tuple(faults))


def _usual_base(path: Path, description: Description, guessed: list[str]) -> str:
    """As `catalog.usual_base`, but a robot that may stand or be bolted down is shown as fixed."""
    if path in catalog.urdf_files().values():
        return catalog.usual_base(path)
    root, limbs = catalog.root_limbs(description)
    why = "is the root link" if root in catalog.WORLDS else f"carries {len(limbs)} limbs"
    clear = root in catalog.WORLDS or len(limbs) < 2
    advice = "" if clear else "; give --base floating if it stands or flies"
    guessed.append(f"base: the file does not say; fixed, since {root!r} {why}{advice}")
    return "fixed"
