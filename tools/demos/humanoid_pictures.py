"""Pictures of the experiment with a humanoid."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.tools.demos import pictures
from torqued.tools.demos.humanoid_pushes import LAWS, Recovered
from torqued.tools.demos.humanoid_robot import SOLE
from torqued.tools.demos.humanoid_story import PHASES, Story
from torqued.tools.demos.lockstep import Log
from torqued.tools.demos.pictures import BLUE, GREEN, GREY, ORANGE, VERMILION

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

NAMES = ("left sole", "right sole", "hand")
COLOURS = (BLUE, VERMILION, GREEN)
#: Of pairs of phases, behind the curves.
SHADES = ("#f3f3f3", "#ffffff")
#: Records that are drawn: one in so many.
EVERY = 10


def shade(axes: Axes, end: float, named: bool) -> None:
    """Phases behind the curves, their names above."""
    ends = [*list(PHASES.values())[1:], end]
    for k, ((name, begin), until) in enumerate(zip(PHASES.items(), ends, strict=True)):
        if begin >= end:
            break
        until = min(until, end)
        axes.axvspan(begin, until, color=SHADES[k % 2], zorder=0)
        if named:
            axes.annotate(
                name,
                (0.5 * (begin + until), 1.0),
                (0, 4),
                xycoords=("data", "axes fraction"),
                textcoords="offset points",
                rotation=32,
                fontsize=8,
            )


def draw_story(log: Log, story: Story, folder: Path) -> Path:
    """Center of mass, heights, forces and torques over time."""
    figure: Figure = pictures.new_figure(9.0, 8.6)
    com, height, feet, hand = figure.subplots(4, 1, sharex=True, height_ratios=(1.3, 0.8, 1.0, 0.8))
    some = slice(None, None, EVERY)
    t = log["time"][some]
    for k, (word, colour) in enumerate((("forward", BLUE), ("to the left", ORANGE))):
        com.plot(t, 100 * log["com"][some, k], color=colour, lw=1.8, label=word)
        com.plot(t, 100 * log["com_wanted"][some, k], color="black", lw=0.8, ls=":")
    com.axhline(100 * story.toes, color=GREY, lw=1.0, ls="--")
    com.annotate("toes", (0.1, 100 * story.toes), (0, 3), textcoords="offset points", fontsize=8)
    soles = log["places"][0, 0, 1]
    com.axhline(100 * (soles - SOLE[1]), color=ORANGE, lw=1.0, ls="--")
    inner = (0.1, 100 * (soles - SOLE[1]))
    com.annotate("left sole's inner edge", inner, (0, 3), textcoords="offset points", fontsize=8)
    height.plot(t, 100 * log["places"][some, 1, 2], color=VERMILION, lw=1.8, label="right sole")
    gap = 100 * (story.grip - log["places"][some, 2, 0])
    height.plot(t, gap, color=GREEN, lw=1.8, label="hand, before the pillar")
    for k in (0, 1):
        feet.plot(t, log["felt"][some, k, 2], color=COLOURS[k], lw=1.2, label=NAMES[k])
    hand.plot(t, -log["felt"][some, 2, 0], color=GREEN, lw=1.2, label="normal")
    across = np.hypot(log["felt"][some, 2, 1], log["felt"][some, 2, 2])
    hand.plot(t, across, color=GREY, lw=1.0, label="along the surface")
    pictures.plain(com, "center of mass; dotted: wanted", y="cm")
    pictures.plain(height, "right sole above the floor, hand before the pillar", y="cm")
    pictures.plain(feet, "forces on the soles, as MuJoCo has them", y="N")
    pictures.plain(hand, "force on the hand", "s", "N")
    for k, axes in enumerate((com, height, feet, hand)):
        shade(axes, float(log["time"][-1]), named=k == 0)
        axes.grid(False, axis="x")
        axes.set_xlim(0.0, float(log["time"][-1]))
    com.set_title(com.get_title(loc="left"), fontsize=10, fontweight="bold", loc="left", pad=66)
    height.set_ylim(-2, 45)
    feet.set_ylim(-40, 1100)
    hand.set_ylim(-3, 60)
    for axes in (com, height, feet, hand):
        axes.legend(frameon=False, fontsize=8, ncols=2, loc="upper left")
    return pictures.save(figure, folder, "humanoid")


def draw_pushes(found: list[Recovered], folder: Path) -> Path:
    """By direction, seen from above; the right side mirrors the left one."""
    figure: Figure = pictures.new_figure(6.5, 6.2)
    axes: Any = figure.add_subplot(projection="polar")
    axes.set_theta_zero_location("N")

    def closed(values: dict[float, float]) -> tuple[list[float], list[float]]:
        angles = sorted(values)
        round_trip = angles + [-angle for angle in reversed(angles)]
        return np.radians(round_trip).tolist(), [values[abs(angle)] for angle in round_trip]

    # Numbers stand outside of their line for one law, inside for the other, along the same ray.
    for law, colour, offset in zip(LAWS, (BLUE, ORANGE), (7.0, -5.5), strict=True):
        values = {item.direction: item.impulse for item in found if item.law == law}
        if values:
            axes.plot(*closed(values), "o-", color=colour, lw=1.8, ms=5, label=law)
        for angle, value in values.items():
            place = (np.radians(angle), value + offset)
            text = {"ha": "center", "va": "center", "fontsize": 9, "color": colour}
            axes.text(*place, f"{value:.0f}", **text)
    ankles = {item.direction: item.ankles for item in found}
    axes.plot(*closed(ankles), "--", color=GREY, lw=1.2, label="ankles alone (linear pendulum)")
    axes.set_thetagrids([0, 90, 180, 270], ["forward", "left", "backward", "right"])
    axes.set_rgrids([20, 40, 60], ["20", "", "60 N s"], angle=-67.5, fontsize=8, color=GREY)
    axes.set_ylim(0.0, 62.0)
    axes.grid(color="#dddddd")
    axes.set_title("largest impulse at the pelvis that is recovered, N s", fontsize=10, pad=14)
    figure.legend(frameon=False, fontsize=9, ncols=3, loc="outside lower center")
    return pictures.save(figure, folder, "humanoid_pushes")
