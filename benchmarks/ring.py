"""What writing every tick costs the loop: with the ring and its readers, and without, in turns.

Readers are two that poll fifty times a second and, where `mcap` is installed, a recorder. While
the other contender is measured they are stopped.
"""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torqued.benchmarks import budget, ring_reader
from torqued.benchmarks.latency import Comparison, Histogram
from torqued.benchmarks.processes import NotStarted, process
from torqued.benchmarks.tally import RATE, Tally, servo_block
from torqued.server.daemon import Daemon

#: Seconds that readers have to begin.
LONGEST_START = 60.0
#: Readers beside the recorder.
READERS = 2
#: That a recorder has to keep up with.
SESSIONS = 16


@dataclass(frozen=True)
class RingCost:
    """Lateness and compute time of ticks, with and without."""

    lateness: Comparison
    compute: Histogram
    compute_without: Histogram
    recorder_us: float = 0.0  # of processor time that a tick took the recorder; 0: there was none

    @property
    def added_us(self) -> float:
        """µs that the ring adds to a tick, at p50."""
        return self.compute.us(0.5) - self.compute_without.us(0.5)

    @property
    def holds(self) -> bool:
        return self.lateness.holds and self.added_us <= budget.RING_US

    def to_json(self) -> dict[str, Any]:
        return self.lateness.to_json("off") | {
            "compute_p50_us": self.compute.us(0.5),
            "off_compute_p50_us": self.compute_without.us(0.5),
            "added_us": self.added_us,
            "recorder_us": self.recorder_us,
        }

    def __str__(self) -> str:
        mark = "✓" if self.holds else "✗"
        recorder = ""
        if self.recorder_us:
            need = 100.0 * 1e-6 * self.recorder_us * SESSIONS * RATE
            recorder = (
                f"\nrecorder: {self.recorder_us:.1f} µs of processor time a tick; {SESSIONS} such "
                f"sessions would take {need:.0f} % of one processor"
            )
        return (
            f"ring and readers: lateness p99 {self.lateness.ours.us(0.99):.1f} µs, without "
            f"{self.lateness.peer.us(0.99):.1f} µs, ratio {self.lateness.ratio:.2f} (at most "
            f"{budget.RING_LATENESS:.2f}); compute p50 {self.compute.us(0.5):.1f} µs, without "
            f"{self.compute_without.us(0.5):.1f} µs, {self.added_us:+.2f} µs (at most "
            f"{budget.RING_US:g}) {mark}{recorder}"
        )


def measure_ring(
    daemon: Daemon, blocks: int, seconds: float, report: Callable[[str, str], None]
) -> RingCost:
    """Blocks of both in turns; who begins changes from one to the next."""
    ticks = round(seconds * RATE)
    on, off = Tally(), Tally()
    address = daemon.observation.address
    spent = 0.0
    with readers(daemon) as children:
        recorder = children[READERS] if len(children) > READERS else None
        begun = processor_time(recorder)

        def run(tally: Tally, ring: int, number: int) -> None:
            for child in children:
                os.kill(child, number)
            daemon.servo.shared.loop["ring"] = ring
            servo_block(daemon, ticks, tally)

        turns: list[Callable[[], None]] = [
            lambda: run(on, address, signal.SIGCONT),
            lambda: run(off, 0, signal.SIGSTOP),
        ]
        for block in range(1, blocks + 1):
            report("ring and readers", f"block {block} of {blocks}")
            for turn in turns:
                turn()
            turns.reverse()
        for child in children:
            os.kill(child, signal.SIGCONT)
        daemon.servo.shared.loop["ring"] = address
        spent = processor_time(recorder) - begun
    lateness = Comparison(
        "ring and readers",
        on.histogram(),
        off.histogram(),
        0.99,
        budget.RING_LATENESS,
        {"ticks": int(on.bins.sum()), "missed": on.missed},
    )
    recorded = max(1, int(on.bins.sum()))
    return RingCost(
        lateness, on.compute_histogram(), off.compute_histogram(), 1e6 * spent / recorded
    )


def processor_time(process: int | None) -> float:
    """s that a process has computed, in user and kernel; proc(5)."""
    if process is None:
        return 0.0
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


@contextmanager
def readers(daemon: Daemon) -> Iterator[list[int]]:
    """Processes that read the daemon's ring, by their ids."""
    name, folder = daemon.endpoints.name, daemon.endpoints.folder
    commands = [[sys.executable, str(ring_reader.__file__), name, str(folder)]] * READERS
    if importlib.util.find_spec("mcap"):
        recorder = [sys.executable, "-m", "torqued.server.cli.main", "record", "--robot", name]
        commands.append([*recorder, "--folder", str(folder), "--out", str(folder / "recorded")])
    with ExitStack() as stack:
        children, logs = [], []
        for k, command in enumerate(commands):
            logs.append(folder / f"reader{k}.log")
            children.append(stack.enter_context(process(command, logs[-1])))
        deadline = time.monotonic() + LONGEST_START
        while not all(log.read_text() for log in logs[:READERS]) or (
            len(commands) > READERS and not list((folder / "recorded").glob("*.mcap"))
        ):
            ended = [log for child, log in zip(children, logs, strict=True) if child.poll()]
            if ended or time.monotonic() > deadline:
                said = "".join(log.read_text() for log in ended or logs)
                raise NotStarted(f"readers of the ring have not begun: {said}")
            time.sleep(0.05)
        yield [child.pid for child in children]
