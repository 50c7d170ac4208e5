"""`torqued bench batch`: many states in one request, beside single requests and a loop in Python.

All of them compute M, C and g of the same states of a 20-DoF chain: a batch through a daemon's
worker, single requests to the same daemon, and Pinocchio called state by state in this process.
They take turns, a block each.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.benchmarks.command import (
    add_common_arguments,
    make_console,
    progress,
    require_places,
    write_json,
)
from torqued.benchmarks.machine import WIRE_PACKAGES, this_machine
from torqued.benchmarks.processes import ROBOT, daemon
from torqued.benchmarks.sheet import Sheet

if TYPE_CHECKING:
    from torqued.client import Client
    from torqued.kernels import Robot

WANT = ("M", "C", "g")
#: States of a block of single requests; a batch has as many as it is asked for.
SINGLE = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common_arguments(parser)
    parser.add_argument(
        "--states", type=int, default=2000, metavar="N", help="in a batch (default: 2000)"
    )


def run(args: argparse.Namespace) -> int:
    from torqued.client import Client
    from torqued.kernels import Robot

    console = make_console()
    require_places(args)
    machine = this_machine(WIRE_PACKAGES)
    blocks = 2 if args.quick else 15
    robot = Robot.family("chain", 20)
    with (
        tempfile.TemporaryDirectory() as folder,
        daemon(Path(folder)) as running,
        Client(running.endpoint, timeout=5.0) as client,
    ):
        times = measure(contenders(client, robot, max(1, args.states)), blocks, console)
    figures = to_json(times)
    rows = [(name, f"{part['us']:.1f}", f"{part['best_us']:.1f}") for name, part in figures.items()]
    console.print(f"{machine}\n", markup=False)
    title = f"M, C and g of a 20-DoF chain, µs per state; {args.states} states in a batch"
    Sheet(title, ("", "median", "best block"), rows, texts=1).print(console)
    if args.json:
        write_json(args.json, {ROBOT: figures, "machine": machine.to_json()})
        console.print(f"wrote {args.json}", markup=False, soft_wrap=True)
    if args.plot:
        path = draw(figures, args.plot / "batch.png")
        console.print(f"drew {path}", markup=False, soft_wrap=True)
    return 0


def contenders(client: Client, robot: Robot, states: int) -> dict[str, Callable[[], int]]:
    """By name, a block of work; it returns how many states it has seen to."""
    rng = np.random.default_rng(0)
    pairs = [robot.random_state(rng) for _ in range(states)]
    q, v = (np.array(column) for column in zip(*pairs, strict=True))

    def batch() -> int:
        client.batch("dynamics", q=q, v=v, want=WANT)
        return states

    def single() -> int:
        count = min(SINGLE, states)
        for k in range(count):
            client.dynamics(q[k], v[k], want=WANT)
        return count

    return {"batch": batch, "single requests": single, "pinocchio": in_pinocchio(q, v)}


def in_pinocchio(q: Any, v: Any) -> Callable[[], int]:
    import pinocchio

    from torqued.benchmarks.robots import load_family, pinocchio_q

    case = load_family("chain", 20, 0)
    model, data = case.model, case.data
    there = [pinocchio_q(case.robot, model, one) for one in q], [one[case.order] for one in v]
    pairs = list(zip(*there, strict=True))

    def compute() -> int:
        for one_q, one_v in pairs:
            pinocchio.crba(model, data, one_q)
            pinocchio.computeCoriolisMatrix(model, data, one_q, one_v)
            pinocchio.computeGeneralizedGravity(model, data, one_q)
        return len(pairs)

    return compute


def measure(
    ways: dict[str, Callable[[], int]], blocks: int, console: Any
) -> dict[str, list[float]]:
    """µs per state of each block; all take turns."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for block in ways.values():
        block()  # the worker starts with its first job
    with progress(console, blocks) as report:
        for k in range(blocks):
            report("blocks", f"{k + 1} of {blocks}")
            for name, block in ways.items():
                start = time.perf_counter_ns()
                states = block()
                times[name].append((time.perf_counter_ns() - start) / states / 1e3)
    return times


def to_json(times: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    medians = {name: float(np.median(values)) for name, values in times.items()}
    return {
        name: {
            "us": medians[name],
            "best_us": min(times[name]),
            "ratio": medians[name] / medians["pinocchio"],
        }
        for name in times
    }


def draw(figures: dict[str, dict[str, float]], path: Path) -> Path:
    from matplotlib.figure import Figure

    from torqued.benchmarks.pictures import BLUE, save

    figure = Figure(figsize=(7, 2.4), layout="constrained")
    axes = figure.subplots()
    names = list(figures)[::-1]
    bars = axes.barh(names, [figures[name]["us"] for name in names], color=BLUE)
    axes.bar_label(bars, fmt="%.1f", padding=3)
    axes.set_xscale("log")
    axes.set_xlabel("µs per state (M, C and g of a 20-DoF chain)")
    axes.margins(x=0.15)
    return save(figure, path)
