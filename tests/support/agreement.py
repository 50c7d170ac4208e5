"""How tests compare numbers: largest difference against largest entry."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

#: What independent computations of one quantity must agree to.
RELATIVE = 1e-10


def largest(values: ArrayLike) -> float:
    """Of the absolute values; 0 where there are none."""
    return float(np.abs(np.asarray(values, dtype=np.float64)).max(initial=0.0))


def assert_agree(
    actual: ArrayLike, expected: ArrayLike, within: float = RELATIVE, size: float = 0.0
) -> None:
    """Same shape, and differences at most `within` times the largest expected entry.

    `size` stands in for it where all entries are smaller: a quantity that may vanish, computed
    as a difference of larger ones, keeps their rounding.
    """
    actual, expected = np.asarray(actual), np.asarray(expected)
    assert actual.shape == expected.shape
    assert np.isfinite(actual).all(), f"not finite: {actual}"
    scale = max(largest(expected), size)
    difference = largest(actual - expected)
    relative = difference / scale if difference > 0.0 else 0.0
    assert relative <= within, f"differ by {relative:.2e} of {scale:.3g}, allowed {within:.0e}"
