"""`torqued bench batch`: its figures have their shape, and its contenders do the same work."""

import json

import pytest

from torqued.benchmarks import batch_peers
from torqued.kernels import Robot
from torqued.tools.cli.main import main

pytestmark = pytest.mark.slow

pytest.importorskip("pinocchio")

KERNELS = ("coriolis", "rnea", "aba", "rnea_derivatives", "aba_derivatives")


def test_figures_are_written_and_drawn(tmp_path):
    path = tmp_path / "figures.json"
    command = ["bench", "batch", "--quick", "--states", "50", "--json", str(path)]
    assert main([*command, "--plot", str(tmp_path)]) == 0
    figures = json.loads(path.read_text())
    rows = [figures[name][kernel] for name in ("chain20", "talos") for kernel in KERNELS]
    for row in [*rows, *(figures[name] for name in ("two_cores", "daemon"))]:
        assert row["us"] > 0.0
        assert row["ratio"] == pytest.approx(row["us"] / row["beside_us"])
    assert "machine" in figures
    assert (tmp_path / "batch.png").stat().st_size > 5_000


def test_peers_that_are_absent_or_compute_something_else_are_left_out_with_a_word(monkeypatch):
    robot = Robot.family("chain", 20)

    def right(file, names):
        assert file.is_file() and names == list(robot.joint_names)
        return robot.batch().inverse_dynamics

    def wrong(file, names):
        return lambda q, v, a: 1.001 * robot.batch().inverse_dynamics(q, v, a)

    peers = {"no_such_module": right, "numpy": right, "numba": wrong}
    monkeypatch.setattr(batch_peers, "PEERS", peers)
    absent, good, other = batch_peers.rows(9)
    assert absent[1] == (
        "no_such_module is left out: it is not installed (pip install no_such_module)"
    )
    assert not absent[2] and not other[2]
    assert other[1].startswith("numba is left out: its torques differ by 1.0e-03")
    assert [way() for way in good[2].values()] == [9, 9]
