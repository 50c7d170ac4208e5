"""What the ring costs: the verdict goes by the median over turns, not by the worst of them."""

import numpy as np
import pytest

from torqued.benchmarks import budget
from torqued.benchmarks.latency import Comparison, Histogram
from torqued.benchmarks.ring import RingCost
from torqued.server.loop.loop_records import BINS


def histogram(us):
    """A thousand ticks of about so many µs."""
    bins = np.zeros(BINS, np.int64)
    bins[int(16 * np.log2(us))] = 1000
    return Histogram(bins, 2.0 * us)


def cost(ratios, compute=20.0, without=20.0):
    lateness = Comparison("ring", histogram(100.0), histogram(50.0), 0.99)
    turns = np.asarray(ratios, float)
    return RingCost(
        lateness, turns, np.ones(len(turns)), histogram(compute), histogram(without), ("record",)
    )


def test_few_bad_turns_do_not_count():
    found = cost([1.0] * 20 + [40.0] * 9)
    assert found.ratio == 1.0 and found.holds and "✓" in str(found)
    assert found.lateness.ratio == pytest.approx(2.0, rel=0.05)  # over all turns together


def test_median_beyond_the_budget_is_refused():
    found = cost([1.0] * 9 + [budget.RING_LATENESS + 0.01] * 11)
    assert not found.holds and "✗" in str(found)


def test_compute_time_beyond_the_budget_is_refused():
    assert not cost([1.0] * 9, compute=24.0).holds


def test_standard_error_is_that_of_a_median():
    """Of normal numbers: 1.2533 σ / √n."""
    rng = np.random.default_rng(0)
    medians = [np.median(rng.normal(1.0, 0.2, 150)) for _ in range(400)]
    errors = [cost(rng.normal(1.0, 0.2, 150)).error for _ in range(400)]
    assert np.mean(errors) == pytest.approx(np.std(medians), rel=0.15)
