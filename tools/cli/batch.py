"""`torqued batch`: an operation for all states of a file, on all cores or on a cluster."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.console import Console

    from torqued.kernels import Robot

HELP = "run an operation for all states of a file, on all cores or a cluster"
EXAMPLE = """\
  torqued batch states.npz --robot panda --operation dynamics --want M,C,g --out terms.npz
  torqued batch states.parquet --config arm.toml --operation inverse_dynamics --out tau.parquet
  torqued batch states.npz --robot ur5 --operation derivatives --of inverse_dynamics --out d.npz
  torqued batch states.npz --robot talos --operation forward_dynamics --out a.npy \\
      --engine dask --scheduler tcp://head:8786"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "file", type=Path, metavar="FILE", help="file of states: .npy, .npz or .parquet"
    )
    robot = parser.add_mutually_exclusive_group()
    robot.add_argument("--robot", metavar="NAME", help="robot name, as listed by `torqued models`")
    robot.add_argument("--urdf", metavar="FILE", help="URDF file of the robot")
    parser.add_argument("--config", metavar="FILE", type=Path, help="TOML file as in configs/")
    parser.add_argument(
        "--base", choices=("fixed", "floating"), help="base of a URDF robot, as for `torqued serve`"
    )
    parser.add_argument(
        "--operation", required=True, help="operation to run (any that `batch` accepts)"
    )
    parser.add_argument(
        "--out",
        type=Path,
        required=True,
        metavar="FILE",
        help="output file: .npy, .npz or .parquet",
    )
    parser.add_argument("--want", metavar="NAMES", help="comma-separated quantities of `dynamics`")
    parser.add_argument("--of", metavar="NAME", help="function to differentiate, for `derivatives`")
    parser.add_argument(
        "--frames", metavar="NAMES", help="comma-separated frames, for quantities of frames"
    )
    parser.add_argument("--representation", help="representation of Jacobians (default: hybrid)")
    parser.add_argument("--coordinates", help="coordinates of states and results (default: native)")
    parser.add_argument(
        "--engine",
        choices=("threads", "dask"),
        default="threads",
        help="threads of this process, or a Dask cluster (default: threads)",
    )
    parser.add_argument(
        "--scheduler",
        metavar="ADDRESS",
        help="address of a Dask scheduler (default: a cluster on this machine)",
    )
    parser.add_argument(
        "--threads", type=int, metavar="N", help="number of threads (default: one per core)"
    )
    parser.add_argument(
        "--chunk",
        type=int,
        metavar="STATES",
        help="number of states per chunk (default: about 32 MB of results)",
    )


def run(args: argparse.Namespace) -> int:
    from torqued.common.errors import InputError
    from torqued.tools.tables.dask_engine import cluster, on_cluster
    from torqued.tools.tables.engines import in_threads
    from torqued.tools.tables.preparation import planned
    from torqued.tools.tables.writing import check_place, write

    if args.engine == "dask":
        import distributed  # noqa: F401  (fails here, before anything is computed)
    if args.scheduler and args.engine != "dask":
        raise InputError("--scheduler requires --engine dask")
    check_place(args.out)
    robot = robot_of(args)
    plan, model, folder, kept = planned(args, robot)
    console = make_console()
    text = f"{plan.count} states in {plan.chunks} chunks"
    if kept:
        text += f", {kept} of them done already"
    console.print(text)
    with progress(console, "computing", plan.chunks, kept) as report:
        if args.engine == "threads":
            in_threads(plan, robot, folder, args.threads, report)
        else:
            with cluster(args.scheduler) as client:
                on_cluster(client, plan, model, folder, report)
    with progress(console, "writing", plan.chunks, 0) as report:
        write(args.out, folder, plan, report)
    folder.remove()
    console.print(f"wrote {args.out}", markup=False, soft_wrap=True)
    return 0


def robot_of(args: argparse.Namespace) -> Robot:
    from torqued.common.errors import InputError
    from torqued.server.config import load_config

    source = {"model": args.robot} if args.robot else {"urdf": args.urdf} if args.urdf else {}
    if args.config and (source or args.base):
        raise InputError("--config names the robot already: remove --robot, --urdf and --base")
    if not source and not args.config:
        raise InputError("no robot given: use one of --robot, --urdf and --config")
    options = {"robot": source | ({"base": args.base} if args.base else {})} if source else {}
    return load_config(args.config, options).robot.load()


def make_console() -> Console:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


@contextmanager
def progress(
    console: Console, doing: str, total: int, done: int
) -> Iterator[Callable[[int], None]]:
    """Yields `report(chunks)`; a terminal shows a bar."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns: list[Any] = [TextColumn(doing), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=total, completed=done)
        yield lambda count: bar.update(task, completed=count)
