"""The kernels as plain Python: the same numbers, and sweeps that can be counted."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from support import robot_methods
from support.agreement import largest
from support.kernel_calls import example_robot
from torqued.kernels import Robot
from torqued.kernels.model.description import Array

TESTS = Path(robot_methods.__file__).parents[1]

#: Reordered and fused arithmetic may differ from Python's in the last digits.
ROUNDING = 1e-12
#: Where equations are solved, their matrix magnifies that.
SOLVING = (
    "forward_dynamics",
    "forward_dynamics_derivatives",
    "linearize",
    "simulate",
    "solve_mass",
    "contact_dynamics",
    "contact_dynamics_derivatives",
    "friction_dynamics",
    "impact",
)
SOLVED = 1e-9


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Array]:
    """What a process without compiler computes."""
    file = tmp_path_factory.mktemp("plain") / "results.npz"
    subprocess.run(
        [sys.executable, "-W", "error", "-m", "support.robot_methods", str(file)],
        env={**os.environ, "NUMBA_DISABLE_JIT": "1"},
        cwd=TESTS,
        check=True,
    )
    with np.load(file) as saved:
        return dict(saved)


@pytest.fixture(scope="module")
def compiled() -> dict[str, Array]:
    return robot_methods.results()


def test_every_method_is_called_here():
    calls = robot_methods.method_calls(example_robot(), np.random.default_rng(0))
    called = {name.split("-")[0] for name in calls}
    public = {name for name in dir(Robot) if not name.startswith("_")}
    assert public == called | robot_methods.NOT_COMPUTED


def test_plain_python_computes_the_same_quantities(plain, compiled):
    assert {name for name in plain if not name.startswith("sweeps/")} == set(compiled)
    for name, value in compiled.items():
        within = SOLVED if name.split("/")[1].split("-")[0] in SOLVING else ROUNDING
        assert np.isfinite(value).all(), name
        assert largest(plain[name] - value) <= within * max(1.0, largest(value)), name


def test_M_C_g_and_three_jacobians_walk_the_tree_once(plain):
    counts = {name.split("/")[1]: int(n) for name, n in plain.items() if name.startswith("sweeps/")}
    motion = ("body_velocities", "bias_accelerations", "body_accelerations")
    outward = sum(counts[name] for name in motion)
    inward = counts["composite_inertias"] + counts["composite_factors"]
    assert (counts["body_poses"], outward, inward) == (1, 1, 1)
