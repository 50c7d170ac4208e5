"""`torqued models`: the robots that can be named on the command line."""

from __future__ import annotations

import argparse

from torqued.tools.cli.options import table

HELP = "list the robots that can be named"
EXAMPLE = "  torqued models\n  torqued serve --robot icub"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """No options."""


def run(args: argparse.Namespace) -> int:
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
