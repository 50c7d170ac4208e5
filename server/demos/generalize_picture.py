"""The matrix of outcomes as one picture: a part for each claim, a row for each robot.

A cell is a law; its left half is the clean run, its right half the one with disturbances. Green
holds, red does not and shows its number, white was not run.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.patches import Rectangle

from torqued.server.demos import pictures
from torqued.server.demos.generalize_claims import CLAIMS, Claim, rank
from torqued.server.demos.generalize_robots import LAWS
from torqued.server.demos.results import Check

GREEN, DARK_GREEN, RED, EMPTY = "#5fbf77", "#1d7a38", "#d43c2f", "#f2f2f2"
SHORT = {
    "computed_torque": "comp. torque",
    "wholebody": "whole-body",
}
#: The half of a cell that a condition is drawn in.
HALF = {"clean": 0, "late": 1, "rough": 1}
#: in, of a law's column and of a robot's row.
WIDTH, HEIGHT = 0.44, 0.26


def draw(runs: list[dict[str, Any]], checks: dict[str, Check], folder: Path) -> Path:
    """`demo_generalize.png`."""
    robots = list(dict.fromkeys(run["robot"] for run in runs))
    parts = [claim for claim in CLAIMS if claim.name in checks]
    widths = [max(len(laws_of(claim, runs)), 2.5) for claim in parts]
    figure = pictures.new_figure(
        2.0 + WIDTH * (sum(widths) + len(parts)), 2.3 + HEIGHT * len(robots)
    )
    grid = figure.subplots(1, len(parts), squeeze=False, width_ratios=widths)[0]
    for k, (axes, claim) in enumerate(zip(grid, parts, strict=True)):
        draw_claim(axes, claim, checks[claim.name], runs, robots, k == 0)
    held = sum(check.holds for check in checks.values())
    figure.suptitle(
        f"Every law with nothing named on {len(robots)} robots: {held} of {len(checks)} claims "
        "hold.   Left half of a cell: clean.   Right half: friction, noise, torques 2 ms late, "
        "masses 10 % wrong.",
        fontsize=14,
        fontweight="bold",
        color=DARK_GREEN if held == len(checks) else RED,
    )
    return pictures.save(figure, folder, "generalize")


def draw_claim(
    axes: Axes, claim: Claim, check: Check, runs: list[Any], robots: list[str], names: bool
) -> None:
    about = [run for run in runs if claim.about(run)]
    laws = laws_of(claim, runs)
    for y, robot in enumerate(robots):
        for x, law in enumerate(laws):
            mine = [run for run in about if run["robot"] == robot and run["law"] == law]
            for half in (0, 1):
                draw_half(axes, claim, x, y, half, mine)
    axes.set_xlim(0, len(laws))
    axes.set_ylim(len(robots), 0)
    axes.set_xticks(np.arange(len(laws)) + 0.5)
    axes.set_xticklabels(
        [SHORT.get(law, law) for law in laws],
        rotation=60,
        ha="right",
        fontsize=8,
        rotation_mode="anchor",
    )
    axes.set_yticks(np.arange(len(robots)) + 0.5)
    axes.set_yticklabels(robots if names else [""] * len(robots), fontsize=9)
    axes.tick_params(length=0)
    axes.spines[:].set_visible(False)
    mark, colour = ("✔", DARK_GREEN) if check.holds else ("✘", RED)
    axes.set_title(
        f"{mark} {claim.title}", fontsize=11, fontweight="bold", loc="left", color=colour
    )


def draw_half(axes: Axes, claim: Claim, x: int, y: int, half: int, mine: list[Any]) -> None:
    whole = len({run["condition"] for run in mine}) == 1
    here = [run for run in mine if HALF[run["condition"]] == half]
    if whole and half == 1:
        return
    left, width = x + 0.04 + 0.46 * half, 0.92 if whole else 0.46
    if not here:
        axes.add_patch(Rectangle((left, y + 0.06), width, 0.88, facecolor=EMPTY, linewidth=0))
        return
    worst = max(here, key=lambda run: (not claim.holds(run), rank(claim, run)))
    holds = claim.holds(worst)
    axes.add_patch(
        Rectangle((left, y + 0.06), width, 0.88, facecolor=GREEN if holds else RED, linewidth=0)
    )
    if not holds:
        number = claim.number(worst)
        text = "none" if worst["refused"] or number != number else claim.shown(number)
        axes.text(
            left + width / 2,
            y + 0.5,
            text,
            ha="center",
            va="center",
            fontsize=5.5 if not whole else 7,
            color="white",
            fontweight="bold",
        )


def laws_of(claim: Claim, runs: list[Any]) -> list[str]:
    """Those that a claim is about, in the order of the table."""
    about = {run["law"] for run in runs if claim.about(run)}
    return [law for law in LAWS if law in about]
