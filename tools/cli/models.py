"""`torqued models`: the robots that can be named, and what is in a robot's file."""

from __future__ import annotations

import argparse
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from torqued.common.errors import InputError
from torqued.tools.cli.options import add_base, locked_joints, output_file, table

if TYPE_CHECKING:
    from torqued.kernels.model.description import Description

HELP = "list the robots that can be named; check and convert robot files"
EXAMPLE = """\
  torqued models
  torqued models check panda --picture panda.png
  torqued models check robot.urdf --base floating --strict
  torqued models convert robot.xacro --arg prefix=left_ --to mjcf --out robot.xml"""

KINDS = ("urdf", "mjcf", "toml", "screws")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    actions = parser.add_subparsers(dest="action", metavar="ACTION")
    check = add_action(actions, "check", "show what is in a robot file, and what is wrong with it")
    check.add_argument("--strict", action="store_true", help="refuse robots with warnings")
    check.add_argument("--json", action="store_true", help="print the findings as JSON")
    check.add_argument(
        "--picture",
        type=output_file,
        metavar="FILE.png",
        help="output file for a picture of the robot at its postures",
    )
    convert = add_action(actions, "convert", "write a robot file in another format")
    convert.add_argument("--to", choices=KINDS, required=True, help="output format")
    convert.add_argument(
        "--out", type=Path, metavar="FILE", help="output file (default: standard output)"
    )


def add_action(
    actions: argparse._SubParsersAction[argparse.ArgumentParser], name: str, about: str
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=about, description=f"{about.capitalize()}.")
    parser.add_argument("robot", metavar="FILE|NAME", help="robot file, or name to look up")
    add_base(parser)
    parser.add_argument(
        "--arg",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="argument of a xacro file; repeatable",
    )
    return parser


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
    from torqued.kernels.formats.robot_file import RobotFile
    from torqued.kernels.formats.sources import kind_of, read_file
    from torqued.kernels.formats.xml_file import read_text
    from torqued.kernels.model import catalog
    from torqued.kernels.model.families import family
    from torqued.kernels.model.lock import lock_with_faults
    from torqued.kernels.model.rotors import with_armature

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
    from torqued.kernels.model.catalog import WORLDS, root_limbs, urdf_files, usual_base

    if path in urdf_files().values():
        return usual_base(path)
    root, limbs = root_limbs(description)
    why = "is the root link" if root in WORLDS else f"carries {len(limbs)} limbs"
    clear = root in WORLDS or len(limbs) < 2
    advice = "" if clear else "; give --base floating if it stands or flies"
    guessed.append(f"base: the file does not say; fixed, since {root!r} {why}{advice}")
    return "fixed"


def run(args: argparse.Namespace) -> int:
    if args.action == "check":
        from torqued.tools.cli.models_check import check

        return check(args)
    if args.action == "convert":
        from torqued.tools.cli.models_convert import convert

        return convert(args)
    return show()


def show() -> int:
    """The robots that can be named."""
    from torqued.kernels.model import catalog

    rows = [["name", "or", "base", "joints", "description"]]
    for kind, what in catalog.FAMILIES.items():
        base = catalog.load(f"{kind}4").model.base
        rows.append([f"{kind}N", "", base, "N", f"{what}: {kind}20"])
    robots = list(catalog.usable())
    for robot in robots:
        file = f"{robot.path.parent.parent.name}/{robot.path.parent.name}/{robot.path.name}"
        file += f"; locked: {robot.locked}" if robot.locked else ""
        rows.append([robot.name, robot.short, robot.base, str(robot.joints), file])
    print("\n".join(table(rows, words=5)))
    if not robots:
        print("\nFor real robots: pip install example-robot-data")
    else:
        others = len(catalog.urdf_files()) - len(robots)
        print(f"\n{others} more files of example-robot-data cannot be loaded and are not listed.")
    return 0
