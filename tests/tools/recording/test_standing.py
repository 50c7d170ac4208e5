"""How readers of a ring yield: idle while that is safe, never where they could not come back."""

import multiprocessing
import os
import threading
import time

import pytest
from eventually import eventually

from torqued.tools.recording import standing
from torqued.tools.recording.standing import HELD_UP, NICENESS, WIDE_AWAKE, Standing, waited


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
    monkeypatch.setattr(standing, "waited", lambda: found.waited)
    monkeypatch.setattr(standing, "may_return", lambda _: True)
    monkeypatch.setattr(standing.time, "monotonic", lambda: found.now)
    return found


def looked(system, reader, backlog=0.001, seconds=0.1, waited=0.0):
    system.pass_time(seconds, waited)
    reader.look(backlog)
    return reader.is_idle


def test_reader_is_idle_with_all_of_its_threads_while_the_ring_holds_seconds(system):
    done = threading.Event()
    other = threading.Thread(target=done.wait)
    other.start()
    try:
        reader = Standing()
        assert not looked(system, reader)  # the first look tells nothing
        assert looked(system, reader)
        threads = {threading.get_native_id(), other.native_id}
        assert {system.policies[thread] for thread in threads} == {os.SCHED_IDLE}
        assert {system.niceness[thread] for thread in threads} == {NICENESS}
        # A quarter of the ring in a tenth of a second: it holds less than half a second.
        assert not looked(system, reader, backlog=0.25)
        assert {system.policies[thread] for thread in threads} == {os.SCHED_OTHER}
    finally:
        done.set()
        other.join()


def test_reader_that_was_kept_from_a_processor_is_not_idle_for_a_while(system):
    reader = Standing()
    looked(system, reader)
    assert looked(system, reader)
    assert not looked(system, reader, seconds=1.0, waited=1.1 * HELD_UP)
    assert not looked(system, reader, seconds=0.9 * WIDE_AWAKE)
    assert looked(system, reader, seconds=0.2 * WIDE_AWAKE)


def test_reader_that_slept_or_was_stopped_was_not_held_up(system):
    reader = Standing()
    looked(system, reader)
    assert looked(system, reader, seconds=10.0)


def test_reader_that_could_not_come_back_is_niced_only(system, monkeypatch):
    monkeypatch.setattr(standing, "may_return", lambda _: False)
    reader = Standing()
    looked(system, reader)
    assert not looked(system, reader)
    assert system.policies == {} and set(system.niceness.values()) == {NICENESS}


def test_processor_of_the_loop_is_left_to_it(system):
    Standing(processor=1)
    assert system.processors[threading.get_native_id()] == {0, 2}


def test_only_processor_is_shared(system, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda _: {1})
    Standing(processor=1)
    Standing(processor=None)
    assert system.processors == {}


def test_waiting_for_a_processor_is_told_from_sleeping():
    """Beside another that is busy on the same processor; what this one sleeps does not count."""

    def compute():
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        while True:
            pass

    def measure(results):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
        begun, started = waited(), time.monotonic()
        time.sleep(1.0)
        beyond = time.monotonic() - started - 1.0
        results.send(waited() - begun - beyond)
        eventually(lambda: waited() - begun > 1.0, pause=0)  # computes, and so waits
        results.send(waited() - begun)

    forking = multiprocessing.get_context("fork")
    ours, theirs = forking.Pipe()
    busy = forking.Process(target=compute, daemon=True)
    measured = forking.Process(target=measure, args=(theirs,), daemon=True)
    busy.start()
    measured.start()
    try:
        assert ours.recv() < 0.01
        assert ours.recv() > 1.0
    finally:
        busy.kill()
        measured.kill()
        busy.join()
        measured.join()
