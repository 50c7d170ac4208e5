"""The rate of requests per client, on a clock of the test's own."""

import pytest

from torqued.server.access import rate_limits as limits
from torqued.server.access.rate_limits import MAX_CALLERS, RequestRate


@pytest.fixture
def clock(monkeypatch):
    class Clock:
        now = 1000.0

        def monotonic(self):
            return self.now

    clock = Clock()
    monkeypatch.setattr(limits, "time", clock)
    return clock


def counted(rate, client, times):
    """How many of so many requests pass."""
    passed = 0
    for _ in range(times):
        if rate.try_consume(client):
            passed += 1
    return passed


def test_burst_of_one_second_passes_and_no_more(clock):
    assert counted(RequestRate(50.0), b"a", 200) == 50


def test_bucket_fills_again_with_time_but_not_above_one_second(clock):
    rate = RequestRate(50.0)
    assert counted(rate, b"a", 200) == 50
    clock.now += 0.5
    assert counted(rate, b"a", 200) == 25
    clock.now += 100.0
    assert counted(rate, b"a", 200) == 50


def test_steady_requests_at_the_rate_always_pass(clock):
    rate = RequestRate(50.0)
    for _ in range(1000):
        clock.now += 0.02
        assert counted(rate, b"a", 1) == 1


def test_clients_do_not_share_a_bucket(clock):
    rate = RequestRate(50.0)
    assert counted(rate, b"a", 200) == counted(rate, b"b", 200) == 50


def test_refusal_says_how_many_are_allowed():
    refusal = RequestRate(50.0).refusal()
    assert (refusal.code, refusal.expected) == ("rate_limited", "at most 50 per second")


def test_busy_clients_keep_their_buckets_beside_many_others(clock):
    rate = RequestRate(50.0)
    assert counted(rate, b"busy", 200) == 50
    for number in range(3 * MAX_CALLERS):
        rate.try_consume(number.to_bytes(4, "big"))
    assert counted(rate, b"busy", 1) == 0


def test_no_more_clients_are_remembered_than_there_may_be(clock):
    rate = RequestRate(50.0)
    for number in range(3 * MAX_CALLERS):
        assert rate.try_consume(number.to_bytes(4, "big"))
        clock.now += 0.1
    assert 0 < len(rate._full_at) <= MAX_CALLERS
