"""`torqued convert`: a robot's file as URDF or by screws."""

from __future__ import annotations

import argparse
from pathlib import Path

HELP = "convert a robot file to URDF, or to screws without joint frames"
EXAMPLE = """\
  torqued convert panda --to screws --out panda.toml
  torqued convert panda.toml --to urdf"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "robot", help="robot name from `torqued models`, or a file (.urdf, or .toml with screws)"
    )
    parser.add_argument(
        "--to", choices=("screws", "urdf"), default="screws", help="output format (default: screws)"
    )
    parser.add_argument(
        "--out", type=Path, metavar="FILE", help="output file (default: standard output)"
    )


def run(args: argparse.Namespace) -> int:
    from torqued.common.errors import InputError
    from torqued.kernels.formats.screws_writer import to_screws
    from torqued.kernels.formats.urdf_writer import to_urdf
    from torqued.kernels.model.catalog import describe
    from torqued.kernels.model.lock import sentence

    description = describe(args.robot)
    text = (to_screws if args.to == "screws" else to_urdf)(description)
    if args.out is None:
        print(text, end="")
        return 0
    try:
        args.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"cannot write --out {args.out}: {error.strerror}") from None
    held = f"; fixed: {sentence(description.locked)}" if description.locked else ""
    print(f"wrote {args.out}{held}")
    return 0
