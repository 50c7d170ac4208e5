"""Two distributions of a latency, ours and a peer's, and the budget's verdict on them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from torqued.benchmarks.sheet import Sheet
from torqued.server.loop.loop_records import percentile


class Distribution(Protocol):
    """Latencies in µs."""

    def us(self, share: float) -> float:
        """The latency that this share of all does not exceed."""

    @property
    def max_us(self) -> float: ...

    @property
    def count(self) -> int: ...


@dataclass(frozen=True)
class Samples:
    """Every latency by itself, µs."""

    values: NDArray[np.float64]

    def us(self, share: float) -> float:
        return float(np.quantile(self.values, share))

    @property
    def max_us(self) -> float:
        return float(self.values.max())

    @property
    def count(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Histogram:
    """Latencies counted in the loop's bins, and the largest of them."""

    bins: NDArray[np.int64]
    max_us: float

    def us(self, share: float) -> float:
        return min(percentile(self.bins, share), self.max_us)

    @property
    def count(self) -> int:
        return int(self.bins.sum())


@dataclass(frozen=True)
class Comparison:
    """One condition. `share` is the percentile that the budget is about."""

    name: str
    ours: Distribution
    peer: Distribution
    share: float
    ceiling: float | None = None
    more: Mapping[str, int] = field(default_factory=dict)  # counters beside the latencies

    @property
    def ratio(self) -> float:
        return self.ours.us(self.share) / self.peer.us(self.share)

    @property
    def holds(self) -> bool:
        """Whether the budget is kept; true where there is none."""
        return self.ceiling is None or self.ratio <= self.ceiling

    def to_json(self, peer: str) -> dict[str, Any]:
        return {
            "p50_us": self.ours.us(0.5),
            "p99_us": self.ours.us(0.99),
            "max_us": self.ours.max_us,
            f"{peer}_p50_us": self.peer.us(0.5),
            f"{peer}_p99_us": self.peer.us(0.99),
            f"{peer}_max_us": self.peer.max_us,
            f"ratio_p{100 * self.share:.0f}": self.ratio,
            **self.more,
        }


def sheet(
    title: str, peer: str, comparisons: Sequence[Comparison], notes: tuple[str, ...]
) -> Sheet:
    """All conditions as a table."""
    judged = f"ratio\nat p{100 * comparisons[0].share:.0f}"
    counters = tuple(comparisons[0].more)
    header = (
        *("", "torqued\np50", "p99", "max", f"{peer}\np50", "p99", "max"),
        *(judged, "at most", *counters),
    )
    rows = [
        (
            c.name,
            *(f"{x:.1f}" for d in (c.ours, c.peer) for x in (d.us(0.5), d.us(0.99), d.max_us)),
            f"{c.ratio:.2f}",
            verdict(c),
            *(str(c.more[name]) for name in counters),
        )
        for c in comparisons
    ]
    return Sheet(title, header, rows, texts=1, notes=notes)


def verdict(comparison: Comparison) -> str:
    if comparison.ceiling is None:
        return "–"
    return f"{comparison.ceiling:.2f} {'✓' if comparison.holds else '✗'}"


def summary(comparisons: Sequence[Comparison]) -> str:
    """Whether the budget holds, in one line."""
    judged = [c for c in comparisons if c.ceiling is not None]
    missed = [f"{c.name} {c.ratio:.2f}" for c in judged if not c.holds]
    if missed:
        return f"budget: missed by {', '.join(missed)}; ceilings in all: {len(judged)}"
    return f"budget: kept; ceilings in all: {len(judged)}"
