"""A picture of latencies: how long each share of them takes at most, up to the rarest."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from torqued.benchmarks.pictures import BLUE, GREY, save

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from torqued.benchmarks.latency import Comparison, Distribution

#: Panels in a row, by how many there are; two rows of two otherwise.
COLUMNS = {1: 1, 3: 3}
#: Shares of all latencies that are marked: one in so many is longer.
MARKS = {2: "50 %", 10: "90 %", 100: "99 %", 1000: "99.9 %", 10_000: "99.99 %"}


def draw(
    comparisons: Sequence[Comparison], titles: Mapping[str, str], quantity: str, path: Path
) -> Path:
    """One panel per condition; the file."""
    columns = COLUMNS.get(len(comparisons), 2)
    rows = -(-len(comparisons) // columns)
    figure = Figure(figsize=(0.9 + 4.9 * columns, 0.7 + 3.5 * rows), layout="constrained")
    panels = figure.subplots(rows, columns, sharey=True, squeeze=False).ravel()
    for axes, comparison in zip(panels, comparisons, strict=False):
        draw_panel(axes, comparison, titles)
    for axes in panels[len(comparisons) :]:
        axes.set_visible(False)
    for axes in panels[::columns]:
        axes.set_ylabel(quantity)
    return save(figure, path)


def draw_panel(axes: Axes, comparison: Comparison, titles: Mapping[str, str]) -> None:
    both: tuple[tuple[Distribution, str, str, str], ...] = (
        (comparison.peer, titles["peer"], GREY, "--"),
        (comparison.ours, titles["ours"], BLUE, "-"),
    )
    count = min(comparison.ours.count, comparison.peer.count)
    rarity = np.geomspace(1.02, max(2.0, count), 200)  # one in so many takes longer
    for distribution, name, colour, line in both:
        label = f"{name}: p50 {distribution.us(0.5):.0f}, p99 {distribution.us(0.99):.0f} µs"
        times = [distribution.us(1.0 - 1.0 / x) for x in rarity]
        axes.plot(rarity, times, line, color=colour, linewidth=2, label=label)
    axes.set_xscale("log")
    axes.set_yscale("log")
    ticks = {x: text for x, text in MARKS.items() if x <= rarity[-1]}
    axes.set_xticks(list(ticks), list(ticks.values()))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.xaxis.set_minor_locator(LogLocator(subs=()))
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    axes.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.yaxis.set_minor_formatter(NullFormatter())
    axes.grid(True, which="major", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.set_title(comparison.name, fontweight="bold")
    axes.set_xlabel("share that is not slower")
    axes.legend(edgecolor="none", framealpha=1.0, fontsize=8.5, loc="upper left")
