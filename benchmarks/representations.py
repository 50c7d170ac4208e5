"""`torqued bench representations`: times of inverse dynamics in each representation of [M18],
beside the production path in the common frame.
"""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

import numpy as np

from torqued.benchmarks.command import make_console, progress, require_places, write_json
from torqued.benchmarks.sheet import Sheet
from torqued.benchmarks.timing import Call, Plan, measure

ROBOTS = ("chain20", "panda", "talos")

#: What [M18] section 4 counts for n bodies: screws carried along, inertias turned, brackets.
PAPER = {
    "body": "3 (n − 1) carried, 2n − 1 brackets",
    "spatial": "n carried, n inertias moved, 2n − 1 brackets",
    "hybrid": "3 (n − 1) shifted, n turned, n inertias turned, 3n − 1 brackets",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--quick", action="store_true", help="rough figures in a few seconds")
    parser.set_defaults(plot=None)


def run(args: argparse.Namespace) -> int:
    console = make_console()
    require_places(args)
    plan = Plan(seconds=0.0, passes=3) if args.quick else Plan(seconds=0.3, passes=10)
    times: dict[str, dict[str, float]] = {}
    with progress(console, len(ROBOTS)) as report:
        for robot in ROBOTS:
            report("representations", robot)
            times[robot] = {name: t.us for name, t in measure(contenders(robot), plan).items()}
    rows = [
        (
            name,
            *(f"{times[robot][name]:.2f}" for robot in ROBOTS),
            PAPER.get(name, ""),
        )
        for name in times[ROBOTS[0]]
    ]
    header = ("representation", *(f"{robot}, µs" for robot in ROBOTS), "[M18] counts")
    Sheet("Inverse dynamics: times", header, rows, texts=1).print(console)
    if args.json:
        write_json(args.json, {"us": times})
        console.print(f"wrote {args.json}", markup=False, soft_wrap=True)
    return 0


def contenders(name: str) -> dict[str, list[Call]]:
    """Calls of the in-place kernels, at the same states."""
    from torqued.benchmarks import robots
    from torqued.kernels.compilation.entries import COMPILED
    from torqued.kernels.dynamics.frames import REPRESENTATIONS

    case = robots.load(name, 4)
    handle, N, n = case.robot.work.handle, len(case.robot.model.bodies), case.robot.nv
    applied, memory, tau = np.zeros((N, 6)), np.empty((3, N, 6)), np.empty(n)

    def call(kind: int, s: Any) -> Call:
        return COMPILED.newton_euler, (handle, s.q, s.v, s.a, kind, applied, *memory, tau)

    calls = {rep: [call(kind, s) for s in case.states] for rep, kind in REPRESENTATIONS.items()}
    calls["common"] = [
        (COMPILED.inverse_dynamics, (handle, s.q, s.v, s.a, tau)) for s in case.states
    ]
    return calls
