"""The matrix of outcomes as one picture: a part for each claim, a row for each robot.

A cell is a law; its left half is the clean run, or the one with known rotors, its right half those
with what the model lacks. Green holds, red does not and shows its number, grey was not run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from torqued.tools.demos import pictures
from torqued.tools.demos.generalize_claims import CLAIMS, Claim, rank
from torqued.tools.demos.generalize_robots import LAWS
from torqued.tools.demos.results import Check

GREEN, DARK_GREEN, RED, EMPTY = "#5fbf77", "#1d7a38", "#d43c2f", "#f2f2f2"
SHORT = {"computed_torque": "comp. torque", "wholebody": "whole-body"}
#: The half of a cell that a condition is drawn in.
HALF = {"clean": 0, "told": 0, "file": 0, "late": 1, "rough": 1, "bare": 1, "lab": 1, "loaded": 1}
#: in, of a law's column and of a robot's row.
WIDTH, HEIGHT = 0.5, 0.29
#: Columns of laws that fit beside each other in one band of the picture.
BAND = 32

Run = dict[str, Any]


class Part:
    """One claim about one kind of robots: arms, or those that stand."""

    def __init__(self, claim: Claim, runs: list[Run]) -> None:
        self.claim = claim
        self.robots = list(dict.fromkeys(run["robot"] for run in runs))
        self.runs = [run for run in runs if claim.about(run)]
        about = {run["law"] for run in self.runs}
        self.laws = [law for law in LAWS if law in about]
        self.holds = all(claim.holds(run) for run in self.runs)
        self.named = False  # whether robots are named on its left

    @property
    def width(self) -> float:
        """In columns; titles need some."""
        return max(len(self.laws), 2.0)


def draw(runs: list[Run], checks: dict[str, Check], folder: Path) -> Path:
    """`demo_generalize.png`."""
    bands = arranged(runs)
    rows = [max(len(part.robots) for part in band) for band in bands]
    columns = max(sum(part.width for part in band) + len(band) for band in bands)
    size = 2.0 + WIDTH * columns, 0.8 + sum(HEIGHT * (count + 5) for count in rows)
    figure = pictures.new_figure(*size)
    outer = figure.add_gridspec(len(bands), 1, height_ratios=[count + 5 for count in rows])
    for k, band in enumerate(bands):
        widths = [part.width for part in band]
        inner = outer[k].subgridspec(1, len(band), width_ratios=widths)
        for j, part in enumerate(band):
            draw_part(figure.add_subplot(inner[j]), part, rows[k])
    held = sum(check.holds for check in checks.values())
    robots = len({run["robot"] for run in runs})
    figure.suptitle(
        f"Every law, nothing named, {robots} robots: {held} of {len(checks)} claims hold.  "
        "Left half of a cell: clean, or rotors known.  Right half: what the model lacks.",
        fontsize=14,
        fontweight="bold",
        color=DARK_GREEN if held == len(checks) else RED,
    )
    return pictures.save(figure, folder, "generalize")


def arranged(runs: list[Run]) -> list[list[Part]]:
    """Parts in bands; the first of each kind of robots in a band has their names."""
    arms = [run for run in runs if run["kind"] == "arm"]
    free = [run for run in runs if run["kind"] != "arm"]
    bands: list[list[Part]] = [[]]
    for kind in (arms, free):
        for claim in CLAIMS:
            part = Part(claim, kind)
            if not part.laws:
                continue
            if bands[-1] and sum(item.width for item in bands[-1]) + part.width > BAND + 2:
                bands.append([])
            part.named = all(item.robots != part.robots for item in bands[-1])
            bands[-1].append(part)
    return bands


def draw_part(axes: Axes, part: Part, rows: int) -> None:
    for y, robot in enumerate(part.robots):
        for x, law in enumerate(part.laws):
            mine = [run for run in part.runs if run["robot"] == robot and run["law"] == law]
            draw_cell(axes, part.claim, x, y, mine)
    axes.set_xlim(0, len(part.laws))
    axes.set_ylim(rows + 3.5, -1.5)  # room for the words above and below
    axes.set_xticks([])
    axes.set_yticks(np.arange(len(part.robots)) + 0.5)
    axes.set_yticklabels(part.robots if part.named else [""] * len(part.robots), fontsize=10)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    below: dict[str, Any] = {"rotation": 60, "ha": "right", "va": "top", "rotation_mode": "anchor"}
    for x, law in enumerate(part.laws):
        axes.text(x + 0.6, len(part.robots) + 0.2, SHORT.get(law, law), fontsize=9, **below)
    mark, colour = ("✔", DARK_GREEN) if part.holds else ("✘", RED)
    what, unit = part.claim.title
    title: dict[str, Any] = {"fontsize": 11, "fontweight": "bold", "color": colour, "va": "bottom"}
    axes.text(0.0, -0.8, f"{mark} {what}", **title)
    axes.text(0.0, -0.15, unit, fontsize=9, color=pictures.GREY, va="bottom")


def draw_cell(axes: Axes, claim: Claim, x: int, y: int, mine: list[Run]) -> None:
    """One box where there is one condition only, else two halves."""
    halves = sorted({HALF[run["condition"]] for run in mine})
    if not mine:
        box(axes, x + 0.04, y, 0.92, EMPTY, "")
    width = 0.92 / max(len(halves), 1)
    for k, half in enumerate(halves):
        here = [run for run in mine if HALF[run["condition"]] == half]
        worst = max(here, key=lambda run: (not claim.holds(run), rank(claim, run)))
        if claim.holds(worst):
            box(axes, x + 0.04 + k * width, y, width, GREEN, "")
        else:
            number = claim.number(worst)
            lost = worst["refused"] or worst["ran_away"] or number != number
            text = "✘" if lost else claim.shown(number)
            box(axes, x + 0.04 + k * width, y, width, RED, text)


def box(axes: Axes, left: float, y: int, width: float, colour: str, text: str) -> None:
    axes.add_patch(Rectangle((left, y + 0.06), width, 0.88, facecolor=colour, linewidth=0))
    middle = left + width / 2
    style: dict[str, Any] = {"ha": "center", "va": "center", "color": "white", "fontweight": "bold"}
    axes.text(middle, y + 0.5, text, fontsize=6.5 if width < 0.5 else 8, **style)
