"""The rate of requests per client, on a clock of the test's own."""

import pytest

from torqued.client.errors import OperationError
from torqued.server.access import rate_limits as limits
from torqued.server.access.rate_limits import MANY, RequestRate


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
        try:
            rate.count(client)
            passed += 1
        except OperationError as error:
            assert error.code == "rate_limited"
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


def test_clients_at_rest_are_forgotten_and_busy_ones_are_not(clock):
    rate = RequestRate(50.0)
    for number in range(MANY + 1):
        rate.count(number.to_bytes(4, "big"))
    clock.now += 10.0
    counted(rate, b"busy", 200)
    rate.count(b"new")
    assert set(rate._full_at) == {b"busy", b"new"}
    assert counted(rate, b"busy", 1) == 0
