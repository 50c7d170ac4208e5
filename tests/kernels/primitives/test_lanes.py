"""Operations on four numbers side by side: compiled ones equal those in plain Python."""

from __future__ import annotations

import numpy as np
import pytest

from support.compiled_kernels import from_python
from torqued.kernels.primitives import lanes

FOUR = (1.5, np.nan, -3.0, 4.25)
TILE = tuple(tuple(10.0 * row + column for column in range(4)) for row in range(4))
kept, turned = from_python(lanes.keep4), from_python(lanes.transpose4)


@pytest.mark.parametrize("count", [-(2**40), -1, 0, 1, 2, 3, 4, 5, 2**40])
def test_first_lanes_are_kept_and_the_others_are_zero(count):
    expected = [x if k < count else 0.0 for k, x in enumerate(FOUR)]
    np.testing.assert_array_equal(kept(FOUR, count), expected)
    np.testing.assert_array_equal(lanes._plain_keep4(FOUR, count), expected)


def test_rows_of_a_tile_become_its_columns():
    expected = tuple(zip(*TILE, strict=True))
    assert turned(TILE) == expected
    assert lanes._plain_transpose4(TILE) == expected
