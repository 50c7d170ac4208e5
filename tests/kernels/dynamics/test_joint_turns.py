"""Cosines and sines of all coordinates at once."""

from __future__ import annotations

import numpy as np
import pytest

from support.compiled_kernels import from_python
from torqued.kernels.dynamics.joint_turns import fill_turns
from torqued.kernels.primitives.wide import WIDTH

fill = from_python(fill_turns)
COUNTS = [1, 2, WIDTH - 1, WIDTH, WIDTH + 1, 2 * WIDTH - 1, 3 * WIDTH]


@pytest.mark.parametrize("far", [False, True])
@pytest.mark.parametrize("count", COUNTS)
def test_each_coordinate_has_its_own_whatever_its_neighbours_are(count, far):
    """q lies between other numbers, and so do its cosines and sines."""
    q = np.random.default_rng(count).uniform(-50.0, 50.0, count)
    if far:  # beyond what is computed in line
        q[0], q[count // 2], q[-1] = 3e6, np.nan, np.inf
    around, memory = np.full(count + 2 * WIDTH, np.nan), np.full(2 * count + 2 * WIDTH, 9.0)
    around[:count] = q
    fill(around[:count], memory[: 2 * count].reshape(2, count))
    assert (memory[2 * count :] == 9.0).all()
    with np.errstate(invalid="ignore"):
        expected = np.array([np.cos(q), np.sin(q)])
    found = memory[: 2 * count].reshape(2, count)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=3e-16)
