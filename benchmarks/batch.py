"""`torqued bench batch`: many states at once, beside Pinocchio called state by state.

M, Ṁ and C, RNEA and ABA on one core with results written; the same on two cores; a batch of one
state beside the single call; and a batch through a daemon beside the same batch in this process.
All take turns, a block each, and results are compared before anything is timed.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from torqued.benchmarks.command import (
    add_common_arguments,
    make_console,
    progress,
    require_places,
    write_json,
)
from torqued.benchmarks.machine import WIRE_PACKAGES, this_machine
from torqued.benchmarks.sheet import Sheet

ROBOTS = ("chain20", "talos")
#: Share of Pinocchio's time, or of the other way's, that a row may take.
CEILINGS = {
    "coriolis": 0.22,
    "rnea": 0.15,
    "aba": 0.18,
    "two_cores": 0.6,
    "one_state": 1.3,
    "daemon": 1.5,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common_arguments(parser)
    parser.add_argument(
        "--states", type=int, default=2000, metavar="N", help="in a batch (default: 2000)"
    )


def run(args: argparse.Namespace) -> int:
    from torqued.benchmarks.batch_contenders import (
        in_turns_on_cores,
        mujoco_rollout,
        of_one_state,
        of_robot,
        through_daemon,
    )
    from torqued.benchmarks.batch_peers import rows as peers

    console = make_console()
    require_places(args)
    machine = this_machine(WIRE_PACKAGES)
    states, blocks = max(8, args.states), 3 if args.quick else 25
    figures: dict[str, Any] = {}
    with progress(console, (len(ROBOTS) * 3 + 3) * blocks) as report:
        for name in ROBOTS:
            figures[name] = {
                kernel: compared(ways, blocks, partial(report, f"{name}, {kernel}"))
                for kernel, ways in of_robot(name, states).items()
            }
        ways = in_turns_on_cores(states)
        figures["two_cores"] = compared(ways, blocks, partial(report, "two cores"))
        figures["one_state"] = compared(of_one_state(), blocks, partial(report, "one state"))
        with tempfile.TemporaryDirectory() as folder, through_daemon(Path(folder), states) as ways:
            figures["daemon"] = compared(ways, blocks, partial(report, "daemon"))
        word, ways = mujoco_rollout(states)
        if ways:
            figures["chain20"]["aba_mujoco_rollout"] = compared(ways, blocks, lambda detail: None)
        words = [word]
        for name, word, ways in peers(states):
            words.append(word)
            if ways:
                figures["chain20"][f"rnea_{name}"] = compared(ways, blocks, lambda detail: None)
    console.print(f"{machine}\n", markup=False)
    Sheet(
        f"Many states at once, µs per state; {states} states in a batch",
        ("", "", "torqued", "beside", "ratio", "at most"),
        rows_of(figures),
        texts=2,
    ).print(console)
    for word in words:
        console.print(word, markup=False)
    if args.json:
        write_json(args.json, {**figures, "machine": machine.to_json()})
        console.print(f"wrote {args.json}", markup=False, soft_wrap=True)
    if args.plot:
        path = draw(figures, args.plot / "batch.png")
        console.print(f"drew {path}", markup=False, soft_wrap=True)
    return 0


def compared(
    ways: Mapping[str, Callable[[], int]], blocks: int, report: Callable[[str], None]
) -> dict[str, float]:
    """The first way beside the second: µs per state, the 10th percentile of blocks in turns."""
    times: dict[str, list[float]] = {name: [] for name in ways}
    for block in ways.values():
        block()  # threads, and a daemon's worker, start with their first work
    for k in range(blocks):
        report(f"{k + 1} of {blocks}")
        for name, block in ways.items():
            start = time.perf_counter_ns()
            states = block()
            times[name].append((time.perf_counter_ns() - start) / states / 1e3)
    ours, beside = (float(np.percentile(values, 10)) for values in times.values())
    median, other = (float(np.median(values)) for values in times.values())
    return {
        "us": ours,
        "beside_us": beside,
        "ratio": ours / beside,
        "median_us": median,
        "median_ratio": median / other,
    }


def rows_of(figures: Mapping[str, Any]) -> list[tuple[str, ...]]:
    rows: list[tuple[str, ...]] = []
    for name, part in figures.items():
        for kernel, figure in (part if name in ROBOTS else {"": part}).items():
            most = CEILINGS.get(kernel or name)
            mark = "" if most is None else f"{most:.2f} {'✓' if figure['ratio'] <= most else '✗'}"
            numbers = f"{figure['us']:.2f}", f"{figure['beside_us']:.2f}", f"{figure['ratio']:.3f}"
            rows.append((name, kernel, *numbers, mark or "–"))
    return rows


def draw(figures: Mapping[str, Any], path: Path) -> Path:
    from matplotlib.figure import Figure

    from torqued.benchmarks.pictures import BLUE, save

    figure = Figure(figsize=(7, 3.4), layout="constrained")
    axes = figure.subplots()
    rows = rows_of(figures)[::-1]
    names = [f"{row[0]} {row[1]}".strip() for row in rows]
    bars = axes.barh(names, [float(row[4]) for row in rows], color=BLUE)
    axes.bar_label(bars, fmt="%.2f", padding=3)
    axes.axvline(1.0, color="grey", linewidth=0.8)
    axes.set_xlabel("time beside Pinocchio state by state, one core, in process")
    axes.margins(x=0.15)
    return save(figure, path)
