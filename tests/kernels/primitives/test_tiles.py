"""Sums over rows in registers equal numpy's."""

from __future__ import annotations

import numpy as np
import pytest

from support.agreement import assert_agree
from support.compiled_kernels import from_python
from torqued.kernels.primitives import tiles

product, difference = from_python(tiles.multiply_tile), from_python(tiles.subtract_rows)


@pytest.mark.parametrize("count", [0, 1, 5])
@pytest.mark.parametrize(("i", "j"), [(0, 0), (1, 3), (3, 2)])
def test_tile_is_the_negated_product_over_the_named_rows(count, i, j):
    rng = np.random.default_rng(count)
    W, X, Y = rng.normal(size=(3, 7, 8))
    rows = np.array([6, 0, 2, 5, 3])
    out_X, out_Y = np.full((2, 7, 7), 9.0)
    product(W, X, Y, rows, count, i, j, out_X, out_Y)
    some, tile = rows[:count], (slice(i, i + 4), slice(j, j + 4))
    for out, factor in ((out_X, X), (out_Y, Y)):
        assert_agree(out[tile], -W[some, i : i + 4].T @ factor[some, j : j + 4], size=1.0)
        out[tile] = 9.0
        assert (out == 9.0).all()  # and nothing else is written


def test_rows_are_subtracted_with_their_weights():
    rng = np.random.default_rng(1)
    X, weights = rng.normal(size=(5, 16)), rng.normal(size=(5, 6))
    expected = X.copy()
    expected[4, 8:16] -= weights[2, 1:4] @ X[1:4, 8:16]
    difference(X, 4, 8, weights, 2, 1, 4)
    assert_agree(X, expected)
