"""The examples of docs/COORDINATES.md run, and its tables name every chart."""

from __future__ import annotations

import re
from pathlib import Path

from torqued.kernels.charts import CHARTS

TEXT = (Path(__file__).parents[3] / "docs" / "COORDINATES.md").read_text(encoding="utf-8")


def test_the_examples_run():
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.S)
    assert len(blocks) == 7
    names: dict[str, object] = {}
    for block in blocks:
        exec(block, names)


def test_every_chart_is_described():
    for name in CHARTS:
        assert f"| `{name}` |" in TEXT
