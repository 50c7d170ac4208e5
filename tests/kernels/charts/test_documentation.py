"""The tables of docs/COORDINATES.md name every chart."""

from __future__ import annotations

from pathlib import Path

from torqued.kernels.charts import CHARTS

TEXT = (Path(__file__).parents[3] / "docs" / "COORDINATES.md").read_text(encoding="utf-8")


def test_every_chart_is_described():
    for name in CHARTS:
        assert f"| `{name}` |" in TEXT
