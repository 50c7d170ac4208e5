"""Clock, sleep and futex for compiled code: the system's own functions, without the interpreter.

Functions declared this way can be kept in numba's cache, which addresses taken with ctypes cannot.
"""

from __future__ import annotations

import os
from typing import Any

import numpy as np
from numba import types

from torqued.common.system_calls import FUTEX_WAIT, FUTEX_WAKE, SYSTEM_CALLS
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.primitives.workspace import pointer

_clock_gettime: Any = types.ExternalFunction(
    "clock_gettime", types.int32(types.int32, types.voidptr)
)
_clock_nanosleep: Any = types.ExternalFunction(
    "clock_nanosleep", types.int32(types.int32, types.int32, types.voidptr, types.voidptr)
)
_sched_yield: Any = types.ExternalFunction("sched_yield", types.int32())
_syscall: Any = types.ExternalFunction(
    "syscall",
    types.int64(
        *(types.int64, types.voidptr, types.int64, types.int64),
        *(types.voidptr, types.voidptr, types.int64),
    ),
)

CLOCK_MONOTONIC = 1
CLOCK_THREAD_CPUTIME = 3
TIMER_ABSTIME = 1
SECOND = 1_000_000_000
#: -1 on a machine whose number is not known: there no thread may sleep on a word.
FUTEX_CALL = SYSTEM_CALLS.get(os.uname().machine, -1)


@kernel
def now(clock):
    """Monotonic time in ns; `clock` is an int64 array of two for the answer."""
    _clock_gettime(CLOCK_MONOTONIC, pointer(clock.ctypes.data))
    return clock[0] * SECOND + clock[1]


@kernel
def processor_time(clock):
    """Time in ns that this thread has had a processor: what preempts it does not count."""
    _clock_gettime(CLOCK_THREAD_CPUTIME, pointer(clock.ctypes.data))
    return clock[0] * SECOND + clock[1]


@kernel
def sleep_until(deadline, clock):
    """Sleep until a monotonic time in ns; interrupted sleeps go on."""
    clock[0] = deadline // SECOND
    clock[1] = deadline % SECOND
    address = pointer(clock.ctypes.data)
    while _clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, address, pointer(0)) != 0:
        pass


@kernel
def give_way():
    """Let another thread have the processor: it may be the one that this thread waits for.

    A thread that spins on a machine with few cores else keeps off the one that would end it.
    """
    _sched_yield()


@kernel
def wake_sleeper(address):
    """Wake a thread of any process that sleeps on the word at an address; how many were woken.

    At most one: a client may have thousands of threads sleep there, and to wake them all would
    take the loop milliseconds.
    """
    none = pointer(np.uint64(0))
    return _syscall(FUTEX_CALL, pointer(address), FUTEX_WAKE, 1, none, none, 0)


@kernel
def sleep_on(address, expected, nanoseconds, clock):
    """Sleep while the word at an address is `expected`, so long at most; may return early."""
    clock[0] = nanoseconds // SECOND
    clock[1] = nanoseconds % SECOND
    limit, none = pointer(np.uint64(clock.ctypes.data)), pointer(np.uint64(0))
    _syscall(FUTEX_CALL, pointer(address), FUTEX_WAIT, np.int64(expected), limit, none, 0)
