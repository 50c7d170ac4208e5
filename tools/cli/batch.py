"""`torqued batch`: an operation for all states of a file, on all cores or on a cluster."""

from __future__ import annotations

import argparse
from pathlib import Path

from torqued.tools.cli.options import add_robot, robot_settings

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
    add_robot(parser)
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
    from torqued.server.config import load_config
    from torqued.tools.cli.console import Bar, make_console
    from torqued.tools.tables.engines import cluster, in_threads, on_cluster
    from torqued.tools.tables.preparation import planned
    from torqued.tools.tables.writing import check_place, write

    if args.engine == "dask":
        import distributed  # noqa: F401  (fails here, before anything is computed)
    if args.scheduler and args.engine != "dask":
        raise InputError("--scheduler requires --engine dask")
    check_place(args.out)
    robot = load_config(args.config, robot_settings(args)).robot.load()
    plan, model, folder, kept = planned(args, robot)
    console = make_console()
    text = f"{plan.count} states in {plan.chunks} chunks"
    if kept:
        text += f", {kept} of them done already"
    console.print(text)
    with Bar(console, "computing", plan.chunks, kept) as bar:
        if args.engine == "threads":
            in_threads(plan, robot, folder, args.threads, bar.reach)
        else:
            with cluster(args.scheduler) as client:
                on_cluster(client, plan, model, folder, bar.reach)
    with Bar(console, "writing", plan.chunks) as bar:
        write(args.out, folder, plan, bar.reach)
    folder.remove()
    console.print(f"wrote {args.out}", markup=False, soft_wrap=True)
    return 0
