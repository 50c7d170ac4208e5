"""States one by one in threads: each once, whether the threads turn out to help or not."""

import threading
import time

import numpy as np
import pytest

from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.kernels.batch import slices as module
from torqued.kernels.batch.slices import Slices, bounds

SIZE, COUNT = 16, 400


@pytest.fixture
def slices():
    return Slices(Robot.family("chain", 2), 3, None)


class Counted:
    """Work that counts how often each state is done, and by whom."""

    def __init__(self, seconds=0.0):
        self.times, self.seconds = np.zeros(COUNT, int), seconds
        self.threads = []

    def __call__(self, desk, first, last):
        time.sleep(self.seconds)
        self.times[first:last] += 1
        self.threads.append(threading.current_thread())


def test_the_first_slices_are_the_callers(slices):
    work = Counted()
    slices.run(COUNT, SIZE, work)
    assert (work.times == 1).all()
    assert work.threads[: module.ALONE] == module.ALONE * [threading.current_thread()]


@pytest.mark.parametrize("pays", [0.0, np.inf], ids=["they leave", "they stay"])
def test_all_states_are_done_once_whether_threads_help_or_not(slices, pays, monkeypatch):
    monkeypatch.setattr(module, "PAYS", pays)
    work = Counted(1e-4)
    for _ in range(3):
        work.times[:] = 0
        slices.run(COUNT, SIZE, work)
        assert (work.times == 1).all()


def test_threads_that_do_not_help_take_nothing_more(slices, monkeypatch):
    monkeypatch.setattr(module, "PAYS", 0.0)
    others, told = [], threading.Event()

    def work(desk, first, last):
        if threading.current_thread() is not threading.main_thread():
            others.append(first)
            assert told.wait(60.0)  # until the caller's thread has done all the rest
        elif last == COUNT:
            told.set()

    slices.run(COUNT, SIZE, work)
    assert len(others) <= 2  # the one that each had begun


def test_first_wrong_state_is_told_and_those_before_it_are_done(slices):
    work = Counted()

    def wrong(desk, first, last):
        work(desk, first, last)
        for k in (150, 300):
            if first <= k < last:
                error = InputError(f"state {k}", "q", None, "another")
                raise error

    with pytest.raises(InputError, match=r"^state 150$"):
        slices.run(COUNT, SIZE, wrong)
    assert (work.times[:150] == 1).all() and work.times.max() == 1


def test_other_faults_end_all_threads(slices):
    def faulty(desk, first, last):
        if last > 100:
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        slices.run(COUNT, SIZE, faulty)
    work = Counted()
    slices.run(COUNT, SIZE, work)  # and what comes after them is done
    assert (work.times == 1).all()


def test_progress_grows_up_to_the_end():
    told = []
    slices = Slices(Robot.family("chain", 2), 3, lambda done, total: told.append((done, total)))
    slices.run(COUNT, SIZE, Counted())
    assert told == sorted(told) and told[-1] == (COUNT, COUNT)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("count", [1, SIZE, SIZE + 1, 3 * SIZE, 7 * SIZE + 3, 50 * SIZE])
def test_slices_cover_all_states_once_and_are_small_at_both_ends(count, threads):
    found = bounds(count, SIZE, threads)
    sizes = np.diff(found)
    assert (found[0], found[-1]) == (0, count)
    assert all(0 < size <= SIZE for size in sizes)
    if threads > 1 and count > SIZE:
        assert max(sizes[0], sizes[-1]) <= SIZE // 4
