"""`torqued bench batch`: its figures have their shape, and its contenders do the same work."""

import json

import pytest

from torqued.server.cli.main import main

pytestmark = pytest.mark.slow

pytest.importorskip("pinocchio")


def test_figures_are_written_and_drawn(tmp_path):
    path = tmp_path / "figures.json"
    command = ["bench", "batch", "--quick", "--states", "50", "--json", str(path)]
    assert main([*command, "--plot", str(tmp_path)]) == 0
    figures = json.loads(path.read_text())
    chain = figures["chain20"]
    assert set(chain) == {"batch", "single requests", "pinocchio"}
    assert all(part["us"] >= part["best_us"] > 0.0 for part in chain.values())
    assert chain["pinocchio"]["ratio"] == 1.0
    assert "machine" in figures
    assert (tmp_path / "batch.png").stat().st_size > 5_000
