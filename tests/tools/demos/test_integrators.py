"""The integrators demo, briefly: orders, and the drift that the momentum scheme does not have."""

from __future__ import annotations

import argparse
import json

import pytest

from torqued.tools.demos import integrators

pytest.importorskip("mujoco")
pytest.importorskip("matplotlib")


@pytest.mark.slow
def test_orders_and_drifts_are_measured_beside_mujocos(tmp_path, capsys):
    args = argparse.Namespace(seconds=0.1, plot=tmp_path, json=tmp_path / "found.json")
    assert integrators.run(args) == 0
    assert "MuJoCo RK4" in capsys.readouterr().out
    found = json.loads(args.json.read_text())
    assert found["MuJoCo RK4"]["order"] == pytest.approx(4.0, abs=0.2)
    assert found["momentum"]["momentum_drift"] < 1e-14
    assert (tmp_path / "demo_integrators.png").stat().st_size > 10_000
