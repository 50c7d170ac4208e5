"""The tables of docs/COORDINATES.md name every chart."""

from __future__ import annotations

from pathlib import Path

from torqued import kernels
from torqued.kernels import Robot
from torqued.kernels.charts import CHARTS
from torqued.kernels.charts.charted_robot import ChartedRobot

TEXT = (Path(__file__).parents[3] / "docs" / "COORDINATES.md").read_text(encoding="utf-8")


def test_every_chart_is_described():
    for name in CHARTS:
        assert f"| `{name}` |" in TEXT


def test_methods_that_no_chart_has_are_named():
    for name in ("frame_geometric_jacobian", "geometric_derivatives", "inverse_dynamics_rates"):
        assert hasattr(Robot, name) and not hasattr(ChartedRobot, name)
        assert f"`{name}`" in TEXT


def test_what_robots_are_built_of_is_exported():
    for name in ("Description", "Inertia", "Joint", "Limits", "Link", "Mimic", "Pose"):
        assert getattr(kernels, name).__module__ == "torqued.kernels.model.description"
        assert name in kernels.__all__
