"""What all pictures have in common."""

from __future__ import annotations

from pathlib import Path

from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure

#: Colours that colour-blind readers tell apart (Okabe and Ito).
BLUE, VERMILION, GREEN, ORANGE, PURPLE, GREY = (
    *("#0072B2", "#D55E00", "#009E73", "#E69F00", "#CC79A7"),
    "#6b6b6b",
)

DPI = 160


def save(figure: Figure, path: Path) -> Path:
    FigureCanvasAgg(figure)
    figure.savefig(path, dpi=DPI)
    return path
