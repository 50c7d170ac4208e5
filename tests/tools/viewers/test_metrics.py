"""Durations into bins as Prometheus has them."""

import numpy as np
import pytest

from torqued.tools.viewers.metrics import BINS, Times


def test_bins_hold_their_upper_end_and_what_is_below():
    times = Times()
    times.add(np.array([0, 5_000, 5_001, 10**9, -3]))
    buckets = dict(times.buckets())
    assert buckets["5e-06"] == 3  # below zero is zero
    assert buckets["1e-05"] == 4
    assert buckets[f"{BINS[-1]:g}"] == 4
    assert buckets["+Inf"] == 5
    assert times.sum == pytest.approx(1.0 + 1.0001e-5)
