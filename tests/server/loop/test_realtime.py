"""Realtime settings: asked of the operating system, and what to add where it refuses."""

import os
import threading
from pathlib import Path

import pytest

from support.eventually import eventually
from torqued.server.loop.realtime import REMEDIES, realtime, what_to_add
from torqued.server.transport.session_context import SessionContext


def test_nothing_is_asked_for_by_default():
    assert realtime(0, False, None, threading.get_native_id()) == {}


@pytest.fixture
def io_thread():
    context = SessionContext()
    yield context.io_thread
    context.close()


def test_io_thread_of_the_sessions_comes_right_below_the_loop(io_thread):
    cpu = min(os.sched_getaffinity(0))
    report = {}
    # In a thread of its own, as the loop has: settings are the calling thread's.
    loop = threading.Thread(target=lambda: report.update(realtime(7, False, cpu, io_thread)))
    loop.start()
    loop.join()
    if report["priority"].startswith("not "):
        assert report["io_thread"].startswith("not granted")
        assert os.sched_getscheduler(io_thread) == os.SCHED_OTHER
    else:
        assert report["io_thread"] == f"SCHED_FIFO 6, pinned to {cpu}"
        assert os.sched_getscheduler(io_thread) == os.SCHED_FIFO
        assert os.sched_getparam(io_thread).sched_priority == 6
    assert os.sched_getaffinity(io_thread) == {cpu}


def test_thread_that_has_ended_is_a_line_in_the_report():
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    # The system's thread ends a moment after Python's.
    eventually(lambda: not Path(f"/proc/self/task/{thread.native_id}").exists())
    before = os.sched_getaffinity(0)
    try:
        report = realtime(0, False, 0, thread.native_id)
    finally:
        os.sched_setaffinity(0, before)
    assert report["io_thread"] == "not pinned to 0 (No such process): not an allowed processor"


@pytest.fixture
def refusing(monkeypatch):
    """An operating system that grants nothing."""

    def refuse(*_):
        raise PermissionError(1, "Operation not permitted")

    class Library:
        def __init__(self, *_, **__):
            self.mlockall = lambda flags: -1

    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    monkeypatch.setattr("torqued.server.loop.realtime.ctypes.CDLL", Library)
    monkeypatch.setattr("torqued.server.loop.realtime.ctypes.get_errno", lambda: 12)


def test_every_refusal_is_reported_with_its_reason_and_with_what_to_add(refusing):
    report = realtime(80, True, 3, threading.get_native_id())
    assert set(report) == {*REMEDIES, "io_thread"}
    assert report["io_thread"].startswith("not granted (Operation not permitted)")
    assert "not pinned to 3" in report["io_thread"]
    assert report["priority"].startswith("not granted (Operation not permitted)")
    assert report["memory"].startswith("not locked (Cannot allocate memory)")
    assert report["cpu"].startswith("not pinned to 3 (Operation not permitted)")
    container, unit = what_to_add(report, 80, 3)
    for words in ("--ulimit rtprio=80", "--ulimit memlock=-1", "--cpuset-cpus with 3"):
        assert words in container
    for words in ("LimitRTPRIO=80", "LimitMEMLOCK=infinity", "CPUAffinity with 3", "limits.d"):
        assert words in unit


def test_only_what_was_refused_is_to_be_added(refusing):
    container, unit = what_to_add(realtime(0, True, None), 0, None)
    assert "memlock" in container and "rtprio" not in container
    assert "MEMLOCK" in unit and "RTPRIO" not in unit


def test_nothing_is_to_be_added_where_all_was_granted():
    report = {"priority": "SCHED_FIFO 80", "memory": "locked", "cpu": "pinned to 3"}
    assert what_to_add(report, 80, 3) == []


def test_processor_that_does_not_exist_is_refused_by_the_real_system():
    before = os.sched_getaffinity(0)
    report = realtime(0, False, 1023)
    assert report["cpu"].startswith("not pinned to 1023 (Invalid argument)")
    assert os.sched_getaffinity(0) == before
