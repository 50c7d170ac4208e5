"""When the next state is due: learned from states that come at a rate, more or less."""

import numpy as np
import pytest
from numba import njit

from torqued.server.loop.expected_states import MAX_STRAYS, expect_next
from torqued.server.loop.records import SESSION

MICROSECOND = 1_000
PERIOD = 1_000 * MICROSECOND
LONGEST = 4 * PERIOD


@njit
def learn(sessions, time):
    expect_next(sessions[0], time, LONGEST)
    sessions[0].arrived = time


class Client:
    """States that come at times, ns."""

    def __init__(self):
        self.records = np.zeros(1, SESSION).view(np.recarray)
        self.record, self.time = self.records[0], 0

    def come(self, time):
        """How far the state came from when it was due, ns; 0 where nothing was known."""
        late = time - int(self.record.due) if self.record.interval else 0
        learn(self.records, time)
        self.time = time
        return late

    def come_often(self, count, interval=PERIOD, jitter=None):
        """So many states from now on, each late by its jitter."""
        first, late = self.time, np.zeros(count, np.int64) if jitter is None else jitter
        return [self.come(first + (k + 1) * interval + int(late[k])) for k in range(count)]


@pytest.fixture
def client():
    return Client()


def test_third_state_is_expected_when_it_comes(client):
    assert client.come_often(10)[2:] == [0] * 8
    assert client.record.interval == PERIOD


def test_jitter_neither_moves_the_phase_nor_the_interval(client):
    rng = np.random.default_rng(0)
    jitter = rng.exponential(30 * MICROSECOND, 500)
    late = np.array(client.come_often(500, jitter=jitter))[100:]
    assert abs(client.record.interval - PERIOD) < 10 * MICROSECOND
    # The phase is that of an average state: what is left is about the jitter itself.
    assert late.std() < 1.2 * jitter.std()
    assert 0.5 < client.record.spread / np.abs(late).mean() < 2.0


def test_interval_that_was_learned_wrongly_is_put_right(client):
    client.come(0)
    client.come(PERIOD + 150 * MICROSECOND)  # held up, so that this interval is too long
    client.time = PERIOD
    late = client.come_often(60)
    assert abs(late[-1]) < 5 * MICROSECOND
    assert abs(client.record.interval - PERIOD) < 5 * MICROSECOND


def test_clock_that_drifts_is_followed(client):
    interval = PERIOD + PERIOD // 100
    client.come_often(30)
    late = client.come_often(200, interval)
    assert abs(late[-1]) < 2 * MICROSECOND
    assert abs(client.record.interval - interval) < MICROSECOND


def test_state_that_is_held_up_does_not_move_the_next(client):
    client.come_often(50)
    for held_up in (300 * MICROSECOND, 700 * MICROSECOND):
        client.come(client.time + PERIOD + held_up)
        client.time -= held_up
        late = client.come_often(20)
        assert abs(late[1]) < 50 * MICROSECOND
        assert abs(late[-1]) < 5 * MICROSECOND


def test_lost_states_cost_one_expectation_and_extra_ones_none(client):
    client.come_often(50)
    assert client.come(client.time + 3 * PERIOD) == 2 * PERIOD
    assert client.come_often(2) == [0, 0]
    between = client.time + PERIOD // 3
    client.come(between)
    client.time = between - PERIOD // 3
    assert client.come_often(2) == [0, 0]


@pytest.mark.parametrize(
    "interval", [PERIOD // 4, PERIOD // 3, PERIOD // 2, 2 * PERIOD, 5 * PERIOD // 2]
)
def test_another_rate_is_learned_after_a_few_states(client, interval):
    client.come_often(50)
    late = client.come_often(2 * MAX_STRAYS, interval)
    assert np.abs(late[-2:]).max() < interval // 100
    assert abs(client.record.interval - interval) < interval // 100


def test_after_a_pause_nothing_is_known(client):
    client.come_often(10)
    client.come(client.time + LONGEST + 1)
    assert client.record.interval == 0
    assert client.come_often(5)[2:] == [0] * 3


def test_states_at_any_times_leave_an_interval_that_is_positive(client):
    rng = np.random.default_rng(1)
    for _ in range(20_000):
        client.come(client.time + int(rng.exponential(rng.choice([10, 1e4, 1e6]))))
        record = client.record
        assert record.interval >= 0 and record.spread >= 0
        assert record.due - client.time <= 2 * LONGEST
