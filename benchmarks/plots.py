"""Figures of a run: [EW21] figures 2 to 4 with our curves, and all ratios beside the budget."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from torqued.benchmarks.budget import published
from torqued.benchmarks.growth import Curve
from torqued.benchmarks.pictures import BLUE, GREEN, GREY, ORANGE, PURPLE, VERMILION, save
from torqued.benchmarks.robots import KERNELS

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from torqued.benchmarks.results import Results

#: Derivatives are lighter than what they are the derivatives of.
LIGHT_GREEN, LIGHT_PURPLE = "#7fceb8", "#e5bcd3"
KERNEL_COLOURS = dict(
    zip(
        KERNELS,
        (BLUE, VERMILION, GREEN, ORANGE, PURPLE, LIGHT_GREEN, LIGHT_PURPLE),
        strict=True,
    )
)
#: Those whose bars are dark enough for white figures.
DARK = ("coriolis", "christoffel", "rnea")

#: Series of a curve → its name in a legend, colour and marker.
STYLE = {
    "christoffel": ("all Γ, torqued", VERMILION, "s"),
    "pinocchio_coriolis": ("C, Pinocchio", GREY, "^"),
    "coriolis": ("M, Ṁ and C, torqued", BLUE, "o"),
}

#: File → title of the panels by family, as the paper has its figures.
GROWTH_FIGURES = {
    "fig2_serial_chains.png": {"chain": "Serial chains"},
    "fig3_binary_trees.png": {"tree": "Binary trees"},
    "fig4_biped_quadruped.png": {"biped": "Bipeds", "quadruped": "Quadrupeds"},
}

LEGGED = ("biped", "quadruped")  # N leaves out the six DoF of the base

SIZE_TICKS = (5, 10, 20, 50, 100)


def draw(results: Results, folder: Path) -> list[Path]:
    """Draw what the run has measured; the files."""
    curves = {curve.family: curve for curve in results.curves}
    written = []
    for name, panels in GROWTH_FIGURES.items():
        if all(family in curves for family in panels):
            figure = growth_figure({title: curves[family] for family, title in panels.items()})
            written.append(save(figure, folder / name))
    if results.figures:
        written.append(save(ratio_figure(results), folder / "ratios.png"))
    return written


def growth_figure(panels: dict[str, Curve]) -> Figure:
    figure = Figure(figsize=(0.9 + 5.1 * len(panels), 4.6), layout="constrained")
    row = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
    for axes, (title, curve) in zip(row, panels.items(), strict=True):
        draw_curve(axes, curve)
        axes.set_title(title, fontweight="bold")
        axes.set_xlabel("number N of " + ("joint DoF" if curve.family in LEGGED else "DoF"))
    row[0].set_ylabel("time of one call, µs")
    return figure


def draw_curve(axes: Axes, curve: Curve) -> None:
    for series, (name, colour, marker) in STYLE.items():
        label = f"{name}: $N^{{{curve.slope(series):.1f}}}$"
        line = "--" if series.startswith("pinocchio") else "-"
        axes.plot(
            curve.dofs, curve.us[series], line, color=colour, marker=marker, ms=4.5, label=label
        )
    for series, symbol in (("christoffel", "Γ"), ("coriolis", "C")):
        paper = published(f"{curve.family}20", series)
        if paper:
            axes.plot(
                [20],
                [paper.us],
                linestyle="none",
                marker="*",
                ms=13,
                markerfacecolor="white",
                markeredgecolor=STYLE[series][1],
                markeredgewidth=1.4,
                label=f"{symbol}, [EW21] table 1",
            )
    plain = FuncFormatter(lambda value, _: f"{value:g}")
    axes.set_xscale("log")
    axes.set_yscale("log")
    axes.set_xticks([size for size in SIZE_TICKS if size <= max(curve.dofs)])
    axes.yaxis.set_major_locator(LogLocator(subs=(1.0, 2.0, 5.0)))
    for axis in (axes.xaxis, axes.yaxis):
        axis.set_major_formatter(plain)
        axis.set_minor_formatter(NullFormatter())
    axes.grid(True, which="major", color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    axes.legend(edgecolor="none", framealpha=1.0, fontsize=8.5, loc="upper left")


def ratio_figure(results: Results) -> Figure:
    robots = results.robots
    figure = Figure(figsize=(max(6.0, 1.4 + 2.1 * len(robots)), 4.6), layout="constrained")
    axes = figure.subplots()
    width = 0.8 / len(KERNELS)
    for k, kernel in enumerate(KERNELS):
        mine = [figure for figure in results.figures if figure.kernel == kernel]
        places = np.arange(len(robots)) + (k - (len(KERNELS) - 1) / 2) * width
        ratios = [figure.ratio for figure in mine]
        axes.bar(places, ratios, width * 0.9, color=KERNEL_COLOURS[kernel], label=kernel)
        ink = "white" if kernel in DARK else "black"  # readable on the bar's colour
        for place, result in zip(places, mine, strict=True):
            axes.text(place, 0.015, f"{result.ratio:.2f}", ha="center", size=6.5, color=ink)
            if result.ceiling is not None:
                edges = (place - width * 0.5, place + width * 0.5)
                axes.plot(edges, [result.ceiling] * 2, color="black", linewidth=2)
    if any(result.ceiling is not None for result in results.figures):
        axes.plot([], [], color="black", linewidth=2, label="ceiling of the budget")
    axes.axhline(1.0, color=GREY, linewidth=1, linestyle="--", zorder=0)
    edge = axes.get_yaxis_transform()
    axes.text(1.0, 1.01, "as fast as Pinocchio", ha="right", color=GREY, size=8.5, transform=edge)
    axes.set_xticks(range(len(robots)), robots)
    axes.tick_params(axis="x", length=0)
    axes.set_ylabel("torqued's time / Pinocchio's (less is faster)")
    axes.set_ylim(0.0, max(1.1, 1.1 * max(figure.ratio for figure in results.figures)))
    axes.spines[["top", "right"]].set_visible(False)
    handles, labels = axes.get_legend_handles_labels()
    columns = len(labels) if len(robots) > 4 else 3
    figure.legend(handles, labels, frameon=False, ncols=columns, loc="outside upper center")
    return figure
