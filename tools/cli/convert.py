"""`torqued convert`: a robot's file as URDF or by screws."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "write a robot's file as URDF, or by screws without joint frames"
EXAMPLE = """\
  torqued convert panda --to screws --out panda.toml
  torqued convert panda.toml --to urdf"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "robot", help="a name that `torqued models` lists, or a file: .urdf, or .toml by screws"
    )
    parser.add_argument("--to", choices=("screws", "urdf"), default="screws", help="the form")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: print it")


def run(args: argparse.Namespace) -> int:
    from torqued.common.errors import InputError
    from torqued.kernels.model.catalog import describe
    from torqued.kernels.model.screws_writer import to_screws
    from torqued.kernels.model.urdf_writer import to_urdf

    description = describe(args.robot)
    text = (to_screws if args.to == "screws" else to_urdf)(description)
    if args.out is None:
        print(text, end="")
        return 0
    try:
        args.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out {args.out}: cannot be written ({error.strerror})") from None
    print(f"wrote {args.out}")
    return 0
