"""`torqued models`: the robots that can be named, and what is in a robot's file."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torqued.tools.cli.options import (
    add_base,
    locked_joints,
    output_file,
    table,
    xacro_arguments,
)

if TYPE_CHECKING:
    from torqued.kernels import Robot

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
    check.add_argument("--strict", action="store_true", help="refuse files with warnings")
    check.add_argument("--json", action="store_true", help="print the findings as JSON")
    check.add_argument(
        "--picture",
        type=picture_file,
        metavar="FILE.png",
        help="output file for a picture of the robot at its postures",
    )
    convert = add_action(actions, "convert", "write a robot file in another format")
    convert.add_argument("--to", choices=KINDS, required=True, help="output format")
    convert.add_argument(
        "--out", type=Path, metavar="FILE", help="output file (default: standard output)"
    )


def picture_file(text: str) -> Path:
    if not text.endswith(".png"):
        raise argparse.ArgumentTypeError(f"{text}: expected the name of a PNG file")
    return output_file(text)


def add_action(
    actions: argparse._SubParsersAction[argparse.ArgumentParser], name: str, about: str
) -> argparse.ArgumentParser:
    parser = actions.add_parser(name, help=about, description=f"{about.capitalize()}.")
    parser.add_argument("robot", metavar="FILE|NAME", help="robot file, or name to look up")
    add_base(parser)
    return parser


def load(args: argparse.Namespace, **options: Any) -> Robot:
    """The robot that the options of `add_action` mean."""
    import warnings

    from torqued.common.errors import ModelWarning
    from torqued.kernels import Robot

    locked, arguments = locked_joints(args.locked), xacro_arguments(args.arg)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)  # the robot has them
        return Robot.load(args.robot, args.base, locked=locked, arguments=arguments, **options)


def run(args: argparse.Namespace) -> int:
    if args.action == "check":
        from torqued.tools.cli.models_check import check

        return check(args, load)
    if args.action == "convert":
        return convert(args)
    return show()


def convert(args: argparse.Namespace) -> int:
    import sys

    from torqued.common.errors import InputError
    from torqued.kernels.formats.writers import write
    from torqued.kernels.model.diagnostics import grouped
    from torqued.kernels.model.lock import sentence

    model = load(args, accept_unphysical=True).model
    text, notes = write(model.description, args.to)
    if not model.as_described or model.capsules:
        notes.insert(
            0, "tool, payload, links, friction and capsules of a configuration are left out"
        )
    if model.locked:
        notes.insert(0, f"fixed: {sentence(model.locked)}")
    for note in grouped(notes):
        print(f"torqued: note: {note}", file=sys.stderr)
    if args.out is None:
        print(text, end="")
        return 0
    try:
        args.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write --out {args.out}: {error.strerror}") from None
    print(f"wrote {args.out}")
    return 0


def show() -> int:
    """The robots that can be named."""
    from torqued.kernels.model import catalog, robot_descriptions

    rows = [["name", "alias", "kind", "installed", "base", "joints", "description"]]
    for family, what in catalog.FAMILIES.items():
        base = catalog.load(f"{family}4").model.base
        rows.append([f"{family}N", "", "family", "yes", base, "N", f"{what}: {family}20"])
    robots = list(catalog.usable())
    for robot in robots:
        file = f"{robot.path.parent.parent.name}/{robot.path.parent.name}/{robot.path.name}"
        file += f"; locked: {robot.locked}" if robot.locked else ""
        joints = str(robot.joints)
        rows.append([robot.name, robot.short, "urdf", "yes", robot.base, joints, file])
    for module, about in sorted(robot_descriptions.known().items()):
        kind, base = "mjcf" if about.has_mjcf else "urdf", robot_descriptions.base_of(module) or ""
        there = "yes" if robot_descriptions.is_there(module) else "no"
        dofs = "" if about.dof is None else str(about.dof)
        what = f"{about.robot}, {about.maker}" if about.maker else about.robot
        rows.append([module, "", kind, there, base, dofs, what])
    print("\n".join(table(rows, words=7)))
    others = len(catalog.urdf_files()) - len(robots)
    print(f"\n{others} more files of example-robot-data cannot be loaded and are not listed.")
    for package, found in (
        ("example-robot-data", robots),
        ("torqued[descriptions]", robot_descriptions.known()),
    ):
        if not found:
            print(f"More robots: pip install '{package}'")
    return 0
