"""Torques move with the time of the robot's states, however often and by which thread they are
served."""

import itertools

import numpy as np
import pytest

from support.scripted_session import PERIOD, ScriptedSession
from torqued.common.status import FALLBACK, STALE
from torqued.kernels import Robot
from torqued.server.loop.session_modes import Mode

RATE = 40.0  # N m/s
BEGIN = 7.0  # s, of the robot's clock
ROUNDING = 1e-12


def session_of(clock="loop", **options):
    robot, rate = Robot.family("tree", 8), np.full(8, RATE)
    safety = {"stale_after": 0.02}
    session = ScriptedSession(robot, "pd_plus", safety, clock, rate_limit=rate, **options)
    session.at = BEGIN
    return session


def far(session, sign=1.0):
    """References that take more torque than the rate allows."""
    return {"q_ref": session.q + 0.5 * sign, "v_ref": np.zeros(session.robot.nv)}


def step(session, seconds, sign=1.0, **options):
    """A state, so many seconds of the robot's time after the last, and its tick."""
    session.at += seconds
    session.state(far(session, sign), at=session.at)
    return session.tick(**options)


def largest_step(before, after):
    return np.abs(after.tau - before.tau).max()


def started(clock="loop"):
    session = session_of(clock, reference_limits=False)
    step(session, 0.001)
    return session


def test_ticks_between_states_repeat_the_output():
    session = started()
    last = step(session, 0.001, sign=-1.0)
    for _ in range(5):
        again = session.tick()
        assert np.array_equal(again.tau, last.tau)
        assert again.status == last.status


@pytest.mark.parametrize("seed", range(6))
def test_rate_holds_by_the_time_of_states(seed):
    """States in bursts, late, early, with any number of ticks between them."""
    session, rng = started(), np.random.default_rng(seed)
    last, moved = session.ticks[-1], 0.0
    for _ in range(200):
        seconds = float(rng.choice([1e-4, 5e-4, 1e-3, 2e-3]))
        new = step(session, seconds, rng.choice([-1.0, 1.0]), late=int(rng.integers(0, PERIOD)))
        assert largest_step(last, new) <= RATE * seconds + ROUNDING
        moved, last = max(moved, largest_step(last, new)), new
        if rng.random() < 0.3:
            last = session.tick(int(rng.integers(1, 4)))
    assert moved > 0.9 * RATE * 1e-3  # the rate is what limits


def test_bursts_do_not_count_as_a_part_of_a_period_each():
    session = started()
    first = session.ticks[-1]
    for k in range(8):
        session.loop.tick -= 1  # all within one period
        last = step(session, 2.5e-5, sign=-1.0, late=25_000 * k)
    assert 0.0 < largest_step(first, last) <= RATE * 8 * 2.5e-5 + ROUNDING


def test_stop_moves_torques_no_faster_when_both_threads_serve():
    """The loop's ticks and those of the thread that answers arrivals, turn by turn."""
    session = started()
    session.stop()
    last = session.ticks[-1]
    for _ in range(20):
        session.loop.on_arrival = 1
        new = step(session, 0.001)
        session.loop.tick -= 1
        session.loop.on_arrival = 0
        between = session.tick(late=600_000)
        assert np.array_equal(between.tau, new.tau)
        assert largest_step(last, new) <= RATE * 0.001 + ROUNDING
        last = new


@pytest.mark.parametrize("seconds", [0.0, -3.0, 50.0])
def test_clock_that_jumps_counts_as_the_time_between_ticks(seconds):
    session = started()
    last = step(session, 0.001, sign=-1.0)
    new = step(session, seconds, sign=-1.0)
    assert largest_step(last, new) <= RATE * PERIOD * 1e-9 + ROUNDING
    assert largest_step(last, new) > 0.0


def test_clock_that_runs_ahead_counts_as_a_period_more():
    session = started()
    last = step(session, 0.001, sign=-1.0)
    new = step(session, 0.09, sign=-1.0)
    assert largest_step(last, new) <= RATE * 2 * PERIOD * 1e-9 + ROUNDING


def test_first_state_after_silence_counts_as_one_period():
    session = started()
    last = step(session, 0.001, sign=-1.0)
    last = session.tick(40)  # stale since 20: the clock moves the torque
    assert last.status & STALE
    new = step(session, 0.04)
    assert largest_step(last, new) <= RATE * PERIOD * 1e-9 + ROUNDING


def test_floods_of_refused_states_do_not_hurry_the_fallback():
    session = started()
    last = step(session, 0.001)
    for k in range(10):
        session.state(q=session.q * np.nan)
        session.loop.tick -= 1
        new = session.tick(late=50_000 + k)
    assert largest_step(last, new) <= RATE * 1e-6


def play_in_lock_step(pauses):
    """Torques of a simulation that is served after so many ticks each."""
    session = started("lockstep")
    found = []
    for k, pause in enumerate(pauses):
        session.tick(pause)
        session.move_robot()
        session.at += 0.001
        bad = {"q": session.q * np.nan} if 20 <= k < 50 else {}
        if k == 60:
            session.resume()
        session.state(far(session), at=session.at, **bad)
        found.append(session.tick(late=7919 * k % PERIOD))
    return found


def test_lock_step_gives_the_same_bits_at_any_pace():
    rng = np.random.default_rng(1)
    quick = play_in_lock_step([0] * 80)
    slow = play_in_lock_step(rng.choice([0, 1, 5, 300], 80))
    assert [t.tau.tobytes() for t in slow] == [t.tau.tobytes() for t in quick]
    assert [(t.status, t.mode) for t in slow] == [(t.status, t.mode) for t in quick]
    modes = [t.mode for t in quick]
    assert modes[10] == Mode.FOLLOWING and modes[50] == Mode.FALLBACK and modes[70] != Mode.FALLBACK


def test_lock_step_is_never_stale():
    session = started("lockstep")
    last = step(session, 0.001)
    later = session.tick(5000)
    assert np.array_equal(later.tau, last.tau) and not later.status & (STALE | FALLBACK)


def test_fallback_that_loses_its_states_fades():
    """Over `fade`, as the law's torque does, not as fast as the low-pass allows."""
    session = ScriptedSession(
        Robot.family("tree", 8),
        "gravity",
        {"stale_after": 0.003, "hold": 0.0, "fade": 0.1},
        rate_limit=np.full(8, 1e9),
    )
    session.states(3)
    session.halt()
    session.states(150)  # the fade into the fallback is over
    before = session.ticks[-1].tau
    size = np.abs(before).max()
    shares = [np.abs(session.tick().tau).max() / size for _ in range(130)]
    assert shares[2] == 1.0  # the state is not stale yet
    assert 0.4 < shares[2 + 50] < 0.6
    assert shares[-1] < 1e-6
    assert all(a >= b for a, b in itertools.pairwise(shares))
