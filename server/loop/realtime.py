"""Realtime settings of threads, and what a system needs to grant them.

A torque passes two threads: the loop, and the I/O thread of the session sockets, which runs one
priority below the loop. It preempts everything else, and a flood of frames that keeps it busy does
not delay a tick, even on the same processor.

Ordinary threads have two settings without a privilege that wake them on time; realtime threads need
neither. Linux lets timers of ordinary threads be 50 µs late, to combine wake-ups. A thread that
wakes up generally waits until the slice of the running thread is over (milliseconds). From Linux
6.12 on, a thread with shorter slices does not wait, even beside another terminal or container. An
older Linux ignores the length.
"""

from __future__ import annotations

import ctypes
import os
import struct
import threading
from collections.abc import Mapping
from pathlib import Path

#: mlockall: present and future memory.
MCL_CURRENT_AND_FUTURE = 3
#: prctl(2)
PR_SET_NAME, PR_SET_TIMERSLACK = 15, 29
#: Number of sched_setattr(2), by machine.
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
#: ns: the shortest possible slice.
SLICE = 100_000
#: struct sched_attr: size, policy, flags, niceness, priority; runtime, deadline, period.
_ATTRIBUTES = struct.Struct("<IIQiIQQQ")

#: Processors that run.
ONLINE = Path("/sys/devices/system/cpu/online")

_libc = ctypes.CDLL(None, use_errno=True)


def realtime(
    priority: int, lock_memory: bool, cpu: int | None, io_thread: int | None = None
) -> dict[str, str]:
    """Request realtime settings for this thread; reports what was granted, or why not.

    `io_thread` is the id of the sessions' I/O thread. Settings without a privilege are always
    requested, and reported only if refused.
    """
    report = {}
    if priority > 0:
        report["priority"] = ask_for_priority(0, priority)
    if lock_memory:
        if _libc.mlockall(MCL_CURRENT_AND_FUTURE) == 0:
            report["memory"] = "locked"
        else:
            reason = os.strerror(ctypes.get_errno())
            report["memory"] = f"not locked ({reason}): needs CAP_IPC_LOCK or a memlock limit"
    if cpu is not None:
        report["cpu"] = ask_for_processor(0, cpu)
    if io_thread is not None and (priority > 0 or cpu is not None):
        report["io_thread"] = ask_for_io_thread(io_thread, priority, cpu)
    exact_timers()
    threads = [0] if io_thread is None else [0, io_thread]
    if refusals := [why for thread in threads if (why := short_slices(thread))]:
        report["slices"] = f"no short slices ({refusals[0]}): ordinary threads may delay ticks"
    return report


def ask_for_priority(thread: int, priority: int) -> str:
    """SCHED_FIFO for a thread; 0 is the calling one."""
    try:
        os.sched_setscheduler(thread, os.SCHED_FIFO, os.sched_param(priority))
    except OSError as error:
        return f"not granted ({error.strerror}): needs CAP_SYS_NICE or an rtprio limit"
    return f"SCHED_FIFO {priority}"


def ask_for_processor(thread: int, cpu: int) -> str:
    """One processor for a thread; 0 is the calling one."""
    try:
        os.sched_setaffinity(thread, {cpu})
    except OSError as error:
        return f"not pinned to {cpu} ({error.strerror}): not an allowed processor"
    return f"pinned to {cpu}"


def ask_for_io_thread(thread: int, priority: int, cpu: int | None) -> str:
    """Both for the sessions' I/O thread, in one line, refusals first."""
    answers = []
    if priority > 0:
        answers.append(ask_for_priority(thread, max(1, priority - 1)))
    if cpu is not None:
        answers.append(ask_for_processor(thread, cpu))
    return ", ".join(sorted(answers, key=lambda answer: not answer.startswith("not ")))


def processors(listed: str | None = None) -> set[int]:
    """Those that are online, as Linux lists them: `0-3,8`."""
    listed = ONLINE.read_text(encoding="ascii") if listed is None else listed
    ends = [part.split("-") for part in listed.strip().split(",")]
    return {
        cpu for first, *last in ends for cpu in range(int(first), int((last or [first])[0]) + 1)
    }


def name_thread() -> None:
    """Give the calling thread its Python name in the system, as `top -H` shows it."""
    _libc.prctl(PR_SET_NAME, threading.current_thread().name.encode()[:15], 0, 0, 0)


def exact_timers() -> None:
    """Set exact timers for the calling thread."""
    _libc.prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(1), 0, 0, 0)


def short_slices(thread: int = 0) -> str:
    """Let a thread preempt others of its class when it wakes up; 0 is the calling one.

    Returns the reason of a refusal, else "". A thread of another class stays as it is.
    """
    try:
        if os.sched_getscheduler(thread) != os.SCHED_OTHER:
            return ""
        niceness = os.getpriority(os.PRIO_PROCESS, thread)
    except OSError as error:
        return error.strerror or str(error)
    wanted = _ATTRIBUTES.pack(_ATTRIBUTES.size, os.SCHED_OTHER, 0, niceness, 0, SLICE, 0, 0)
    number = SCHED_SETATTR.get(os.uname().machine)
    if number is None:
        return f"sched_setattr is not supported on {os.uname().machine}"
    if _libc.syscall(number, thread, wanted, 0) != 0:
        return os.strerror(ctypes.get_errno())
    return ""


#: For each setting: what a container needs, and what a systemd unit needs.
REMEDIES = {
    "priority": ("--ulimit rtprio={priority}", "LimitRTPRIO={priority}"),
    "memory": ("--ulimit memlock=-1", "LimitMEMLOCK=infinity"),
    "cpu": ("--cpuset-cpus with {cpu} in it", "CPUAffinity with {cpu} in it"),
}


def what_to_add(report: Mapping[str, str], priority: int, cpu: int | None) -> list[str]:
    """What grants the refused settings: a line for containers and one for services.

    The I/O thread needs nothing that the loop does not need.
    """
    refused = [name for name in REMEDIES if report.get(name, "").startswith("not ")]
    if not refused:
        return []
    container, unit = (
        ", ".join(REMEDIES[name][way].format(priority=priority, cpu=cpu) for name in refused)
        for way in (0, 1)
    )
    return [
        f"in a container: docker run {container}; docker/compose.yaml has them all",
        f"without: {unit} in the systemd unit, or limits for your user in /etc/security/limits.d",
    ]
