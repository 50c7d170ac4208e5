"""The demo on a robot whose equations fit on a page: two links that turn in a plane."""

import numpy as np
import pytest

from torqued.kernels.model import catalog
from torqued.tools.cli import compile
from torqued.tools.cli.main import main
from torqued.tools.demos import identities as demo


class TwoLinkArm:
    """M = [[2.5 + 2 cos q₂, 1 + cos q₂], [1 + cos q₂, 1]] and what follows from it; no gravity."""

    nq = nv = 2

    def random_state(self, rng):
        return rng.uniform(-1, 1, 2), rng.uniform(-1, 1, 2)

    def mass_matrix(self, q):
        c = np.cos(q[1])
        return np.array([[2.5 + 2 * c, 1 + c], [1 + c, 1.0]])

    def mass_matrix_rate(self, q, v):
        return -np.sin(q[1]) * v[1] * np.array([[2.0, 1.0], [1.0, 0.0]])

    def christoffel(self, q):
        h = -np.sin(q[1])
        return h * np.array([[[0.0, 1.0], [1.0, 1.0]], [[-1.0, 0.0], [0.0, 0.0]]])

    def coriolis_matrix(self, q, v):
        h = -np.sin(q[1])
        return h * np.array([[v[1], v[0] + v[1]], [-v[0], 0.0]])

    def gravity(self, q):
        return np.zeros(2)

    def bias(self, q, v):
        return self.coriolis_matrix(q, v) @ v

    def inverse_dynamics(self, q, v, a):
        h = -np.sin(q[1])
        return self.mass_matrix(q) @ a + h * np.array([2 * v[0] * v[1] + v[1] ** 2, -(v[0] ** 2)])

    def forward_dynamics(self, q, v, tau):
        return np.linalg.solve(self.mass_matrix(q), tau - self.bias(q, v))


class ArmWithAnotherCoriolisMatrix(TwoLinkArm):
    """C v is the same, Ṁ = C + Cᵀ is not."""

    def coriolis_matrix(self, q, v):
        return super().coriolis_matrix(q, v) + np.outer([1.0, 0.0], [v[1], -v[0]])


class ArmWithNotANumber(TwoLinkArm):
    def christoffel(self, q):
        return super().christoffel(q) * np.nan


@pytest.fixture
def show(monkeypatch, capsys):
    """Exit code and text of the demo for a given robot."""

    def show(robot):
        monkeypatch.setenv("COLUMNS", "100")
        monkeypatch.setattr(catalog, "load", lambda name, base: robot)
        monkeypatch.setattr(compile, "compile_with_progress", lambda console: 0)
        monkeypatch.setattr(demo, "microseconds", lambda call: (call(), 1.0)[1])
        return main(["demo", "identities"]), capsys.readouterr().out

    return show


def test_demo_of_a_sound_robot_succeeds(show):
    code, out = show(TwoLinkArm())
    assert code == 0
    assert out.count("holds") == 5
    assert "BROKEN" not in out
    assert "M: mass matrix, 2 × 2" in out


def test_demo_fails_when_an_identity_is_broken(show):
    code, out = show(ArmWithAnotherCoriolisMatrix())
    assert code == 1
    broken = [line for line in out.splitlines() if "BROKEN" in line]
    assert len(broken) == 2  # C v is right all the same
    assert "Ṁ = C + Cᵀ" in broken[0]
    assert "Γ" in broken[1]


def test_demo_fails_when_a_number_is_not_one(show):
    code, out = show(ArmWithNotANumber())
    assert code == 1
    assert out.count("BROKEN") == 1


def test_large_matrix_shows_its_corner():
    title, table = demo.matrix_table("M", "mass matrix", np.eye(30))
    assert title.strip() == "M: mass matrix, 30 × 30, its first 9 rows and columns"
    assert table.row_count == len(table.columns) == demo.SHOWN


def test_timing_is_of_one_call(monkeypatch):
    now = [0.0]
    monkeypatch.setattr(demo.time, "perf_counter", lambda: now[0])
    monkeypatch.setattr(demo.time, "perf_counter_ns", lambda: round(1e9 * now[0]))

    def call():
        now[0] += 0.002

    assert demo.microseconds(call, seconds=0.05) == pytest.approx(2000.0)
