"""Two settings that wake a thread on time without a privilege. Realtime threads need neither.

Linux lets timers of ordinary threads be 50 µs late, to combine wake-ups. A thread that wakes up
generally waits until the slice of the running thread is over (milliseconds). From Linux 6.12 on, a
thread with shorter slices does not wait, even beside another terminal or container. An older Linux
ignores the length.
"""

from __future__ import annotations

import ctypes
import os
import struct
import threading

#: prctl(2)
PR_SET_NAME, PR_SET_TIMERSLACK = 15, 29
#: Number of sched_setattr(2), by machine.
SCHED_SETATTR = {"x86_64": 314, "aarch64": 274, "riscv64": 274}
#: ns: the shortest possible slice.
SLICE = 100_000
#: struct sched_attr: size, policy, flags, niceness, priority; runtime, deadline, period.
_ATTRIBUTES = struct.Struct("<IIQiIQQQ")

_libc = ctypes.CDLL(None, use_errno=True)


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
