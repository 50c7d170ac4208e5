"""`torqued bench ik`: its figures have their shape; absent peers are left out, and said."""

import importlib.util
import json

import pytest

from support.robots import robots_folder
from torqued.tools.cli.main import main

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(not robots_folder().exists(), reason="example-robot-data is not installed"),
]


def test_figures_are_written_and_absent_peers_are_told(tmp_path, capsys):
    path = tmp_path / "figures.json"
    command = ["bench", "ik", "--robots", "panda", "--poses", "5", "--json", str(path)]
    assert main(command) == 0
    figures = json.loads(path.read_text())
    row = figures["panda"]["ik"]
    assert row["torqued_success"] == 1.0 and row["us"] > 0.0
    said = capsys.readouterr().out
    for peer in ("pink", "mink"):
        present = importlib.util.find_spec(peer) and importlib.util.find_spec("qpsolvers")
        assert (f"{peer}_us" in row) == bool(present)
        assert (f"{peer} is not installed" in said) == (not present)
    assert "machine" in figures
