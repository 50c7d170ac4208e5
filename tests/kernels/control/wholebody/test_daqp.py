"""DAQP through its C functions: known answers, refusals, and problems that change their size."""

import numpy as np
import pytest

from torqued.kernels.compilation.jit import entry
from torqued.kernels.control.wholebody import daqp as solver
from torqued.kernels.control.wholebody.daqp import (
    EQUALITY,
    IGNORED,
    INEQUALITY,
    INFEASIBLE,
    UNBOUNDED,
    LeastDistance,
)
from torqued.kernels.primitives.layout import INTEGER


@entry(INTEGER, INTEGER, INTEGER)
def solve_for_test(address, n, m):
    record = solver.carray(solver.pointer(address), 1, solver.SOLVER)[0]
    return solver.least_distance(record, n, m)


def solve(problem, rows, lower, upper, sense):
    m, n = np.shape(rows)
    problem.A[: m * n] = np.ravel(rows)
    problem.lower[:m], problem.upper[:m], problem.sense[:m] = lower, upper, sense
    flag = solve_for_test(problem.record.ctypes.data, n, m)
    return flag, problem.u[:n].copy(), problem.dual[:m].copy()


def test_nearest_point_of_a_half_space():
    problem = LeastDistance(2, 1, 100)
    flag, u, dual = solve(problem, [[1.0, 1.0]], [2.0], [UNBOUNDED], [INEQUALITY])
    assert flag == 1
    np.testing.assert_allclose(u, [1.0, 1.0], atol=1e-9)
    np.testing.assert_allclose(u, -np.array([[1.0, 1.0]]).T @ dual, atol=1e-9)


def test_problems_may_change_their_size_within_the_memory():
    problem = LeastDistance(5, 7, 100)
    rng = np.random.default_rng(0)
    for n, m in ((5, 7), (2, 3), (4, 1), (5, 7), (3, 6)):
        point = rng.normal(size=n)
        rows = rng.normal(size=(m, n))
        upper = rows @ point + 0.1 * rng.random(m)
        flag, u, dual = solve(problem, rows, -UNBOUNDED, upper, INEQUALITY)
        assert flag == 1
        assert (rows @ u <= upper + 1e-8).all()
        assert (dual >= 0.0).all()
        np.testing.assert_allclose(u, -rows.T @ dual, atol=1e-8)
        assert np.abs(dual * (upper - rows @ u)).max() < 1e-8


def test_contradiction_is_gone_without_one_of_its_rows():
    problem = LeastDistance(2, 3, 100)
    rows = [[1.0, 0.0], [0.0, 1.0], [1.0, 0.0]]
    sense = [EQUALITY, INEQUALITY, INEQUALITY]
    bounds = [1.0, -1.0, 2.0], [1.0, 1.0, 3.0]
    flag, _, _ = solve(problem, rows, *bounds, sense)
    assert flag == INFEASIBLE
    flag, u, _ = solve(problem, rows, *bounds, [EQUALITY, INEQUALITY, IGNORED])
    assert flag == 1
    np.testing.assert_allclose(u, [1.0, 0.0], atol=1e-9)


def test_installed_library_is_the_one_expected():
    solver.require_daqp.cache_clear()
    solver.require_daqp()


@pytest.mark.parametrize("version", ["0.9.1", "0.12.0", "1.10.0"])
def test_a_library_of_an_unknown_version_is_refused(monkeypatch, version):
    solver.require_daqp.cache_clear()
    monkeypatch.setattr(solver, "_version", lambda: version)
    words = rf"DAQP {version} is not supported: install 0.10 to 0.11"
    with pytest.raises(solver.SolverError, match=words):
        solver.require_daqp()
    solver.require_daqp.cache_clear()


def test_settings_in_another_layout_are_refused_before_they_are_written(monkeypatch):
    fields = [("new_in_another_version", "f8"), *solver.SETTINGS.descr[:-1]]
    monkeypatch.setattr(solver, "SETTINGS", np.dtype(fields, align=True))
    with pytest.raises(solver.SolverError, match="unexpected settings"):
        LeastDistance(2, 1, 100)


def test_a_library_that_computes_something_else_is_refused(monkeypatch):
    solver.require_daqp.cache_clear()
    monkeypatch.setattr(solver, "_UPDATE", 8)  # as if the masks had got other meanings
    with pytest.raises(solver.SolverError, match="fails a known problem"):
        solver.require_daqp()
    solver.require_daqp.cache_clear()
