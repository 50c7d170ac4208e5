"""Curves on the page, drawn by the browser (uPlot)."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

import numpy as np
import viser
from numpy.typing import NDArray
from viser import uplot

from torqued.tools.viewers.history import SPAN

Array = NDArray[np.float64]
#: Numbers over one axis, by name.
Columns = dict[str, Array]
#: Shown instead of curves if there is no session, or its law has none.
NOTHING = "nothing to draw"
EMPTY: tuple[Array, Columns] = (np.array([-1.0, 0.0]), {NOTHING: np.zeros(2)})

COLORS = (
    *("#4e79a7", "#f28e2b", "#e15759", "#76b7b2", "#59a14f"),
    *("#edc948", "#b07aa1", "#ff9da7", "#9c755f", "#79706e"),
)
#: Curves that a plot has at most, and s for which it keeps to those that it has chosen.
MAX_CURVES, KEEPS = 8, 5.0
#: Pixels: of a plot; of its numbers below; of those to the left, as long as "-999.005".
HEIGHT, BELOW, LEFT = 170, 38, 62
#: Before units, by exponent. The browser's numbers have three digits after the point: curves are
#: drawn in units of which they reach at least one, and rounded to what such numbers tell apart.
PREFIXES = {-9: "n", -6: "µ", -3: "m", 0: "", 3: "k", 6: "M", 9: "G"}
DIGITS, MAX_NUMBER = 2, 1e4


class Plot:
    """Curves over one axis.

    A browser draws new numbers quickly, but rebuilds the whole plot when its curves change:
    they are compared, and of many curves those that move most stay for a while.
    """

    def __init__(
        self,
        server: viser.ViserServer,
        title: str,
        scale: uplot.Scale,
        axes: tuple[str | None, str | None] = (None, None),
    ) -> None:
        self._handle = server.gui.add_uplot(
            (np.array([-1.0, 0.0]), np.zeros(2)),
            series_of((NOTHING,), ("#00000000",)),
            title=title,
            scales={"x": scale},
            axes=(axis_of(BELOW, axes[0]), axis_of(LEFT, axes[1])),
            legend=uplot.Legend(live=False),  # names without numbers beside them
            height=HEIGHT,
            padding=(8, 28, 0, 0),
        )
        self._title = title
        self._server = server
        self._labels: tuple[str, ...] = (NOTHING,)
        self._due = 0.0
        self._exponent = 0

    def show(
        self,
        x: Array,
        columns: Columns,
        colors: Sequence[str] = COLORS,
        titled: Callable[[str], str] | None = None,
    ) -> None:
        """New numbers, by their names; with a title, which depends on their units' prefix, in
        units of their size."""
        labels = self._choose(columns)
        curves = np.array([columns[label] for label in labels])
        title = self._title
        if titled is not None:
            self._exponent = exponent_of(curves, self._exponent)
            curves = np.round(curves * 10.0**-self._exponent, DIGITS)
            title = titled(PREFIXES[self._exponent])
        with self._server.atomic():  # as many numbers as curves, in these units, at any time
            if title != self._title:
                self._title = self._handle.title = title
            if labels != self._labels:
                self._labels = labels
                self._handle.series = series_of(labels, colors)
            self._handle.data = (x, *curves)

    def _choose(self, columns: Columns) -> tuple[str, ...]:
        if len(columns) <= MAX_CURVES:
            return tuple(columns)
        now = time.monotonic()
        if now < self._due and all(label in columns for label in self._labels):
            return self._labels
        self._due = now + KEEPS
        largest = sorted(columns, key=lambda label: -float(np.ptp(columns[label])))[:MAX_CURVES]
        return tuple(label for label in columns if label in largest)


def series_of(labels: Sequence[str], colors: Sequence[str]) -> tuple[uplot.Series, ...]:
    return (
        uplot.Series(label="s"),
        *(
            uplot.Series(
                label=label,
                stroke=colors[k % len(colors)],
                width=1.5,
                points={"show": False},
                **({"fill": colors[k] + "50"} if len(colors) == 2 else {}),
            )
            for k, label in enumerate(labels)
        ),
    )


def exponent_of(curves: Array, now: int) -> int:
    """That in which curves reach 1 and stay below 1000; the present one, if it is still legible."""
    largest = float(np.max(np.abs(curves), where=np.isfinite(curves), initial=0.0))
    if largest == 0.0 or 1.0 <= largest * 10.0**-now < MAX_NUMBER:
        return now
    return int(np.clip(3 * np.floor(np.log10(largest) / 3), min(PREFIXES), max(PREFIXES)))


def axis_of(size: int, label: str | None) -> uplot.Axis:
    """With room for its numbers, a small label, and no marks beside the grid's lines."""
    axis = uplot.Axis(ticks={"show": False}, size=size)
    if label is not None:
        axis |= uplot.Axis(label=label, labelSize=16, labelFont="11px sans-serif")
    return axis


def scrolling_axis() -> uplot.Scale:
    return uplot.Scale(time=False, range=(-SPAN, 0.0))


def logarithmic_axis() -> uplot.Scale:
    return uplot.Scale(time=False, distr=3)
