"""Threads of a batch: each state once, errors of the first one, and an end of all threads' work."""

import signal
import threading
from concurrent.futures import wait

import numpy as np
import pytest

from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.kernels.batch import worker_pool
from torqued.kernels.batch.worker_pool import Grain, WorkerPool, split

GRAIN, COUNT = Grain(step=4, piece=16, share=32), 403


@pytest.fixture
def pool():
    return WorkerPool(Robot.family("chain", 2), 3)


class Counted:
    """Work that counts how often each state is done."""

    def __init__(self):
        self.times = np.zeros(COUNT, int)

    def __call__(self, scratch, first, last):
        self.times[first:last] += 1


@pytest.mark.parametrize("count", [1, 4, 33, COUNT])
def test_all_states_are_done_once(pool, count):
    work = Counted()
    pool.run(count, GRAIN, work)
    assert (work.times[:count] == 1).all() and not work.times[count:].any()


def test_each_thread_has_one_range_and_scratch_memory_of_its_own(pool):
    done = {}
    gate = threading.Barrier(3)

    def work(scratch, first, last):
        if scratch not in done:
            gate.wait(60.0)  # three threads at a time
        done.setdefault(scratch, []).append((threading.get_ident(), first, last))

    pool.run(COUNT, GRAIN, work)
    ranges = sorted((pieces[0][1], pieces[-1][2]) for pieces in done.values())
    assert [first for first, _ in ranges] == [0, *(last for _, last in ranges[:-1])]
    assert ranges[-1][1] == COUNT
    assert len({pieces[0][0] for pieces in done.values()}) == 3
    for pieces in done.values():
        assert len({thread for thread, _, _ in pieces}) == 1


def test_small_batch_wakes_nobody(pool):
    seen = set()
    pool.run(GRAIN.share, GRAIN, lambda *_: seen.add(threading.current_thread()))
    assert seen == {threading.current_thread()}


def test_error_of_the_first_wrong_state_is_raised_and_those_before_it_are_done(pool):
    work = Counted()

    def wrong(scratch, first, last):
        work(scratch, first, last)
        for k in (150, 300):
            if first <= k < last:
                error = InputError(f"state {k}", "q", None, "another")
                raise error

    with pytest.raises(InputError, match=r"^state 150$"):
        pool.run(COUNT, GRAIN, wrong)
    assert (work.times[:150] == 1).all() and work.times.max() == 1


def test_interruption_ends_all_threads(pool):
    began = threading.Barrier(3)

    def interrupted(scratch, first, last):
        if first == 0:
            began.wait(60.0)
            raise KeyboardInterrupt
        if first in split(0, COUNT, 3, GRAIN.step):
            began.wait(60.0)

    with pytest.raises(KeyboardInterrupt):
        pool.run(COUNT, GRAIN, interrupted)
    work = Counted()
    pool.run(COUNT, GRAIN, work)  # what comes after it is done
    assert (work.times == 1).all()


def test_interruption_of_the_waiting_ends_all_threads(pool, monkeypatch):
    began, cancelled, scratches, pieces = threading.Barrier(3), threading.Event(), set(), []

    def work(scratch, first, last):
        if first in split(0, COUNT, 3, GRAIN.step):
            began.wait(60.0)
        if first >= COUNT // 3:
            scratches.add(scratch)
            pieces.append(first)
            while not cancelled.wait(0.05):  # a signal just before a thread sleeps does not wake it
                if len(pieces) == 2:
                    signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    def interrupt_once(*_):
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        raise KeyboardInterrupt

    def wait_at_the_end(futures):
        cancelled.set()
        wait(futures)

    monkeypatch.setattr(worker_pool, "wait", wait_at_the_end)
    before = signal.signal(signal.SIGINT, interrupt_once)
    try:
        with pytest.raises(KeyboardInterrupt):
            pool.run(COUNT, GRAIN, work)
    finally:
        signal.signal(signal.SIGINT, before)
    assert len(pieces) == 2  # the first of each thread
    pool.run(COUNT, GRAIN, lambda scratch, *_: scratches.discard(scratch))
    assert len(scratches) == 2  # their scratch memory is not used again


@pytest.mark.parametrize("parts", [1, 2, 5])
@pytest.mark.parametrize("count", [20, 23, 64, 403])
def test_parts_are_whole_steps_but_for_the_end_of_the_last(count, parts):
    bounds = split(8, 8 + count, parts, 4)
    sizes = np.diff(bounds)
    assert (bounds[0], bounds[-1], len(sizes)) == (8, 8 + count, parts)
    assert all(size % 4 == 0 for size in sizes[:-1])
    assert min(sizes) >= 4 and max(sizes) - min(sizes) < 2 * 4
