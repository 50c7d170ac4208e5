"""What writing every tick costs the loop: with the ring and all of its readers, and without.

One servo with one session goes on all the time, and turns without, with, without, with, … follow
each other; readers are stopped in those without. Each turn with the ring is compared with the two
beside it. A machine is never so quiet that one p99 is like the next: what counts is the median over
all turns, and the same is told of turns without beside each other, as what chance does.

Readers are those of ring_readers.py.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.benchmarks import budget
from torqued.benchmarks.latency import Comparison, Histogram
from torqued.benchmarks.processes import processor_time
from torqued.benchmarks.ring_readers import RECORDER, readers
from torqued.benchmarks.tally import RATE, Tally, count_ticks, served
from torqued.server.daemon import Daemon

#: Percentile of the lateness that the budget is about.
SHARE = 0.99
#: That a recorder has to keep up with.
SESSIONS = 16

Ratios = NDArray[np.float64]


@dataclass(frozen=True)
class RingCost:
    """Lateness and compute time of ticks, with and without."""

    lateness: Comparison  # over all turns
    ratios: Ratios  # of lateness at p99: each turn with, by those without beside it
    by_chance: Ratios  # the same of turns without that follow each other
    compute: Histogram
    compute_without: Histogram
    readers: tuple[str, ...]
    recorder_us: float = 0.0  # of processor time that a tick took the recorder; 0: there was none

    @property
    def ratio(self) -> float:
        return float(np.median(self.ratios))

    @property
    def error(self) -> float:
        """Standard error of that median, by the median deviation."""
        spread = 1.4826 * float(np.median(np.abs(self.ratios - self.ratio)))
        return 1.2533 * spread / float(np.sqrt(len(self.ratios)))

    @property
    def added_us(self) -> float:
        """µs that the ring adds to a tick, at p50."""
        return self.compute.us(0.5) - self.compute_without.us(0.5)

    @property
    def holds(self) -> bool:
        return self.ratio <= budget.RING_LATENESS and self.added_us <= budget.RING_US

    def to_json(self) -> dict[str, Any]:
        return self.lateness.to_json("off") | {
            "turns": len(self.ratios),
            "ratio_p99": self.ratio,
            "ratio_error": self.error,
            "ratio_by_chance": float(np.median(self.by_chance)),
            "ratio_pooled": self.lateness.ratio,
            "compute_p50_us": self.compute.us(0.5),
            "off_compute_p50_us": self.compute_without.us(0.5),
            "added_us": self.added_us,
            "recorder_us": self.recorder_us,
            "readers": list(self.readers),
        }

    def __str__(self) -> str:
        mark = "✓" if self.holds else "✗"
        on, off = self.lateness.ours, self.lateness.peer
        lines = [
            f"ring and readers ({', '.join(self.readers)}): lateness p99 {on.us(SHARE):.1f} µs, "
            f"without {off.us(SHARE):.1f} µs; ratio of a turn to those beside it, median of "
            f"{len(self.ratios)}: {self.ratio:.3f} ± {self.error:.3f} (at most "
            f"{budget.RING_LATENESS:.2f}; two turns without: {np.median(self.by_chance):.3f})",
            f"compute p50 {self.compute.us(0.5):.1f} µs, without "
            f"{self.compute_without.us(0.5):.1f} µs, {self.added_us:+.2f} µs (at most "
            f"{budget.RING_US:g}) {mark}",
        ]
        if self.recorder_us:
            need = 100.0 * 1e-6 * self.recorder_us * SESSIONS * RATE
            lines.append(
                f"recorder: {self.recorder_us:.1f} µs of processor time a tick; {SESSIONS} such "
                f"sessions would take {need:.0f} % of one processor"
            )
        return "\n".join(lines)


def measure_ring(
    daemon: Daemon, turns: int, seconds: float, report: Callable[[str, str], None]
) -> RingCost:
    """So many turns with the ring, one more without."""
    with readers(daemon) as children, served(daemon) as loop:
        recorder = children.get(RECORDER)
        begun = processor_time(recorder) if recorder else 0.0
        on: list[Tally] = []
        try:
            off = [one_turn(daemon, loop, children.values(), False, seconds)]
            for k in range(1, turns + 1):
                report("ring and readers", f"turn {k} of {turns}")
                on.append(one_turn(daemon, loop, children.values(), True, seconds))
                off.append(one_turn(daemon, loop, children.values(), False, seconds))
        finally:
            turn_readers(children.values(), on=True)  # so that they can end
            daemon.servo.shared.loop["ring"] = daemon.observation.address
        spent = processor_time(recorder) - begun if recorder else 0.0
    all_on, all_off = Tally(), Tally()
    for total, found in ((all_on, on), (all_off, off)):
        for tally in found:
            total.add(tally)
    lateness = Comparison(
        "ring and readers",
        all_on.histogram(),
        all_off.histogram(),
        SHARE,
        more={"ticks": int(all_on.bins.sum()), "missed": all_on.missed},
    )
    p99 = np.array([tally.histogram().us(SHARE) for tally in off])
    return RingCost(
        lateness,
        np.array([tally.histogram().us(SHARE) for tally in on]) / np.sqrt(p99[:-1] * p99[1:]),
        p99[1:] / p99[:-1],
        all_on.compute_histogram(),
        all_off.compute_histogram(),
        tuple(children),
        1e6 * spent / max(1, int(all_on.bins.sum())),
    )


def one_turn(daemon: Daemon, loop: Any, children: Iterable[int], on: bool, seconds: float) -> Tally:
    """Ticks with the ring and its readers, or without."""
    turn_readers(children, on)
    daemon.servo.shared.loop["ring"] = daemon.observation.address if on else 0
    tally = Tally()
    count_ticks(loop, round(seconds * RATE), tally)
    return tally


def turn_readers(children: Iterable[int], on: bool) -> None:
    for child in children:
        os.kill(child, signal.SIGCONT if on else signal.SIGSTOP)
