"""`torqued bench start`: import of the client beside its dependencies, start of a daemon.

Imports take turns in fresh interpreters, and each times its own import statement. A daemon's start
is the time from its process's birth until `ping` finds it ready. Byte code is at hand in all of
them, as it is where packages are installed.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

from torqued.benchmarks import budget
from torqued.benchmarks.command import make_console, progress, require_places, write_json
from torqued.benchmarks.machine import WIRE_PACKAGES, this_machine
from torqued.benchmarks.processes import daemon
from torqued.benchmarks.sheet import Sheet

CLIENT, PEERS = "torqued.client", "numpy, zmq, msgpack"

TIMED_IMPORT = """\
import time
start = time.perf_counter_ns()
import {what}
print(time.perf_counter_ns() - start)
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument(
        "--cold", action="store_true", help="also start with an empty cache (takes minutes)"
    )
    parser.add_argument("--quick", action="store_true", help="rough figures in a few seconds")
    parser.set_defaults(plot=None)


def run(args: argparse.Namespace) -> int:
    console = make_console()
    require_places(args)
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    machine = this_machine(WIRE_PACKAGES)
    imports, starts = (3, 1) if args.quick else (25, 3)
    with progress(console, imports + starts + args.cold) as report:
        import_ms(CLIENT)  # leaves its byte code
        times: dict[str, list[float]] = {CLIENT: [], PEERS: []}
        for k in range(1, imports + 1):
            report("imports", f"{k} of {imports}")
            for what in sorted(times, reverse=bool(k % 2)):
                times[what].append(import_ms(what))
        start_seconds()
        warm = []
        for k in range(1, starts + 1):
            report("warm starts", f"{k} of {starts}")
            warm.append(start_seconds())
        cold = None
        if args.cold:
            report("cold start", "1 of 1")
            cold = cold_start_seconds()
    figures = to_json(times, warm, cold)
    rows = judged_rows(figures)
    console.print(f"{machine}\n", markup=False)
    Sheet("Start", ("", "torqued", "peer", "ratio", "at most"), rows, texts=1).print(console)
    missed = [row[0] for row in rows if row[-1].endswith("✗")]
    verdict = f"missed by {', '.join(missed)}" if missed else "kept"
    console.print(f"budget: {verdict}", markup=False, style="bold")
    if args.quick:
        console.print("a quick run: its figures are only rough")
    if args.json:
        write_json(args.json, figures | {"machine": machine.to_json()})
        console.print(f"wrote {args.json}", markup=False, soft_wrap=True)
    return 1 if missed and not args.quick else 0


def to_json(times: dict[str, list[float]], warm: list[float], cold: float | None) -> dict[str, Any]:
    ours, peers = (float(np.median(times[what])) for what in (CLIENT, PEERS))
    out: dict[str, Any] = {
        "import": {"ms": ours, "peers_ms": peers, "ratio": ours / peers},
        "warm": {"s": max(warm)},
    }
    return out if cold is None else out | {"cold": {"s": cold}}


def judged_rows(figures: dict[str, Any]) -> list[tuple[str, ...]]:
    found = figures["import"]
    rows: list[tuple[str, ...]] = [
        (
            f"import {CLIENT}, ms",
            f"{found['ms']:.0f}",
            f"{found['peers_ms']:.0f}",
            f"{found['ratio']:.2f}",
            judged(found["ratio"], budget.CLIENT_IMPORT),
        )
    ]
    for name, ceiling in (("warm", budget.WARM_START), ("cold", budget.COLD_START)):
        if name in figures:
            seconds = figures[name]["s"]
            rows.append((f"{name} start, s", f"{seconds:.1f}", "", "", judged(seconds, ceiling)))
    return rows


def judged(value: float, ceiling: float) -> str:
    return f"{ceiling:g} {'✓' if value <= ceiling else '✗'}"


def import_ms(what: str) -> float:
    """An import in an interpreter of its own."""
    command = [sys.executable, "-c", TIMED_IMPORT.format(what=what)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return int(done.stdout) * 1e-6


def start_seconds(**environment: str) -> float:
    with (
        tempfile.TemporaryDirectory(prefix="torqued-start-") as folder,
        daemon(Path(folder), complete=False, **environment) as running,
    ):
        return running.started


def cold_start_seconds() -> float:
    with tempfile.TemporaryDirectory(prefix="torqued-cache-") as cache:
        return start_seconds(TORQUED_CACHE_DIR=cache)
