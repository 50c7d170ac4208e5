"""Two settings that wake a thread on time without a privilege. Realtime threads need neither.

Linux lets the timers of ordinary threads be 50 µs late, to wake up for several at once; and a
thread that wakes up waits, in general, until the slice of the one that runs is over (milliseconds).
One whose own slices are shorter than that does not wait, from Linux 6.12 on, even where the other
one is of another terminal or container. An older Linux takes the length and ignores it.
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
#: ns: the shortest slice that there is.
SLICE = 100_000
#: struct sched_attr: size, policy, flags, niceness, priority; runtime, deadline, period.
_ATTRIBUTES = struct.Struct("<IIQiIQQQ")

_libc = ctypes.CDLL(None, use_errno=True)


def name_thread() -> None:
    """Show the calling thread in `top -H` by its name, which Python 3.11 keeps to itself."""
    _libc.prctl(PR_SET_NAME, threading.current_thread().name.encode()[:15], 0, 0, 0)


def exact_timers() -> None:
    """Of the calling thread: what it sleeps for ends when it should."""
    _libc.prctl(PR_SET_TIMERSLACK, ctypes.c_ulong(1), 0, 0, 0)


def short_slices(thread: int = 0) -> str:
    """Have a thread preempt others of its class as it wakes up; 0 is the calling one.

    Why not, where it was refused. One of another class stays as it is.
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
        return f"no number of sched_setattr is known on {os.uname().machine}"
    if _libc.syscall(number, thread, wanted, 0) != 0:
        return os.strerror(ctypes.get_errno())
    return ""
