"""`torqued bench`: run one of the benchmarks in torqued.benchmarks."""

from __future__ import annotations

import argparse
import importlib

from torqued.benchmarks import BENCHMARKS

HELP = "measure torqued and its peers in the same run"
EXAMPLE = """\
  torqued bench kernels --json figures.json
  torqued bench rtt --plot .
  torqued bench kernels --help

benchmarks:
""" + "\n".join(f"  {name:<15} {what}" for name, what in BENCHMARKS.items())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("benchmark", choices=BENCHMARKS, help="benchmark to run")
    # A benchmark's module, which has its options, is imported only when it is chosen.
    parser.add_argument("options", nargs=argparse.REMAINDER, help="options of that benchmark")


def run(args: argparse.Namespace) -> int:
    benchmark = importlib.import_module(f"torqued.benchmarks.{args.benchmark}")
    code: int = benchmark.run(options_parser(args.benchmark).parse_args(args.options))
    return code


def options_parser(name: str) -> argparse.ArgumentParser:
    """The parser of a benchmark's own options."""
    parser = argparse.ArgumentParser(prog=f"torqued bench {name}", description=BENCHMARKS[name])
    importlib.import_module(f"torqued.benchmarks.{name}").add_arguments(parser)
    return parser
