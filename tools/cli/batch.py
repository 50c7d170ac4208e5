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

HELP = "compute an operation for all states of a file, on all cores or on a cluster"
EXAMPLE = """\
  torqued batch states.npz --robot panda --operation dynamics --want M,C,g --out terms.npz
  torqued batch states.parquet --config arm.toml --operation inverse_dynamics --out tau.parquet
  torqued batch states.npz --robot ur5 --operation derivatives --of inverse_dynamics --out d.npz
  torqued batch states.npz --robot talos --operation forward_dynamics --out a.npy \\
      --engine dask --scheduler tcp://head:8786"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", type=Path, metavar="FILE", help="states: .npy, .npz or .parquet")
    robot = parser.add_mutually_exclusive_group()
    robot.add_argument("--robot", metavar="NAME", help="a name that `torqued models` lists")
    robot.add_argument("--urdf", metavar="FILE", help="a robot's URDF file")
    parser.add_argument("--config", metavar="FILE", type=Path, help="a TOML file, as in configs/")
    parser.add_argument("--base", choices=("fixed", "floating"), help="as of `torqued serve`")
    parser.add_argument("--operation", required=True, help="any operation that `batch` takes")
    parser.add_argument(
        "--out", type=Path, required=True, metavar="FILE", help=".npy, .npz or .parquet"
    )
    parser.add_argument("--want", metavar="NAMES", help="of dynamics, with commas between")
    parser.add_argument("--of", metavar="NAME", help="of derivatives: what is differentiated")
    parser.add_argument("--frames", metavar="NAMES", help="of quantities that frames have")
    parser.add_argument("--representation", help="of Jacobians (default: hybrid)")
    parser.add_argument("--coordinates", help="of states and results (default: native)")
    parser.add_argument(
        "--engine",
        choices=("threads", "dask"),
        default="threads",
        help="threads of this process, or workers of a Dask cluster (default: threads)",
    )
    parser.add_argument(
        "--scheduler", metavar="ADDRESS", help="of Dask (default: a cluster on this machine)"
    )
    parser.add_argument("--threads", type=int, metavar="N", help="default: one for each core")
    parser.add_argument(
        "--chunk",
        type=int,
        metavar="STATES",
        help="computed and kept together (default: some ten megabytes of results)",
    )


def run(args: argparse.Namespace) -> int:
    from torqued.common.errors import InputError
    from torqued.tools.tables.dask_engine import cluster, on_cluster
    from torqued.tools.tables.engines import in_threads
    from torqued.tools.tables.preparation import planned
    from torqued.tools.tables.writing import check_place, write

    if args.engine == "dask":
        import distributed  # noqa: F401  (missed here, before anything is computed)
    if args.scheduler and args.engine != "dask":
        raise InputError("--scheduler: only with --engine dask")
    check_place(args.out)
    robot = robot_of(args)
    plan, model, folder, kept = planned(args, robot)
    console = make_console()
    told = f"{plan.count} states in {plan.chunks} chunks"
    if kept:
        told += f", {kept} of them kept from before"
    console.print(told)
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
        raise InputError("--config names the robot already: --robot, --urdf and --base go without")
    if not source and not args.config:
        raise InputError("which robot? give one of --robot, --urdf and --config")
    options = {"robot": source | ({"base": args.base} if args.base else {})} if source else {}
    return load_config(args.config, options).robot.load()


def make_console() -> Console:
    from rich.console import Console

    return Console(highlight=False, soft_wrap=True)


@contextmanager
def progress(
    console: Console, doing: str, total: int, done: int
) -> Iterator[Callable[[int], None]]:
    """Gives `report(chunks)`; a terminal shows a bar."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    columns: list[Any] = [TextColumn(doing), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn()]
    with Progress(
        *columns, console=console, transient=True, disable=not console.is_terminal
    ) as bar:
        task = bar.add_task("", total=total, completed=done)
        yield lambda count: bar.update(task, completed=count)
