"""How readers of a ring yield: idle while that is safe, never where they could not come back."""

import multiprocessing
import os
import threading
import time

import pytest

from support.eventually import eventually
from torqued.tools.recording import reader_scheduling
from torqued.tools.recording.reader_scheduling import (
    NICENESS,
    NOT_IDLE,
    STARVED,
    ReaderPriority,
    waited,
)


@pytest.fixture
def system(monkeypatch):
    """Of the operating system: what would be asked of it, and its clocks."""

    class System:
        def __init__(self):
            self.policies, self.niceness, self.processors = {}, {}, {}
            self.now, self.waited = 1000.0, 5.0

        def pass_time(self, seconds, waited=0.0):
            self.now += seconds
            self.waited += waited

    found = System()
    monkeypatch.setattr(
        os, "sched_setscheduler", lambda thread, policy, _: found.policies.update({thread: policy})
    )
    monkeypatch.setattr(
        os, "setpriority", lambda _, thread, value: found.niceness.update({thread: value})
    )
    monkeypatch.setattr(os, "getpriority", lambda *_: 0)
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {0, 1, 2})
    monkeypatch.setattr(
        os, "sched_setaffinity", lambda thread, those: found.processors.update({thread: those})
    )
    monkeypatch.setattr(reader_scheduling, "waited", lambda: found.waited)
    monkeypatch.setattr(reader_scheduling, "may_return", lambda _: True)
    monkeypatch.setattr(reader_scheduling.time, "monotonic", lambda: found.now)
    return found


def updated(system, reader, backlog=0.001, seconds=0.1, waited=0.0):
    system.pass_time(seconds, waited)
    reader.update(backlog)
    return reader.is_idle


def test_reader_is_idle_with_all_of_its_threads_while_the_ring_holds_seconds(system):
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        reader = ReaderPriority()
        assert not updated(system, reader)  # the first update only starts the clock
        assert updated(system, reader)
        threads = {threading.get_native_id(), other.native_id}
        assert {system.policies[thread] for thread in threads} == {os.SCHED_IDLE}
        assert {system.niceness[thread] for thread in threads} == {NICENESS}
        # A quarter of the ring in a tenth of a second: it holds less than half a second.
        assert not updated(system, reader, backlog=0.25)
        assert {system.policies[thread] for thread in threads} == {os.SCHED_OTHER}
    finally:
        done.set()
        other.join()


def test_reader_that_was_kept_from_a_processor_is_not_idle_for_a_while(system):
    reader = ReaderPriority()
    updated(system, reader)
    assert updated(system, reader)
    assert not updated(system, reader, seconds=1.0, waited=1.1 * STARVED)
    assert not updated(system, reader, seconds=0.9 * NOT_IDLE)
    assert updated(system, reader, seconds=0.2 * NOT_IDLE)


def test_reader_that_slept_or_was_stopped_was_not_held_up(system):
    reader = ReaderPriority()
    updated(system, reader)
    assert updated(system, reader, seconds=10.0)


def test_reader_that_could_not_come_back_is_niced_only(system, monkeypatch):
    monkeypatch.setattr(reader_scheduling, "may_return", lambda _: False)
    reader = ReaderPriority()
    updated(system, reader)
    assert not updated(system, reader)
    assert system.policies == {} and set(system.niceness.values()) == {NICENESS}


def test_processor_of_the_loop_is_left_to_it_unless_it_is_the_only_one(system, monkeypatch):
    ReaderPriority(processor=1)
    assert system.processors.pop(threading.get_native_id()) == {0, 2}
    system.processors.clear()
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1})
    ReaderPriority(processor=1)
    ReaderPriority(processor=None)
    assert system.processors == {}


def test_waiting_for_a_processor_is_told_from_sleeping():
    """Beside another that is busy on the same processor; what this one sleeps does not count."""

    def compute():
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        while True:
            pass

    def measure(results):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        started, begun = time.monotonic(), waited()
        time.sleep(1.0)
        waiting = waited() - begun
        results.send(waiting <= time.monotonic() - started - 1.0 + 1e-3)  # of two clocks
        eventually(lambda: waited() - begun > 1.0, pause=0)  # computes, and so waits
        results.send(waited() - begun)

    forking = multiprocessing.get_context("fork")
    ours, theirs = forking.Pipe()
    busy = forking.Process(target=compute, daemon=True)
    measured = forking.Process(target=measure, args=(theirs,), daemon=True)
    busy.start()
    measured.start()
    try:
        assert ours.recv()
        assert ours.recv() > 1.0
    finally:
        busy.kill()
        measured.kill()
        busy.join()
        measured.join()
