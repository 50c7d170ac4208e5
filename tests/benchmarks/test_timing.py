"""The stopwatch, on a clock that moves only when a contender runs."""

import gc

import numpy as np
import pytest

from torqued.benchmarks import timing
from torqued.benchmarks.timing import Plan, Times, measure, pooled, window_mean


class FakeClock:
    """Nanoseconds; `work(name, ns)` is a function that takes so long, and `log` who ran."""

    def __init__(self):
        self.now = 0
        self.log = []

    def __call__(self):
        return self.now

    def work(self, name, *durations):
        """Takes the durations in turn, again and again."""
        taken = 0

        def run():
            nonlocal taken
            self.now += durations[taken % len(durations)]
            self.log.append(name)
            taken += 1

        return run, ()


@pytest.fixture
def clock():
    return FakeClock()


def windows(log, calls):
    """Who had each window of `calls` calls and one to warm up."""
    assert len(log) % (calls + 1) == 0
    parts = [set(log[k : k + calls + 1]) for k in range(0, len(log), calls + 1)]
    assert all(len(part) == 1 for part in parts)
    return [part.pop() for part in parts]


def test_window_gives_the_mean_of_its_calls_without_the_first(clock):
    call = clock.work("a", 900_000, 1_000, 2_000, 3_000)
    assert window_mean(call, 3, clock) == pytest.approx(2.0)  # µs


def test_arguments_reach_the_function(clock):
    seen = []
    window_mean((lambda *arguments: seen.append(arguments), (1, "x")), 2, clock)
    assert seen == [(1, "x")] * 3


def test_figure_is_the_tenth_percentile_and_the_median_stands_beside_it():
    times = Times(np.arange(101.0))
    assert times.us == pytest.approx(10.0)
    assert times.median_us == pytest.approx(50.0)


def test_contenders_take_turns_in_alternating_order(clock):
    contenders = {name: [clock.work(name, 1_000)] for name in "ab"}
    measure(contenders, Plan(seconds=0.0, passes=4, calls=5), clock)
    probes, turns = clock.log[:4], windows(clock.log[4:], 5)
    assert probes == ["a", "a", "b", "b"]
    assert turns == ["a", "b", "b", "a", "a", "b", "b", "a"]


def test_every_state_is_measured_equally_often(clock):
    contenders = {name: [clock.work(f"{name}{k}", 1_000) for k in range(3)] for name in "ab"}
    times = measure(contenders, Plan(seconds=0.0, passes=4, calls=5), clock)
    turns = windows(clock.log[4:], 5)
    assert {turn: turns.count(turn) for turn in turns} == dict.fromkeys(
        ["a0", "a1", "a2", "b0", "b1", "b2"], 4
    )
    assert [len(times[name].windows) for name in "ab"] == [12, 12]


def test_contenders_with_different_numbers_of_states_are_refused(clock):
    contenders = {"a": [clock.work("a", 1)], "b": [clock.work("b", 1)] * 2}
    with pytest.raises(ValueError, match="unpack"):
        measure(contenders, Plan(seconds=0.0, passes=1), clock)


def test_measurement_lasts_as_long_as_planned(clock):
    contenders = {"a": [clock.work("a", 10_000)]}
    times = measure(contenders, Plan(seconds=0.01, passes=1, calls=9), clock)
    assert len(times["a"].windows) == 100  # of ten calls, the one to warm up counted


def test_measurement_has_its_passes_however_long_they_take(clock):
    contenders = {"a": [clock.work("a", 10**9)]}
    times = measure(contenders, Plan(seconds=0.001, passes=7), clock)
    assert len(times["a"].windows) == 7


def test_times_are_those_of_each_contender(clock):
    contenders = {"fast": [clock.work("fast", 3_000)], "slow": [clock.work("slow", 7_000)]}
    times = measure(contenders, Plan(seconds=0.0, passes=3), clock)
    assert times["fast"].us == pytest.approx(3.0)
    assert times["slow"].us == pytest.approx(7.0)


def test_sweeps_are_pooled_window_by_window():
    sweeps = [{"a": Times(np.array([1.0, 2.0]))}, {"a": Times(np.array([3.0]))}]
    assert list(pooled(sweeps)["a"].windows) == [1.0, 2.0, 3.0]


@pytest.mark.parametrize(("duration", "calls"), [(1_000, 20), (500_000, 4), (10**8, 1)])
def test_windows_of_slow_calls_are_kept_short(clock, duration, calls):
    contenders = {"slow": [clock.work("slow", duration)], "fast": [clock.work("fast", 100)]}
    assert timing.calls_per_window(contenders, Plan(0.0, 1, calls=20), clock) == calls


def test_one_disturbed_window_does_not_move_the_figure(clock):
    steady = [5_000] * 6 * 20
    disturbed = [*steady[:-6], *[10**7] * 6]
    contenders = {"a": [clock.work("a", 5_000, 5_000, *disturbed)]}
    times = measure(contenders, Plan(seconds=0.0, passes=20, calls=5), clock)["a"]
    assert times.windows.max() > 1_000
    assert times.us == times.median_us == pytest.approx(5.0)


def test_garbage_collection_rests_during_a_measurement_and_returns(clock):
    seen = []

    def work():
        seen.append(gc.isenabled())
        clock.now += 1_000

    measure({"a": [(work, ())]}, Plan(seconds=0.0, passes=1), clock)
    assert set(seen) == {False}
    assert gc.isenabled()


def test_garbage_collection_returns_after_a_failure(clock):
    def fail():
        raise RuntimeError("no result")

    with pytest.raises(RuntimeError, match="no result"):
        measure({"a": [(fail, ())]}, Plan(seconds=0.0, passes=1), clock)
    assert gc.isenabled()
