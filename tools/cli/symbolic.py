"""`torqued symbolic`: the equations of motion of a small robot as expressions."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

HELP = "write a small robot's equations of motion as Python, C or LaTeX"
EXAMPLE = """\
  torqued symbolic --robot chain2 --of M,C,g --to python
  torqued symbolic --robot arm.toml --to c --out arm.c
  torqued symbolic --table 3,5"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument(
        "--robot", metavar="FILE|NAME", help="a file, or a name that `torqued models` lists"
    )
    what.add_argument(
        "--table",
        metavar="SIZES",
        help="times of both ways to Γ for planar trees of these many bodies, with commas between",
    )
    parser.add_argument(
        "--of", default="M,C,g", metavar="NAMES", help="any of M, C, Gamma, g, tau (default M,C,g)"
    )
    parser.add_argument("--to", choices=("python", "c", "latex"), default="python")
    parser.add_argument("--out", type=Path, metavar="FILE", help="default: print it")
    parser.add_argument(
        "--check", action="store_true", help="compute Γ by partials of M too, and print both times"
    )


def run(args: argparse.Namespace) -> int:
    from torqued.common.errors import InputError
    from torqued.kernels.input_checks import choice
    from torqued.kernels.model.catalog import describe
    from torqued.kernels.robot.loading import model_of
    from torqued.kernels.screws import symbolic, symbolic_code, symbolic_table

    if args.table:
        return compare([symbolic_table.planar_tree(size) for size in sizes_of(args.table)])
    names = [word.strip() for word in args.of.split(",") if word.strip()]
    for name in names:
        choice("--of", name, symbolic.QUANTITIES)
    model = model_of(describe(args.robot), "fixed", mimic="free")
    if args.check:
        return compare([model])
    equations = symbolic.Equations(model)

    def expressions(values: Any) -> Any:
        if isinstance(values, list):
            return [expressions(value) for value in values]
        return equations.expression(values)

    found = {name: expressions(equations.quantity(name)) for name in names}
    text = symbolic_code.WRITERS[args.to](model.name, found, equations.n)
    if args.out is None:
        print(text, end="")
        return 0
    try:
        args.out.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InputError(f"--out {args.out}: cannot be written ({error.strerror})") from None
    print(f"wrote {args.out}")
    return 0


def compare(models: list[Any]) -> int:
    """Both ways to Γ, as a table; 1 where they differ."""
    from torqued.kernels.screws import symbolic_table
    from torqued.tools.cli.tables import table

    found = [symbolic_table.compare(model) for model in models]
    print("\n".join(table(symbolic_table.lines(found), words=1)))
    return 0 if all(comparison.equal for comparison in found) else 1


def sizes_of(text: str) -> list[int]:
    from torqued.common.errors import InputError
    from torqued.kernels.input_checks import whole_number
    from torqued.kernels.screws.symbolic import MAX_COORDINATES

    words = [word.strip() for word in text.split(",")]
    if not all(word.isdigit() for word in words):
        raise InputError(f"--table: {text!r}, expected whole numbers with commas between them")
    return [whole_number("--table", int(word), 1, MAX_COORDINATES) for word in words]
