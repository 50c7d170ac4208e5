"""Distributions of latencies, their comparison and what is written of it."""

import math

import numpy as np
import pytest
from numba import njit

from torqued.benchmarks import latency, rtt
from torqued.benchmarks.bare_loop import bare_latenesses, in_bins
from torqued.benchmarks.latency import Comparison, Histogram, Samples
from torqued.server.loop import session_output
from torqued.server.loop.loop_records import BINS, BINS_PER_OCTAVE, percentile


def comparison(ours=150.0, peer=100.0, ceiling=1.25, share=0.5):
    return Comparison(
        "paced", Samples(np.full(9, ours)), Samples(np.full(9, peer)), share, ceiling, {"ticks": 9}
    )


@pytest.mark.parametrize(("ours", "holds"), [(124.0, True), (125.0, True), (126.0, False)])
def test_budget_holds_up_to_its_ceiling(ours, holds):
    found = comparison(ours)
    assert found.holds is holds
    assert latency.verdict(found) == ("1.25 ✓" if holds else "1.25 ✗")
    assert latency.summary([found]).startswith("budget: kept" if holds else "budget: missed by")


def test_without_a_ceiling_there_is_no_verdict():
    assert comparison(ceiling=None).holds
    assert latency.verdict(comparison(ceiling=None)) == "–"


def test_json_names_the_peer_and_the_percentile_that_is_judged():
    out = comparison().to_json("echo")
    assert out == {
        **{"p50_us": 150.0, "p99_us": 150.0, "max_us": 150.0},
        **{"echo_p50_us": 100.0, "echo_p99_us": 100.0, "echo_max_us": 100.0},
        **{"ratio_p50": 1.5, "ticks": 9},
    }
    assert comparison(share=0.99).to_json("bare")["ratio_p99"] == 1.5


def test_table_has_a_column_for_every_figure():
    table = latency.sheet("title", "echo", [comparison()], ())
    assert all(len(row) == len(table.header) for row in table.rows)


@pytest.mark.parametrize("share", [0.01, 0.5, 0.9, 0.99])
def test_percentiles_of_a_histogram_are_close_to_those_of_its_values(share):
    values = np.random.default_rng(0).lognormal(4.0, 1.0, 20_000)
    bins = in_bins((values * 1e3).astype(np.int64))
    assert percentile(bins, share) == pytest.approx(np.quantile(values, share), rel=0.01)


def test_percentile_of_nothing_is_zero():
    assert percentile(np.zeros(BINS, np.int64), 0.5) == 0.0


def test_histogram_never_exceeds_its_maximum():
    bins = np.zeros(BINS, np.int64)
    bins[100] = 5
    assert Histogram(bins, 77.0).us(0.99) == 77.0


def test_bare_loop_is_counted_in_the_bins_of_the_servo():
    @njit
    def count_all(histogram, values):
        for value in values:
            session_output.count(histogram, value)

    edges = [round(1000 * 2 ** (k / BINS_PER_OCTAVE)) + d for k in range(300) for d in (-2, 2)]
    values = np.array([0, 1, 999, *edges, 10**15], np.int64)
    histogram = np.zeros(BINS, np.int64)
    count_all(histogram, values)
    assert (in_bins(values) == histogram).all()


def test_bare_loop_is_never_early():
    latenesses = bare_latenesses(1_000_000, 20)
    assert len(latenesses) == 20
    assert (latenesses >= 0).all()


def test_paced_exchanges_keep_their_distance(monkeypatch):
    """On a clock of the test's own, where an exchange takes 0.3 ms."""
    now, begun = [0.0], []

    def exchange():
        begun.append(now[0])
        now[0] += 0.3e-3

    def sleep(seconds):
        now[0] += seconds

    monkeypatch.setattr(rtt.time, "monotonic", lambda: now[0])
    monkeypatch.setattr(rtt.time, "perf_counter_ns", lambda: round(now[0] * 1e9))
    monkeypatch.setattr(rtt.time, "sleep", sleep)
    times = rtt.measure(exchange, 10, 1e-3)
    assert times == pytest.approx([300.0] * 10)
    assert np.diff(begun[rtt.WARM_UP :]) == pytest.approx([1e-3] * 9)
    assert math.isclose(begun[rtt.WARM_UP] - begun[rtt.WARM_UP - 1], 1.3e-3)
