"""How old outputs are when they are read, and what becomes of old ones."""

import threading
import time

import numpy as np
import pytest

from support.daemons import daemon_of
from support.eventually import PATIENCE, eventually
from torqued.client import Client, TimeoutError
from torqued.client.sessions.freshness import Freshness


class TestAges:
    def test_same_clock_is_exact_from_the_first_output_on(self):
        assert Freshness(same_clock=True).age(100.0, 105.0) == 5.0

    def test_other_clock_counts_from_the_fastest(self):
        ages = Freshness(same_clock=False)
        found = [ages.age(10.0 + t, 900.0 + t + late) for t, late in ((0, 0.3), (1, 0.1), (2, 0.6))]
        assert found == pytest.approx([0.0, 0.0, 0.5], abs=1e-3)

    def test_slow_clock_of_the_daemon_is_not_age(self):
        ages = Freshness(same_clock=False)
        assert max(ages.age(t, 900.0 + t * (1 + 1e-4)) for t in np.arange(0.0, 3600.0, 0.1)) < 1e-4

    def test_outputs_out_of_order_do_not_count_as_drift(self):
        ages = Freshness(same_clock=False)
        assert ages.age(10.0, 910.0) == 0.0
        assert ages.age(9.0, 910.0) == pytest.approx(1.0, abs=1e-3)


daemon = daemon_of("chain4")


@pytest.fixture
def session(daemon):
    with daemon.client() as client, client.session("gravity") as session:
        yield session


Q, V = np.full(4, 0.3), np.zeros(4)


def test_client_that_pauses_gets_the_newest_output_and_not_the_next(daemon, session):
    session.step(Q, V)
    first = session.receive()
    with daemon.client() as client:
        eventually(lambda: client.stats().servo["tick"] > first.tick + 100)
    assert session.receive().tick > first.tick + 1


def test_client_that_reads_too_slowly_skips_outputs(session):
    """In a queue each would follow the one before it."""
    session.step(Q, V)
    ticks = []
    for _ in range(100):
        time.sleep(0.004)
        ticks.append(session.receive().tick)
    assert max(np.diff(ticks)) > 1


def test_output_that_is_too_old_is_passed_over_and_counted(session):
    session.step(Q, V)
    session.max_output_age = -1.0
    late = session.late  # a busy machine's `step` may have passed some over
    deadline = time.monotonic() + PATIENCE
    while session.late == late:
        assert session.latest() is None
        assert time.monotonic() < deadline
    assert session.late == late + 1
    session.max_output_age = 10.0
    assert session.receive().tau.any()


def test_step_after_a_state_that_is_refused_returns_at_once_with_the_reason(session):
    session.step(Q, V)
    output = session.step(Q * np.nan, V)
    assert output.status_names == ["FALLBACK", "NONFINITE"]
    assert (output.seen, output.sequence) == (2, 1)


def test_step_while_the_session_ends_returns_the_last_frame(daemon):
    with daemon.client() as client, daemon.client() as other:
        session = client.session("gravity")
        session.step(Q, V)
        other.call("close", session=session.number)
        output = session.step(Q, V)
        assert output.is_last
        assert output.status_names == ["FALLBACK", "LAST"]
        assert not output.tau.any()


def test_step_while_the_daemon_stops_returns_the_last_frame(another):
    daemon = another("--robot", "chain4").start()
    with daemon.client() as client:
        session = client.session("gravity")
        session.step(Q, V)
        stopping = threading.Thread(target=daemon.stop)
        stopping.start()
        while not (output := session.step(Q, V)).is_last:
            pass
        stopping.join()
        assert not output.tau.any()
        client.timeout = 0.1


def test_session_shows_what_it_is(session):
    shown = repr(session)
    assert "gravity at 1000 Hz" in shown and "damping" in shown and "tau" in shown
    assert np.array_equal(session.gains["damping"], np.zeros((4, 4)))
    session.tune({"damping": 2.0}, over=0.0)
    assert np.array_equal(session.gains["damping"], 2.0 * np.eye(4))


def test_session_waits_as_long_as_the_daemon_holds_a_torque(daemon):
    """By default; a simulation may wait."""
    with Client(daemon.endpoint) as client:
        assert client.timeout == 1.0
        opened = client.call("open", law="gravity")
        client.close_session(opened.session)
        with client.session("gravity") as session:
            assert session.timeout == opened.stale_after + opened.hold
        with client.session("gravity", hold=0.5) as session:
            assert session.timeout == opened.stale_after + 0.5
        with client.session("gravity", clock="lockstep") as session:
            assert session.timeout > 1.0


def test_session_waits_as_long_as_its_client_unless_it_is_given_a_time(daemon):
    with Client(daemon.endpoint, timeout=7.5) as client, client.session("gravity") as session:
        assert session.timeout == 7.5
        session.timeout, session.max_output_age = 0.05, -1.0  # every output is too old
        for given, waited in (((), 0.05), ((0.01,), 0.01)):
            with pytest.raises(TimeoutError, match=f"within {waited} s"):
                session.receive(*given)
