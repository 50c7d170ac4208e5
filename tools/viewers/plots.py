"""Curves on the page, drawn by the browser (uPlot)."""

from __future__ import annotations

import time
from collections.abc import Sequence

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
#: Pixels.
HEIGHT = 170


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
        axes: tuple[str, str] | None = None,
    ) -> None:
        self._handle = server.gui.add_uplot(
            (np.array([-1.0, 0.0]), np.zeros(2)),
            series_of((NOTHING,), ("#00000000",)),
            title=title,
            scales={"x": scale},
            axes=axes and (axis_of(axes[0]), axis_of(axes[1])),
            legend=uplot.Legend(live=False),  # names without numbers beside them
            height=HEIGHT,
            padding=(8, 28, 0, 0),
        )
        self._title = title
        self._server = server
        self._labels: tuple[str, ...] = (NOTHING,)
        self._due = 0.0

    def show(
        self,
        x: Array,
        columns: Columns,
        colors: Sequence[str] = COLORS,
        title: str | None = None,
    ) -> None:
        """New numbers, by their names."""
        if title is not None and title != self._title:
            self._title = self._handle.title = title
        labels = self._choose(columns)
        data = (x, *(np.ascontiguousarray(columns[label]) for label in labels))
        if labels == self._labels:
            self._handle.data = data
            return
        self._labels = labels
        with self._server.atomic():  # as many numbers as curves, at any time
            self._handle.series = series_of(labels, colors)
            self._handle.data = data

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
                **({"fill": colors[k] + "50"} if len(colors) == 2 else {}),
            )
            for k, label in enumerate(labels)
        ),
    )


def axis_of(label: str) -> uplot.Axis:
    """With a small label, and no marks beside the grid's lines."""
    font = "11px sans-serif"
    return uplot.Axis(label=label, labelSize=16, labelFont=font, ticks={"show": False}, size=38)


def scrolling_axis() -> uplot.Scale:
    return uplot.Scale(time=False, range=(-SPAN, 0.0))


def logarithmic_axis() -> uplot.Scale:
    return uplot.Scale(time=False, distr=3)
