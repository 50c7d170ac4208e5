"""Realtime settings: asked of the operating system, and what to add where it refuses."""

import ctypes
import os
import struct
import threading
from pathlib import Path
from types import SimpleNamespace

import pytest

from support.eventually import eventually
from torqued.server.loop import realtime as settings
from torqued.server.loop.realtime import (
    REMEDIES,
    SCHED_SETATTR,
    SLICE,
    exact_timers,
    realtime,
    short_slices,
    what_to_add,
)
from torqued.server.transport.session_context import SessionContext

PR_GET_TIMERSLACK = 30
SCHED_GETATTR = {"x86_64": 315, "aarch64": 275, "riscv64": 275}
ATTRIBUTES = struct.Struct("<IIQiIQQQ")
libc = ctypes.CDLL(None, use_errno=True)


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

    no_memory = SimpleNamespace(mlockall=lambda flags: -1, prctl=libc.prctl, syscall=libc.syscall)
    monkeypatch.setattr(os, "sched_setscheduler", refuse)
    monkeypatch.setattr(os, "sched_setaffinity", refuse)
    monkeypatch.setattr(settings, "_libc", no_memory)
    monkeypatch.setattr(ctypes, "get_errno", lambda: 12)


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


def make_ordinary():
    """The calling thread, which has inherited what some test before asked for."""
    assert libc.prctl(settings.PR_SET_TIMERSLACK, ctypes.c_ulong(50_000), 0, 0, 0) == 0
    number = SCHED_SETATTR[os.uname().machine]
    default = ATTRIBUTES.pack(ATTRIBUTES.size, os.SCHED_OTHER, 0, 0, 0, 0, 0, 0)
    assert libc.syscall(number, 0, default, 0) == 0


def slack():
    """ns that timers of the calling thread may be late."""
    return libc.prctl(PR_GET_TIMERSLACK, 0, 0, 0, 0)


def scheduling(thread):
    """Policy, niceness and slice (ns) of a thread; sched_getattr(2). A Linux before 6.12 has no
    slices to tell."""
    found = ctypes.create_string_buffer(ATTRIBUTES.size)
    assert libc.syscall(SCHED_GETATTR[os.uname().machine], thread, found, ATTRIBUTES.size, 0) == 0
    _, policy, _, niceness, _, runtime, *_ = ATTRIBUTES.unpack(found.raw)
    return policy, niceness, runtime


@pytest.fixture
def in_thread():
    """Calls something in a thread of its own, whose settings are not the tests'."""

    def call(function):
        results = []
        thread = threading.Thread(target=lambda: (make_ordinary(), results.append(function())))
        thread.start()
        thread.join()
        return results[0]

    return call


@pytest.fixture
def other():
    """The id of a thread that waits."""
    ready, done = threading.Event(), threading.Event()
    thread = threading.Thread(target=lambda: (make_ordinary(), ready.set(), done.wait()))
    thread.start()
    ready.wait()
    yield thread.native_id
    done.set()
    thread.join()


def has_slices():
    release = os.uname().release.split(".")
    return (int(release[0]), int(release[1])) >= (6, 12)


def test_timers_are_exact_afterwards(in_thread):
    assert in_thread(slack) > 1
    assert in_thread(lambda: (exact_timers(), slack())[1]) == 1


def test_slices_are_short_afterwards_and_niceness_stays(in_thread):
    def changed():
        os.setpriority(os.PRIO_PROCESS, threading.get_native_id(), 3)
        why_not = short_slices()
        return why_not, scheduling(0)

    assert in_thread(changed) == ("", (os.SCHED_OTHER, 3, SLICE if has_slices() else 0))


def test_another_thread_is_given_short_slices_by_its_id(other):
    before = scheduling(other)[2]
    assert short_slices(other) == ""
    after = scheduling(other)[2]
    assert after == SLICE < before if has_slices() else after == before


def test_thread_of_another_class_stays_as_it_is(in_thread):
    def changed():
        os.sched_setscheduler(0, os.SCHED_BATCH, os.sched_param(0))
        return short_slices(), scheduling(0)[0]

    assert in_thread(changed) == ("", os.SCHED_BATCH)


def test_loop_and_its_io_thread_have_both_without_being_asked(in_thread, other):
    found = in_thread(lambda: (realtime(0, False, None, other), slack(), scheduling(0)[2]))
    assert found == ({}, 1, SLICE if has_slices() else 0)
    assert scheduling(other)[2] == (SLICE if has_slices() else 0)


def test_refusal_is_in_the_report(in_thread, monkeypatch):
    refusing = SimpleNamespace(prctl=libc.prctl, syscall=lambda *_: -1)
    monkeypatch.setattr(settings, "_libc", refusing)
    monkeypatch.setattr(ctypes, "get_errno", lambda: 1)
    report = in_thread(lambda: realtime(0, False, None))
    assert report == {
        "slices": "no short slices (Operation not permitted): ordinary threads may delay ticks"
    }


def test_machine_without_the_call_says_so(in_thread, monkeypatch):
    monkeypatch.setattr(settings, "SCHED_SETATTR", {})
    assert "sched_setattr is not supported" in in_thread(short_slices)
