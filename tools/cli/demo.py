"""`torqued demo`: a daemon, a simulated robot and a controller together, and experiments."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path
from typing import Any

from torqued.tools.demos import DEFAULT, EXPERIMENTS

HELP = "run a daemon with a simulated robot, or an experiment"
EXAMPLE = """\
  torqued demo
  torqued demo --seconds 30 --plot figures
  torqued demo --dash
  torqued demo tracking --json tracking.json
  torqued demo generalize --quick --json generalize.json

experiments:
""" + "\n".join(f"  {name:<11} {what}" for name, what in EXPERIMENTS.items())


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_results(parser)
    parser.add_argument(
        "--dash",
        nargs="?",
        const="127.0.0.1:8080",
        metavar="HOST:PORT",
        help="show a web page as well (default address: 127.0.0.1:8080); runs 60 s unless "
        "--seconds is given",
    )
    experiments = parser.add_subparsers(dest="experiment", metavar="EXPERIMENT")
    for name, what in EXPERIMENTS.items():
        own = experiments.add_parser(name, description=what[0].upper() + what[1:] + ".")
        # Options before the experiment's name count too, so these have no defaults.
        add_results(own, default=argparse.SUPPRESS)
        if name == "generalize":
            add_choice(own)


def add_results(parser: argparse.ArgumentParser, **default: Any) -> None:
    parser.add_argument(
        "--seconds",
        type=float,
        metavar="S",
        help="simulated time of each run (default: the experiment's own)",
        **default,
    )
    parser.add_argument(
        "--plot",
        type=Path,
        metavar="DIR",
        help="output directory for pictures (default: demo_results)",
        **{"default": Path("demo_results")} | default,
    )
    parser.add_argument(
        "--json", type=Path, metavar="FILE", help="output file for results as JSON", **default
    )


def add_choice(parser: argparse.ArgumentParser) -> None:
    parser.formatter_class = argparse.RawDescriptionHelpFormatter
    parser.epilog = """examples:
  torqued demo generalize
  torqued demo generalize --quick
  torqued demo generalize --robots kinova,xarm7 --laws pd_plus,impedance
  torqued demo generalize --json generalize.json --plot figures"""
    parser.add_argument("--quick", action="store_true", help="five robots, few poses, short runs")
    parser.add_argument("--robots", metavar="A,B", help="comma-separated robots (default: all)")
    parser.add_argument("--laws", metavar="A,B", help="comma-separated laws (default: all)")
    parser.add_argument(
        "--menagerie",
        type=Path,
        metavar="DIR",
        help="folder of MuJoCo Menagerie: adds robots that are simulated from its files",
    )


def run(args: argparse.Namespace) -> int:
    experiment = importlib.import_module(f"torqued.tools.demos.{args.experiment or DEFAULT}")
    code: int = experiment.run(args)
    return code
