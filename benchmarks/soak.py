"""`torqued bench soak`: memory of a daemon over a million requests, sessions and ticks.

Three kinds of work, each done a while before its growth is counted: caches fill, and the allocator
finds its size. After that a daemon has no reason to grow.
"""

from __future__ import annotations

import argparse
import tempfile
import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np

from torqued.benchmarks import budget
from torqued.benchmarks.command import (
    make_console,
    progress,
    require_places,
    write_json,
)
from torqued.benchmarks.flood import flood
from torqued.benchmarks.machine import WIRE_PACKAGES, this_machine
from torqued.benchmarks.processes import Running, daemon
from torqued.benchmarks.sheet import Sheet
from torqued.client import Client

RATE = 1000.0  # Hz
SESSIONS = 8  # that tick side by side
#: How much of each work is done beforehand. Memory settles over the first two thousand sessions.
WARM_UP = {"requests": 0.1, "sessions": 1.0, "ticks": 0.2}

NOTES = (
    "Growth is that of the resident memory of the daemon's process, after a warm-up of a tenth of "
    "the requests, as many sessions again and a fifth of the ticks.",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures as JSON")
    parser.add_argument("--requests", type=int, default=1_000_000, metavar="N")
    parser.add_argument(
        "--sessions",
        type=int,
        default=1000,
        metavar="N",
        help="number of sessions to open and close",
    )
    parser.add_argument(
        "--ticks", type=int, default=100_000, metavar="N", help="number of session ticks"
    )
    parser.set_defaults(plot=None)


@dataclass(frozen=True)
class Growth:
    """Memory of a daemon before and after some work."""

    work: str
    count: int
    seconds: float
    before_kib: int
    after_kib: int

    @property
    def growth_kib(self) -> int:
        return self.after_kib - self.before_kib

    @property
    def holds(self) -> bool:
        return self.growth_kib <= budget.GROWTH


def run(args: argparse.Namespace) -> int:
    console = make_console()
    require_places(args)
    machine = this_machine(WIRE_PACKAGES)
    works: dict[str, tuple[Callable[[Running, int], int], int]] = {
        "requests": (ask, args.requests),
        "sessions": (open_and_close, args.sessions),
        "ticks": (tick, args.ticks),
    }
    found = []
    with (
        tempfile.TemporaryDirectory(prefix="torqued-soak-") as folder,
        daemon(Path(folder), "--rate", f"{RATE:g}") as running,
        progress(console, len(works)) as report,
    ):
        for name, (work, count) in works.items():
            report(name, str(count))
            found.append(measure(running, name, work, count))
    console.print(f"{machine}\n", markup=False)
    table(found).print(console)
    missed = [growth.work for growth in found if not growth.holds]
    verdict = f"missed by {', '.join(missed)}" if missed else "kept"
    console.print(f"budget: {verdict}", markup=False, style="bold")
    if args.json:
        out = {g.work: asdict(g) | {"growth_kib": g.growth_kib} for g in found}
        write_json(args.json, out | {"machine": machine.to_json()})
        console.print(f"wrote {args.json}", markup=False, soft_wrap=True)
    return 1 if missed else 0


def table(found: list[Growth]) -> Sheet:
    rows = [
        (
            growth.work,
            str(growth.count),
            f"{growth.seconds:.1f}",
            str(growth.before_kib),
            str(growth.after_kib),
            str(growth.growth_kib),
            f"{budget.GROWTH:.0f} {'✓' if growth.holds else '✗'}",
        )
        for growth in found
    ]
    header = ("", "count", "s", "before", "after", "growth", "at most")
    return Sheet("Memory of a daemon, KiB", header, rows, texts=1, notes=NOTES)


def measure(running: Running, name: str, work: Callable[[Running, int], int], count: int) -> Growth:
    work(running, max(1, round(WARM_UP[name] * count)))
    before, start = resident_kib(running.process), time.monotonic()
    done = work(running, count)
    seconds = time.monotonic() - start
    return Growth(name, done, seconds, before, resident_kib(running.process))


def resident_kib(process: int) -> int:
    """Resident memory of a process."""
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1])
    raise RuntimeError(f"process {process} has no resident memory: it has ended")


def ask(running: Running, count: int) -> int:
    """Requests, many under way at once; how many were answered."""
    return flood(running.endpoint, iter(range(count)))


def open_and_close(running: Running, count: int) -> int:
    """Sessions one after the other, each with some ticks."""
    with Client(running.endpoint, timeout=10.0) as client:
        hello = client.hello()
        for _ in range(count):
            with client.session("stream", want=["M", "C"]) as session:
                session.step(hello.neutral, np.zeros(hello.nv))
    return count


def tick(running: Running, count: int) -> int:
    """Outputs of sessions that are open side by side; how many were received."""
    with Client(running.endpoint, timeout=10.0) as client, ExitStack() as stack:
        hello = client.hello()
        sessions = [
            stack.enter_context(client.session("stream", want=["M", "C"])) for _ in range(SESSIONS)
        ]
        received = 0
        while received < count:
            for session in sessions:
                session.send(hello.neutral, np.zeros(hello.nv))
            for session in sessions:
                session.receive()
                received += 1
    return received
