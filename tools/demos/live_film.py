"""A film strip of the live demo's robot, drawn from what it did when it is over."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from torqued.kernels import Robot
from torqued.kernels.model import catalog
from torqued.kernels.model.description import Array
from torqued.kernels.model.xml_file import read_text
from torqued.tools.demos.live_setup import Setup

if TYPE_CHECKING:
    from rich.console import Console

PICTURES = 6
#: What it takes, by the names that they are imported by.
NEEDED = ("trimesh", "yourdfpy", "PIL")


def draw(console: Console, setup: Setup, log: dict[str, Array], folder: Path) -> None:
    missing = [name for name in NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        advice = f"{missing[0]} is not installed (pip install 'torqued[dash]')"
        console.print(f"no film strip: {advice}", markup=False)
        return
    from torqued.tools.viewers import film
    from torqued.tools.viewers.shapes import shapes_of

    robot = Robot.from_description(setup.description)
    path = catalog.find_urdf(setup.name) if setup.name in catalog.urdf_files() else None
    shapes = shapes_of(robot, read_text(path) if path else "", path)
    rows = np.linspace(0, len(log["time"]) - 1, PICTURES).astype(int)
    strip = film.strip(robot, shapes, log["q"][rows], log["time"][rows].tolist())
    saved = film.save(strip, folder / "demo_live_film.png")
    console.print(f"film strip: {saved}", markup=False)
