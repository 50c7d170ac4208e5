"""What wakes a thread on time without a privilege, as the system has it afterwards."""

import ctypes
import os
import struct
import threading
from types import SimpleNamespace

import pytest

from torqued.server.loop import timer_slack
from torqued.server.loop.realtime import realtime
from torqued.server.loop.timer_slack import SCHED_SETATTR, SLICE, exact_timers, short_slices

PR_GET_TIMERSLACK = 30
SCHED_GETATTR = {"x86_64": 315, "aarch64": 275, "riscv64": 275}
ATTRIBUTES = struct.Struct("<IIQiIQQQ")
libc = ctypes.CDLL(None, use_errno=True)


def make_ordinary():
    """The calling thread, which has inherited what some test before asked for."""
    assert libc.prctl(timer_slack.PR_SET_TIMERSLACK, ctypes.c_ulong(50_000), 0, 0, 0) == 0
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
    monkeypatch.setattr(timer_slack, "_libc", refusing)
    monkeypatch.setattr(timer_slack.ctypes, "get_errno", lambda: 1)
    report = in_thread(lambda: realtime(0, False, None))
    assert report == {
        "slices": "no short slices (Operation not permitted): ordinary threads may delay ticks"
    }


def test_machine_without_the_call_says_so(in_thread, monkeypatch):
    monkeypatch.setattr(timer_slack, "SCHED_SETATTR", {})
    assert "sched_setattr is not supported" in in_thread(short_slices)
