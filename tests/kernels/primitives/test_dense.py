"""Cholesky factorization and solve."""

from __future__ import annotations

import numpy as np
import pytest

from support.agreement import assert_agree, largest
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.articulated import OK, SINGULAR


def positive_definite(n: int) -> np.ndarray:
    A = np.random.default_rng(n).normal(size=(n, n))
    return A @ A.T + 0.1 * np.eye(n)


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_factor_is_numpys(n):
    A = positive_definite(n)
    L = A.copy()
    assert COMPILED.cholesky(L) == OK
    assert_agree(np.tril(L), np.linalg.cholesky(A))


def test_upper_triangle_is_neither_read_nor_written():
    A = positive_definite(4)
    L = A.copy()
    upper = np.triu_indices(4, 1)
    L[upper] = np.nan
    assert COMPILED.cholesky(L) == OK
    assert np.isnan(L[upper]).all()
    x = np.ones(4)
    COMPILED.cholesky_solve(L, x)
    assert_agree(A @ x, np.ones(4))


@pytest.mark.parametrize("n", [1, 2, 5, 20])
def test_solution_solves(n):
    A, b = positive_definite(n), np.random.default_rng(0).normal(size=n)
    L, x = A.copy(), b.copy()
    COMPILED.cholesky(L)
    COMPILED.cholesky_solve(L, x)
    assert_agree(A @ x, b, size=largest(A) * largest(x))


@pytest.mark.parametrize(
    "A",
    [
        np.zeros((2, 2)),
        np.diag([1.0, -1.0]),
        np.array([[1.0, 2.0], [2.0, 1.0]]),
        np.diag([1.0, np.nan]),
        np.full((2, 2), np.nan),
    ],
    ids=["zero", "negative", "indefinite", "nan", "all nan"],
)
def test_matrix_without_a_factor_is_told(A):
    assert COMPILED.cholesky(A.copy()) == SINGULAR
