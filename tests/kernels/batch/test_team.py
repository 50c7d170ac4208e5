"""Threads that help with a batch, without the interpreter."""

import gc
import os
import threading
import warnings
import weakref

import numpy as np
import pytest
from eventually import eventually

from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.kernels.batch import team as team_module
from torqued.kernels.batch.computation import SLICE
from torqued.kernels.batch.helpers import IDLE, SEAT_BYTES
from torqued.kernels.batch.jobs import Job
from torqued.kernels.batch.sharing import end_of_grain, end_of_window
from torqued.kernels.batch.slices import Desk
from torqued.kernels.batch.team import Team
from torqued.kernels.primitives.layout import FRAME
from torqued.kernels.primitives.wide import WIDTH

COUNT = 4 * SLICE


@pytest.fixture
def robot() -> Robot:
    return Robot.family("chain", 3)


def states(robot, count=COUNT):
    rng = np.random.default_rng(5)
    return tuple(rng.standard_normal((count, robot.nv)) for _ in range(3))


def torques_job(q, v, a):
    """Inverse dynamics, and where its results go."""
    none = np.zeros(0, FRAME), np.zeros((len(q), 0, 6))
    tau = np.full_like(v, np.nan)
    arrays = {"Q": q, "V": v, "A": a, "frames": none[0], "wrenches": none[1], "vectors": tau}
    return Job("batch_inverse_dynamics", arrays), tau


def helped(robot, helpers=1):
    return Team([Desk(robot, 0).wide for _ in range(helpers)])


def test_helpers_alone_compute_a_whole_job(robot):
    given = states(robot)
    job, tau = torques_job(*given)
    team, taken = helped(robot, 2), np.zeros(1, np.int64)
    team.call(2)
    team.post(2, job, taken, COUNT)
    eventually(lambda: taken[0] >= COUNT)
    assert team.settle() == []
    assert np.array_equal(tau, robot.batch(threads=1).inverse_dynamics(*given))


def test_helper_that_gives_up_says_where(robot):
    q, v, a = states(robot)
    v[WIDTH + 3, 1] = np.nan
    job, _ = torques_job(q, v, a)
    team, taken = helped(robot), np.zeros(1, np.int64)
    team.post(1, job, taken, COUNT)
    eventually(lambda: taken[0] > 0)
    assert team.settle() == [WIDTH]
    assert team.settle() == []


def test_what_a_helper_gives_up_is_done_by_the_caller(robot, monkeypatch):
    """As where it is the helper that meets the wrong state."""
    q, v, a = states(robot)
    right = robot.batch(threads=1).inverse_dynamics(q, v, a)
    batch = robot.batch(threads=2)
    settle = Team.settle

    def given_up_at_first(team):
        return settle(team) or ([0] if team is batch.slices.team else [])

    posted = Team.post

    def post_the_rest(team, helpers, job, taken, count):
        """The first states were the helper's, who has given up at once."""
        taken[0] = end_of_grain(0, end_of_window(0, count))
        posted(team, helpers, job, taken, count)

    monkeypatch.setattr(Team, "settle", given_up_at_first)
    monkeypatch.setattr(Team, "post", post_the_rest)
    assert np.array_equal(batch.inverse_dynamics(q, v, a)[WIDTH:], right[WIDTH:])
    v[2, 1] = np.nan
    with pytest.raises(InputError, match=r"^state 2: v\[1\] is nan"):
        batch.inverse_dynamics(q, v, a)


def test_helper_that_is_called_for_nothing_sleeps_again(robot):
    team = helped(robot)
    for _ in range(3):
        team.call(1)
        eventually(lambda: team._seats.state[0] == IDLE)
    job, tau = torques_job(*states(robot))
    taken = np.zeros(1, np.int64)
    team.post(1, job, taken, COUNT)
    eventually(lambda: taken[0] >= COUNT)
    assert team.settle() == [] and np.isfinite(tau).all()


def test_job_that_was_never_settled_is_settled_before_the_next(robot):
    """As after Ctrl-C at a bad moment: its arrays are kept until nobody writes to them."""
    team = helped(robot)
    for _ in range(3):
        job, _ = torques_job(*states(robot))
        team.post(1, job, np.zeros(1, np.int64), COUNT)
        newest = weakref.ref(job)
        del job
        assert newest() is not None
    team.settle()
    assert newest() is None


def test_helpers_end_with_their_team(robot):
    before = set(threading.enumerate())
    team = helped(robot, 3)
    helpers = set(threading.enumerate()) - before
    assert len(helpers) == 3
    job, _ = torques_job(*states(robot))
    team.post(3, job, np.zeros(1, np.int64), COUNT)
    del team
    gc.collect()
    eventually(lambda: not any(helper.is_alive() for helper in helpers))


def test_batch_in_a_forked_process_does_without_the_threads_that_stayed_behind(robot):
    given = states(robot)
    batch = robot.batch(threads=3)
    right = batch.inverse_dynamics(*given)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)  # newer Pythons warn of what is tested
        child = os.fork()
    if child == 0:
        same = np.array_equal(batch.inverse_dynamics(*given), right)
        os._exit(0 if same else 1)
    ended, status = os.waitpid(child, 0)
    assert (ended, status) == (child, 0)


def test_machine_without_futexes_computes_in_the_callers_thread(robot, monkeypatch):
    monkeypatch.setattr(team_module, "FUTEX_CALL", -1)
    before = set(threading.enumerate())
    given = states(robot)
    batch = robot.batch(threads=3)
    assert np.array_equal(
        batch.inverse_dynamics(*given), robot.batch(threads=1).inverse_dynamics(*given)
    )
    assert set(threading.enumerate()) <= before


def test_no_two_helpers_share_a_line(robot):
    assert SEAT_BYTES % 128 == 0
    assert helped(robot, 2)._first % SEAT_BYTES == 0
