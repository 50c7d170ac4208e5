"""`torqued bench wbc`: a tick of the whole-body program on Talos, beside DAQP alone and TSID.

wbc_ticks.py (the ticks of a motion) → here: times → tables, JSON
wbc_tsid.py ↗  in this process or in another interpreter that has TSID
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from torqued.benchmarks.command import add_common_arguments, make_console, require_places

if TYPE_CHECKING:
    from rich.console import Console

    from torqued.benchmarks.wbc_ticks import Ticks

Array = NDArray[np.float64]

#: Ceilings: total p50 against DAQP alone, total p99 in µs.
MAX_RATIO, MAX_P99_US = 2.0, 1000.0

#: Ticks before the measured ones: caches, branch predictors and clocks settle.
WARM_UP = 200


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common_arguments(parser)
    parser.add_argument(
        "--ticks", type=int, default=5000, help="ticks of the motion (default: 5000)"
    )
    parser.add_argument(
        "--tsid",
        metavar="PYTHON",
        default=sys.executable,
        help="an interpreter that can import tsid (default: this one)",
    )


def run(args: argparse.Namespace) -> int:
    from torqued.benchmarks.wbc_ticks import talos_ticks

    console = make_console()
    require_places(args)
    ticks = talos_ticks(300 if args.quick else max(1, args.ticks))
    figures, samples = measure(ticks)
    figures["talos"]["tsid"] = measure_tsid(ticks, args.tsid)
    print_table(console, figures)
    if args.quick:
        console.print("a quick run: its figures are only rough")
    if args.json:
        from torqued.benchmarks.machine import this_machine

        document = {**figures, "machine": this_machine().to_json()}
        args.json.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")
        console.print(f"wrote {args.json}", markup=False, soft_wrap=True)
    if args.plot:
        path = draw(samples, args.plot / "wbc.png")
        console.print(f"drew {path}", markup=False, soft_wrap=True)
    total = figures["talos"]["total"]
    missed = total["ratio"] > MAX_RATIO or total["p99_us"] > MAX_P99_US
    console.print(f"budget: {'missed' if missed else 'kept'}", markup=False, style="bold")
    return 1 if missed and not args.quick else 0


def percentiles(us: Array) -> dict[str, float]:
    return {
        "p50_us": round(float(np.percentile(us, 50)), 2),
        "p99_us": round(float(np.percentile(us, 99)), 2),
        "max_us": round(float(us.max()), 2),
    }


def times(call: Callable[[int], object], count: int) -> Array:
    """Time of call(k) for each tick k, in order, in µs."""
    for k in range(min(WARM_UP, count)):
        call(k)
    out = np.empty(count)
    for k in range(count):
        start = time.perf_counter_ns()
        call(k)
        out[k] = time.perf_counter_ns() - start
    return out / 1e3


def measure(ticks: Ticks) -> tuple[dict[str, Any], dict[str, Array]]:
    """Times of the law's parts, and of DAQP on the programs of the same ticks.

    Figures as JSON has them, and all samples in µs by name, for the picture.
    """
    from torqued.benchmarks.timing import _no_garbage_collection
    from torqued.kernels.compilation.entries import COMPILED
    from torqued.kernels.control.wholebody.controller import count as numbers_in

    control, states = ticks.control, ticks.states
    robot, address, gains = control.robot, control.address, control.gains
    handle = robot.work.handle
    out = np.zeros(numbers_in(control.outputs))
    nq, nv = robot.nq, robot.nv
    whole, assemble = COMPILED.whole_body, COMPILED.assemble_whole_body
    solve = COMPILED.solve_whole_body
    with _no_garbage_collection():
        total = times(lambda k: whole(handle, address, states[k], nq, nv, gains, out), len(states))
        assembly, solving = np.empty((2, len(states)))
        for k, state in enumerate(states):
            begin = time.perf_counter_ns()
            forces = assemble(handle, address, state, gains)
            middle = time.perf_counter_ns()
            solve(address, state, gains, forces)
            assembly[k], solving[k] = middle - begin, time.perf_counter_ns() - middle
        cold, warm, transformed = daqp_times(ticks)
    ratio = float(np.percentile(total, 50) / np.percentile(cold, 50))
    samples = {
        "torqued, whole tick": total,
        "torqued, assembly": assembly / 1e3,
        "DAQP alone": cold,
        "DAQP alone, updated": warm,
    }
    figures = {
        "assembly": percentiles(assembly / 1e3),
        "solve": percentiles(solving / 1e3),
        "total": {
            **percentiles(total),
            "daqp_us": percentiles(cold)["p50_us"],
            "ratio": round(ratio, 3),
        },
        "daqp": {
            "cold": percentiles(cold),
            "warm": percentiles(warm),
            "transformed": percentiles(transformed),
        },
        "size": ticks.size,
    }
    return {"talos": figures}, samples


def draw(samples: dict[str, Array], path: Path) -> Path:
    """How many ticks take longer than a time, both on logarithmic axes."""
    from matplotlib.figure import Figure

    from torqued.benchmarks.pictures import BLUE, GREY, ORANGE, VERMILION, save

    figure = Figure(figsize=(7, 4), layout="constrained")
    axes = figure.subplots()
    for (name, us), colour in zip(samples.items(), (BLUE, GREY, VERMILION, ORANGE), strict=True):
        share = 1.0 - np.arange(len(us)) / len(us)
        axes.step(np.sort(us), share, where="post", label=name, color=colour)
    axes.set(xscale="log", yscale="log", xlabel="µs", ylabel="share of ticks that take longer")
    axes.set_title("Whole-body control of Talos on two feet")
    axes.axvline(MAX_P99_US, color=GREY, linestyle=":", label="period of the loop")
    axes.axhline(0.01, color=GREY, linewidth=0.5)
    axes.legend(frameon=False)
    return save(figure, path)


def daqp_times(ticks: Ticks) -> tuple[Array, Array, Array]:
    """DAQP alone, in µs: from scratch, updated, and on the law's rows.

    The first by its own clocks, without Python; the last are rows that have cost time before.
    """
    import daqp

    from torqued.kernels.control.wholebody.daqp import EQUALITY, INEQUALITY
    from torqued.kernels.control.wholebody.dense import dense_program

    # Every tenth tick: a program takes longer to build in Python than to solve.
    states = ticks.states[:: max(1, len(ticks.states) // 500)]
    cold, warm, transformed = np.empty((3, len(states)))
    solver = ticks.control.solver
    model = daqp.Model()
    for k, state in enumerate(states):
        p = dense_program(ticks.control, state)
        arguments = (p.H, p.f, p.A, p.upper, p.lower, p.sense)
        _, _, flag, info = daqp.solve(*arguments)
        if flag != 1:
            raise RuntimeError(f"DAQP: exit flag {flag} at tick {k}, nothing to compare with")
        cold[k] = 1e6 * (info["setup_time"] + info["solve_time"])
        if k == 0:
            model.setup(*arguments)
            model.solve()
        start = time.perf_counter_ns()
        model.update(p.H, p.f, p.A, p.upper, p.lower)
        model.solve()
        warm[k] = (time.perf_counter_ns() - start) / 1e3
        ticks.control.tick(state)
        n, m = int(solver.problem["n"][0]), int(solver.problem["m"][0])
        solver.sense[:m] = np.where(solver.sense[:m] == EQUALITY, EQUALITY, INEQUALITY)
        start = time.perf_counter_ns()
        solver.solve(n, m)
        transformed[k] = (time.perf_counter_ns() - start) / 1e3
    return cold, warm, transformed


def measure_tsid(ticks: Ticks, python: str) -> dict[str, Any]:
    """TSID on the same states, in the interpreter that has it; or why not."""
    script = Path(__file__).with_name("wbc_tsid.py")
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ticks.npz"
        ticks.save_for_pinocchio(path)
        answer = subprocess.run(
            [python, str(script), str(path)], capture_output=True, text=True, check=False
        )
    if answer.returncode:
        lines = answer.stderr.strip().splitlines()
        return {"missing": lines[-1] if lines else f"exit code {answer.returncode}"}
    figures: dict[str, Any] = json.loads(answer.stdout)
    return figures


def print_table(console: Console, figures: dict[str, Any]) -> None:
    from torqued.benchmarks.sheet import Sheet

    talos = figures["talos"]
    parts = {
        "torqued, assembly": talos["assembly"],
        "torqued, solve": talos["solve"],
        "torqued, total": talos["total"],
        "DAQP alone, from scratch": talos["daqp"]["cold"],
        "DAQP alone, updated": talos["daqp"]["warm"],
        "DAQP alone on our rows, from scratch": talos["daqp"]["transformed"],
    }
    if "total" in talos["tsid"]:
        parts["TSID, assembly"] = talos["tsid"]["assembly"]
        parts["TSID, total"] = talos["tsid"]["total"]
    rows = [
        (name, *(f"{part[key]:.1f}" for key in ("p50_us", "p99_us", "max_us")))
        for name, part in parts.items()
    ]
    notes = [
        f"{talos['size']}; total / DAQP alone {talos['total']['ratio']:.2f} "
        f"(at most {MAX_RATIO}), p99 at most {MAX_P99_US:.0f} µs"
    ]
    if "missing" in talos["tsid"]:
        notes.append(f"TSID was not measured: {talos['tsid']['missing']}")
    sheet = Sheet("Talos on two feet, µs", ("", "p50", "p99", "max"), rows, 1, tuple(notes))
    console.print(sheet.title, markup=False, style="bold")
    console.print(sheet.to_rich())
    for note in sheet.notes:
        console.print(note, markup=False)
