"""`torqued bench loop`: how late the loop's ticks are, beside a bare clock_nanosleep loop.

Both run in turns in one process: the servo of a daemon with a session that computes M and C at each
tick, and a compiled loop that only sleeps, in a thread of the same kind. What else the process and
the machine do is the same for both:

    idle               nothing
    busy_interpreter   a thread of the process computes in Python without a pause
    arrivals           four sessions beside it have their states answered as they arrive, at 1 kHz
    spin               nothing, and the servo watches the clock before each deadline
    request_flood      another process sends requests without a pause, and the daemon answers them

Then the servo that writes every tick for all kinds of readers beside one that does not (ring.py).

Latenesses of both are counted in the servo's own bins.
"""

from __future__ import annotations

import argparse
import logging
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from torqued.benchmarks import arrivals, budget, flood
from torqued.benchmarks.bare_loop import bare_latenesses, in_bins
from torqued.benchmarks.command import (
    add_common_arguments,
    make_console,
    progress,
    require_places,
    write_json,
)
from torqued.benchmarks.latency import Comparison, sheet, summary
from torqued.benchmarks.machine import WIRE_PACKAGES, this_machine
from torqued.benchmarks.processes import NotStarted, process
from torqued.benchmarks.ring import measure_ring
from torqued.benchmarks.tally import RATE, SETTLE, Tally, servo_block
from torqued.client import Client
from torqued.kernels import Robot
from torqued.server.daemon import Daemon
from torqued.server.loop.realtime import realtime
from torqued.server.loop.session import Safety
from torqued.server.transport.endpoints import Endpoints
from torqued.server.worker.source import Source
from torqued.tools.cli.compile import compile_with_progress

if TYPE_CHECKING:
    from rich.console import Console

PERIOD_NS = round(1e9 / RATE)
SPIN_NS = 200_000  # in the condition with it

#: Blocks of each contender and seconds of one; and the same of turns with the ring.
FULL, QUICK = (15, 1.0), (2, 0.2)
FULL_RING, QUICK_RING = (150, 0.5), (2, 0.2)

CONDITIONS = {
    "idle": "idle",
    "busy_interpreter": "busy interpreter",
    "arrivals": "four on arrival",
    "spin": "idle, spin 0.2 ms",
    "request_flood": "request flood",
}

NOTES = (
    "The servo serves a session that computes M and C of a chain of 20 joints; the bare loop does "
    "nothing. `ticks` and `missed` are the servo's.",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_common_arguments(parser)


def run(args: argparse.Namespace) -> int:
    console = make_console()
    require_places(args)
    machine = this_machine(WIRE_PACKAGES)
    blocks, seconds = QUICK if args.quick else FULL
    bare_latenesses(PERIOD_NS, 1)  # compiles it
    figures: dict[str, Comparison] = {}
    turns, turn = QUICK_RING if args.quick else FULL_RING
    steps = len(CONDITIONS) * blocks + turns
    with serving(console) as daemon, progress(console, steps) as report:
        for condition, title in CONDITIONS.items():
            with LOADS[condition](daemon):
                figures[condition] = compare(daemon, condition, title, blocks, seconds, report)
        ring = measure_ring(daemon, turns, turn, report)
    rows = list(figures.values())
    console.print(f"{machine}\n", markup=False)
    sheet("Lateness of ticks at 1 kHz, µs", "bare loop", rows, NOTES).print(console)
    console.print(summary(rows), markup=False, style="bold")
    console.print(str(ring), markup=False, soft_wrap=True)
    if args.quick:
        console.print("a quick run: its figures are only rough")
    written = []
    if args.json:
        out: dict[str, Any] = {name: row.to_json("bare") for name, row in figures.items()}
        out["ring"] = ring.to_json()
        written.append(write_json(args.json, out | {"machine": machine.to_json()}))
    if args.plot:
        from torqued.benchmarks.latency_plots import draw

        titles = {"ours": "torqued's loop", "peer": "bare sleep loop"}
        written.append(draw(rows, titles, "lateness of a tick, µs", args.plot / "loop.png"))
    for path in written:
        console.print(f"wrote {path}", markup=False, soft_wrap=True)
    return 0 if args.quick or (ring.holds and all(row.holds for row in rows)) else 1


@contextmanager
def serving(console: Console) -> Iterator[Daemon]:
    """A daemon in this process that answers requests, its loop stopped."""
    logging.getLogger("torqued").setLevel(logging.ERROR)  # sessions without drivers are no news
    with tempfile.TemporaryDirectory(prefix="torqued-loop-") as folder:
        # A state stays good for ever, so that each tick computes without anyone sending states.
        daemon = Daemon(
            Robot.family("chain", 20),
            Endpoints(Path(folder), "chain20"),
            RATE,
            Safety(stale_after=1e6),
            source=Source(None, {"robot": {"model": "chain20"}}),  # for viewers, who draw it
        )
        compile_with_progress(console, daemon.prepare)
        daemon.servo.stop(0)
        thread = threading.Thread(target=daemon.run, name="requests")
        thread.start()
        try:
            yield daemon
        finally:
            daemon.stop()
            thread.join()


@contextmanager
def nothing(daemon: Daemon) -> Iterator[None]:
    yield


@contextmanager
def busy_interpreter(daemon: Daemon) -> Iterator[None]:
    """A thread that gives the interpreter away only when it has to."""
    done = threading.Event()

    def compute() -> None:
        while not done.is_set():
            sum(range(10_000))

    thread = threading.Thread(target=compute, name="busy")
    thread.start()
    try:
        yield
    finally:
        done.set()
        thread.join()


@contextmanager
def request_flood(daemon: Daemon) -> Iterator[None]:
    """Another process that always has requests under way."""
    command = [sys.executable, str(flood.__file__), daemon.endpoints.request]
    log = daemon.endpoints.folder / "flood.log"
    with process(command, log) as child, Client(daemon.endpoints.request) as client:
        first = client.stats().requests
        while client.stats().requests < first + 1000:
            if child.poll() is not None:
                raise NotStarted(f"the flood of requests has ended: {log.read_text()}")
            time.sleep(0.01)
        yield


@contextmanager
def on_arrival(daemon: Daemon) -> Iterator[None]:
    """Another process whose sessions' states are answered as they arrive."""
    command = [sys.executable, str(arrivals.__file__), daemon.endpoints.request]
    log = daemon.endpoints.folder / "arrivals.log"
    with process(command, log) as child:
        while len(daemon.servo.sessions) < arrivals.SESSIONS:
            if child.poll() is not None:
                raise NotStarted(f"the sessions on arrival have ended: {log.read_text()}")
            time.sleep(0.01)
        yield


@contextmanager
def spinning(daemon: Daemon) -> Iterator[None]:
    """The loop watches the clock for a while before each deadline."""
    daemon.servo.shared.loop["spin"] = SPIN_NS
    try:
        yield
    finally:
        daemon.servo.shared.loop["spin"] = 0


LOADS = {
    "idle": nothing,
    "busy_interpreter": busy_interpreter,
    "arrivals": on_arrival,
    "spin": spinning,
    "request_flood": request_flood,
}


def compare(
    daemon: Daemon,
    condition: str,
    title: str,
    blocks: int,
    seconds: float,
    report: Callable[[str, str], None],
) -> Comparison:
    """Blocks of both in turns; who begins changes from one to the next."""
    ticks = round(seconds * RATE)
    ours, bare = Tally(), Tally()
    turns: list[Callable[[], None]] = [
        lambda: servo_block(daemon, ticks, ours),
        lambda: bare_block(ticks, bare),
    ]
    for block in range(1, blocks + 1):
        report(title, f"block {block} of {blocks}")
        for turn in turns:
            turn()
        turns.reverse()
    return Comparison(
        title,
        ours.histogram(),
        bare.histogram(),
        0.99,
        budget.LATENESS.get(condition),
        {"ticks": int(ours.bins.sum()), "missed": ours.missed},
    )


def bare_block(ticks: int, tally: Tally) -> None:
    """The bare loop for that many ticks, in a thread of its own as the servo is."""
    found: list[Any] = []
    settle = round(SETTLE * RATE)

    def sleep() -> None:
        realtime(0, False, None)  # as the servo's thread
        found.append(bare_latenesses(PERIOD_NS, settle + ticks))

    thread = threading.Thread(target=sleep, name="bare")
    thread.start()
    thread.join()
    latenesses = found[0][settle:]
    tally.bins += in_bins(latenesses)
    tally.max_us = max(tally.max_us, float(latenesses.max()) * 1e-3)
