"""`torqued models`: the robots that can be named, and what is in a robot's file."""

from __future__ import annotations

import argparse
from pathlib import Path

from torqued.tools.cli.options import add_base, output_file, table

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
