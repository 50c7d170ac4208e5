"""What all pictures of experiments share. Colours are those of the benchmarks' figures."""

from __future__ import annotations

from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from torqued.tools.demos.lockstep import Log

#: Colours that colour-blind readers can distinguish (Okabe and Ito).
BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, YELLOW, GREY = (
    *("#0072B2", "#D55E00", "#009E73", "#E69F00"),
    *("#CC79A7", "#56B4E9", "#F0E442", "#6b6b6b"),
)
COLOURS = (BLUE, VERMILION, GREEN, ORANGE, PURPLE, SKY, "black")

DPI = 110
#: Colours in a file: enough for lines and text, and a third of the size.
SHADES = 64


def new_figure(width: float, height: float) -> Figure:
    return Figure(figsize=(width, height), layout="constrained")


def plain(axes: Axes, title: str, x: str = "", y: str = "", legend: int = 0) -> None:
    """Title and labels, a light grid, no box; a legend with so many columns."""
    axes.set_title(title, fontsize=10, fontweight="bold", loc="left")
    axes.set_xlabel(x)
    axes.set_ylabel(y)
    axes.grid(True, color="#dddddd", linewidth=0.8)
    axes.set_axisbelow(True)
    axes.spines[["top", "right"]].set_visible(False)
    if legend:
        axes.legend(frameon=False, fontsize=8, ncols=legend, loc="upper right")


def draw_error(axes: Axes, log: Log, colour: str, label: str) -> None:
    """RMS over all joints of the tracking error, mrad, over time."""
    size = 1e3 * np.sqrt(np.mean(log["error"] ** 2, axis=1))
    axes.semilogy(log["time"], size, color=colour, lw=1.3, label=label)


def save(figure: Figure, folder: Path, name: str) -> Path:
    """Write the picture; creates the folder if necessary."""
    folder.mkdir(parents=True, exist_ok=True)
    FigureCanvasAgg(figure)
    drawn = BytesIO()
    figure.savefig(drawn, dpi=DPI, format="png")
    path = folder / f"demo_{name}.png"
    Image.open(drawn).convert("RGB").quantize(SHADES).save(path, optimize=True)
    return path
