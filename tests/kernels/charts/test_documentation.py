"""The tables of docs/COORDINATES.md name every chart."""

from __future__ import annotations

import inspect
from pathlib import Path

from torqued import kernels
from torqued.kernels import Robot
from torqued.kernels.charts import CHARTS

TEXT = (Path(__file__).parents[3] / "docs" / "COORDINATES.md").read_text(encoding="utf-8")


#: What takes no coordinates; docs/COORDINATES.md says so.
NATIVE = ["frame_geometric_jacobian", "geometric_derivatives", "inverse_dynamics_rates"]


def test_every_chart_is_described():
    for name in CHARTS:
        assert f"| `{name}` |" in TEXT


def test_every_method_that_computes_at_a_q_takes_coordinates():
    """As the document says, with the one exception that it names."""
    lacking = []
    for name, method in inspect.getmembers(Robot, inspect.isfunction):
        parameters = inspect.signature(method).parameters
        states = {"q", "q0"} & set(parameters)
        if states and not name.startswith("_") and "coordinates" not in parameters:
            lacking.append(name)
    assert lacking == NATIVE
    assert "`inverse_dynamics_rates`" in TEXT


def test_what_robots_are_built_of_is_exported():
    for name in ("Description", "Inertia", "Joint", "Limits", "Link", "Mimic", "Pose"):
        assert getattr(kernels, name).__module__ == "torqued.kernels.model.description"
        assert name in kernels.__all__
