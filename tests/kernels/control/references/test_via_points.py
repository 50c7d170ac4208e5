"""Paths through via points: continuous up to the snap, at their limits, never beyond."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.polynomial import Polynomial

from torqued.kernels.control.references.via_points import excess, fit, quick_times

LIMITS = (np.array([2.0, 1.0, 3.0]), np.array([10.0, 6.0, 20.0]), np.array([200.0, 150.0, 300.0]))


def polynomials(times, p, joint):
    """One polynomial per part, from the six conditions at its ends: an independent solution."""
    v, a = fit(times, p)
    found = []
    for i, h in enumerate(np.diff(times)):
        powers = h ** np.arange(6)
        rates = np.array([0, 1, 2, 3, 4, 5]) * np.append(0.0, powers[:5])
        bends = np.array([0, 0, 2, 6, 12, 20]) * np.append([0.0, 0.0], powers[:4])
        A = np.vstack([np.eye(3, 6) * [[1], [1], [2]], powers, rates, bends])
        ends = [x[k, joint] for k in (i, i + 1) for x in (p, v, a)]
        found.append(Polynomial(np.linalg.solve(A, ends)))
    return found


@pytest.mark.parametrize("seed", range(5))
def test_path_is_continuous_up_to_its_snap_and_rests_at_both_ends(seed):
    rng = np.random.default_rng(seed)
    p, times = rng.uniform(-1, 1, (6, 3)), np.cumsum(np.append(0.0, rng.uniform(0.4, 2.0, 5)))
    for joint in range(3):
        parts = polynomials(times, p, joint)
        for order in range(5):
            for k, (before, after) in enumerate(pairwise(parts)):
                end = before.deriv(order)(times[k + 1] - times[k])
                assert end == pytest.approx(after.deriv(order)(0.0), rel=1e-7, abs=1e-6)
        for order in (1, 2):
            assert parts[0].deriv(order)(0.0) == pytest.approx(0.0, abs=1e-9)
            assert parts[-1].deriv(order)(times[-1] - times[-2]) == pytest.approx(0.0, abs=1e-7)


@given(seed=st.integers(0, 10_000), count=st.integers(2, 12))
@settings(max_examples=25, deadline=None)
def test_quick_times_keep_all_limits_and_reach_one(seed, count):
    p = np.random.default_rng(seed).uniform(-1.5, 1.5, (count, 3))
    times = quick_times(p, LIMITS)
    assert (np.diff(times) > 0.0).all()
    largest = 0.0
    for joint in range(3):
        for part, h in zip(polynomials(times, p, joint), np.diff(times), strict=True):
            t = np.linspace(0.0, h, 400)
            for order, most in enumerate(LIMITS, start=1):
                largest = max(largest, np.abs(part.deriv(order)(t)).max() / most[joint])
    assert 0.85 < largest <= 1.0


def test_single_movement_is_the_quintic_of_least_time():
    """From rest to rest: 15/8, 10/√3 and 60 are the largest rates of the polynomial."""
    way = np.array([[0.0, 0.0, 0.0], [1.0, 0.2, 0.1]])
    x = way[1]
    expected = max(
        float((15 / 8 * x / LIMITS[0]).max()),
        float(np.sqrt(10 / np.sqrt(3) * x / LIMITS[1]).max()),
        float(np.cbrt(60 * x / LIMITS[2]).max()),
    )
    assert quick_times(way, LIMITS)[-1] == pytest.approx(expected, rel=0.03)


def test_excess_is_the_factor_by_which_times_are_too_short():
    p = np.random.default_rng(3).uniform(-1, 1, (5, 3))
    times = quick_times(p, LIMITS)
    fast = tuple(1e9 * limit for limit in LIMITS[1:])
    only_speed = (LIMITS[0], *fast)
    once, twice = (excess(scale * times, p, only_speed) for scale in (1.0, 0.5))
    assert np.allclose(twice, 2.0 * once)
