"""`torqued bench wbc`: its ticks are those of one motion, and its figures have their shape."""

import json

import numpy as np
import pytest

from torqued.tools.cli.main import main

pytestmark = pytest.mark.slow

pytest.importorskip("pinocchio")


@pytest.fixture(scope="module")
def document(tmp_path_factory):
    path = tmp_path_factory.mktemp("wbc") / "figures.json"
    # An interpreter without TSID: its absence is reported and spoils nothing.
    command = ["bench", "wbc", "--ticks", "60", "--json", str(path), "--tsid", "/bin/false"]
    # Sixty ticks on a busy machine may well miss the budget, which is the code 1.
    assert main([*command, "--plot", str(path.parent)]) in (0, 1)
    assert (path.parent / "wbc.png").stat().st_size > 10_000
    return json.loads(path.read_text())


def test_figures_have_the_documented_shape(document):
    talos = document["talos"]
    for part in ("assembly", "solve", "total"):
        assert 0.0 < talos[part]["p50_us"] <= talos[part]["p99_us"] <= talos[part]["max_us"]
    total = talos["total"]
    assert total["ratio"] == pytest.approx(total["p50_us"] / total["daqp_us"], rel=0.01)
    assert set(talos["daqp"]) == {"cold", "warm", "transformed"}
    assert "machine" in document


def test_program_is_of_the_size_that_the_budget_speaks_of(document):
    assert document["talos"]["size"].startswith("62 variables, 18 equalities, 66 inequalities")


def test_absence_of_tsid_is_told(document):
    assert "missing" in document["talos"]["tsid"]


def test_ticks_are_those_of_one_motion():
    from torqued.benchmarks.wbc_ticks import PERIOD, talos_ticks

    ticks = talos_ticks(40)
    robot = ticks.control.robot
    q = np.array([state[: robot.nq] for state in ticks.states])
    v = np.array([state[robot.nq : robot.nq + robot.nv] for state in ticks.states])
    assert np.abs(v[-1]).max() > 1e-3
    for k in range(39):
        np.testing.assert_allclose(robot.integrate(q[k], v[k + 1], PERIOD), q[k + 1], atol=1e-12)
