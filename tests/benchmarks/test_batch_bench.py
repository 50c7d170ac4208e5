"""`torqued bench batch`: its figures have their shape, and its contenders do the same work."""

import json

import pytest

from torqued.server.cli.main import main

pytestmark = pytest.mark.slow

pytest.importorskip("pinocchio")

KERNELS = ("coriolis", "rnea", "aba")


def test_figures_are_written_and_drawn(tmp_path):
    path = tmp_path / "figures.json"
    command = ["bench", "batch", "--quick", "--states", "50", "--json", str(path)]
    assert main([*command, "--plot", str(tmp_path)]) == 0
    figures = json.loads(path.read_text())
    rows = [figures[name][kernel] for name in ("chain20", "talos") for kernel in KERNELS]
    for row in [*rows, *(figures[name] for name in ("two_cores", "one_state", "daemon"))]:
        assert row["us"] > 0.0
        assert row["ratio"] == pytest.approx(row["us"] / row["beside_us"])
    assert "machine" in figures
    assert (tmp_path / "batch.png").stat().st_size > 5_000
