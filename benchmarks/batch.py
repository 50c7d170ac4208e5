"""`torqued bench batch`: many states at once, beside Pinocchio called state by state.

M, Ṁ and C, RNEA, ABA and their derivatives on one core with results written; M, Ṁ and C on two
cores; and a batch through a daemon beside the same batch in this process.
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
#: Times that all is measured, and blocks of each way each time.
ROUNDS, BLOCKS = 5, 5
#: Share of Pinocchio's time, or of the other way's, that a row may take.
CEILINGS = {
    "coriolis": 0.22,
    "rnea": 0.15,
    "aba": 0.18,
    "two_cores": 0.65,
    "daemon": 1.5,
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common_arguments(parser)
    parser.add_argument(
        "--states", type=int, default=2000, metavar="N", help="states per batch (default: 2000)"
    )


def run(args: argparse.Namespace) -> int:
    from torqued.benchmarks.batch_contenders import (
        bare_arithmetic,
        in_turns_on_cores,
        mujoco_rollout,
        of_robot,
        through_daemon,
    )
    from torqued.benchmarks.batch_peers import rows as peers

    console = make_console()
    require_places(args)
    machine = this_machine(WIRE_PACKAGES)
    states, rounds = max(8, args.states), 1 if args.quick else ROUNDS
    figures: dict[str, Any] = {name: {} for name in ROBOTS}
    in_process: dict[tuple[str, ...], Comparison] = {
        (name, kernel): Comparison(ways, BLOCKS)
        for name in ROBOTS
        for kernel, ways in of_robot(name, states).items()
    }
    # Two processors of a shared machine are each other's neighbours at times: where both are needed
    # at once, it takes more blocks to meet both alone.
    in_process[("two_cores",)] = Comparison(in_turns_on_cores(states), 4 * BLOCKS)
    in_process[("two_cores_bare",)] = Comparison(bare_arithmetic(), 4 * BLOCKS)
    with progress(console, rounds * (len(in_process) + 1)) as report:
        for _ in range(rounds):  # what disturbs the machine for seconds spoils no figure
            for names, comparison in in_process.items():
                comparison.go_on(partial(report, ", ".join(names)))
        for names, comparison in in_process.items():
            place = figures[names[0]] if len(names) > 1 else figures
            place[names[-1]] = comparison.figures()
        with tempfile.TemporaryDirectory() as folder, through_daemon(Path(folder), states) as ways:
            comparison = Comparison(ways, 4 * BLOCKS)
            for _ in range(rounds):
                comparison.go_on(partial(report, "daemon"))
            figures["daemon"] = comparison.figures()
        word, ways = mujoco_rollout(states)
        if ways:
            figures["chain20"]["aba_mujoco_rollout"] = compared(ways, rounds)
        words = [
            "two_cores_bare: sines in two threads beside one, what this machine's processors give",
            word,
        ]
        for name, word, ways in peers(states):
            words.append(word)
            if ways:
                figures["chain20"][f"rnea_{name}"] = compared(ways, rounds)
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


class Comparison:
    """The first of two ways to do the same, beside the second: some blocks of each at a time."""

    def __init__(self, ways: Mapping[str, Callable[[], int]], blocks: int) -> None:
        self._ways, self._blocks = ways, blocks
        self._times: dict[str, list[float]] = {name: [] for name in ways}  # µs per state

    def go_on(self, report: Callable[[str], None] = lambda detail: None) -> None:
        """Measure some blocks in turns; who is first changes."""
        order = list(self._ways.items())
        for _, block in order:
            block()  # threads, and a daemon's worker, start with their first work
        for _ in range(self._blocks):
            for name, block in order:
                start = time.perf_counter_ns()
                states = block()
                self._times[name].append((time.perf_counter_ns() - start) / states / 1e3)
            order.reverse()
        report(f"{len(self._times[order[0][0]])} blocks")

    def figures(self) -> dict[str, float]:
        """µs per state: the 10th percentile of all blocks, and their median."""
        times = self._times.values()
        ours, beside = (float(np.percentile(values, 10)) for values in times)
        median, other = (float(np.median(values)) for values in times)
        return {
            "us": ours,
            "beside_us": beside,
            "ratio": ours / beside,
            "median_us": median,
            "median_ratio": median / other,
        }


def compared(ways: Mapping[str, Callable[[], int]], rounds: int) -> dict[str, float]:
    """One comparison at a stretch."""
    comparison = Comparison(ways, BLOCKS)
    for _ in range(rounds):
        comparison.go_on()
    return comparison.figures()


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
