"""C functions for compiled code: clock, sleep and ZeroMQ, called without the interpreter.

ZeroMQ's library is the one that pyzmq has loaded. Functions declared this way can be kept in
numba's cache, which addresses taken with ctypes cannot.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import llvmlite.binding
import numpy as np
import zmq  # loads libzmq
from numba import types

from torqued.client.system_calls import FUTEX_WAIT, FUTEX_WAKE, SYSTEM_CALLS
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.compilation.numba_internals import ToolchainError
from torqued.kernels.primitives.workspace import pointer


def loaded_libzmq() -> str:
    """Path of the libzmq that this process has loaded."""
    for line in Path("/proc/self/maps").read_text().splitlines():
        path = line.split(maxsplit=5)[-1]
        if re.search(r"/libzmq[^/]*\.so", path):
            return path
    raise ToolchainError(
        f"pyzmq {zmq.__version__} has libzmq built in: its functions cannot be called directly; "
        "the wheels from PyPI have it beside them"
    )


llvmlite.binding.load_library_permanently(loaded_libzmq())

_clock_gettime: Any = types.ExternalFunction(
    "clock_gettime", types.int32(types.int32, types.voidptr)
)
_clock_nanosleep: Any = types.ExternalFunction(
    "clock_nanosleep", types.int32(types.int32, types.int32, types.voidptr, types.voidptr)
)
_zmq_recv: Any = types.ExternalFunction(
    "zmq_recv", types.int32(types.voidptr, types.voidptr, types.uint64, types.int32)
)
_zmq_send: Any = types.ExternalFunction(
    "zmq_send", types.int32(types.voidptr, types.voidptr, types.uint64, types.int32)
)
_zmq_getsockopt: Any = types.ExternalFunction(
    "zmq_getsockopt", types.int32(types.voidptr, types.int32, types.voidptr, types.voidptr)
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
DONTWAIT, SNDMORE, RCVMORE = 1, 2, 13
SECOND = 1_000_000_000
#: For `sleep_on`.
FOREVER = 0
#: On a machine without such a number there are no sessions in shared memory.
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
    """Let another thread have the processor that is waiting for it: it may be who is watched for.

    A thread that spins on a machine with few cores else keeps off the one that would end it.
    """
    _sched_yield()


@kernel
def receive(socket, address, size):
    """One part of a message, without waiting; its whole length, or -1 where there is none."""
    return _zmq_recv(pointer(socket), pointer(address), np.uint64(size), DONTWAIT)


@kernel
def has_more(socket, more):
    """Whether the message goes on; `more` is an int64 array of two for the answer."""
    more[0], more[1] = 0, 4
    answer = more.ctypes.data
    _zmq_getsockopt(pointer(socket), RCVMORE, pointer(answer), pointer(answer + 8))
    return more[0] & 0xFFFFFFFF != 0  # an int of 4 bytes


@kernel
def send_to(socket, route, route_size, address, size):
    """One message to a peer of a ROUTER; -1 where that is too slow or gone."""
    if _zmq_send(pointer(socket), pointer(route), np.uint64(route_size), DONTWAIT | SNDMORE) < 0:
        return np.int32(-1)
    return _zmq_send(pointer(socket), pointer(address), np.uint64(size), DONTWAIT)


@kernel
def wake_sleeper(address):
    """Wake who sleeps on the word at an address, in whatever process; how many were woken.

    One at the most: a client may have thousands of threads sleep there, and to wake them all would
    take the loop milliseconds.
    """
    nobody = pointer(np.uint64(0))
    return _syscall(FUTEX_CALL, pointer(address), FUTEX_WAKE, 1, nobody, nobody, 0)


@kernel
def sleep_on(address, expected, nanoseconds, clock):
    """Sleep while the word at an address is `expected`, so long at most; may return early.

    FOREVER: without a timer, which takes up to a microsecond to set and to take back.
    """
    clock[0] = nanoseconds // SECOND
    clock[1] = nanoseconds % SECOND
    limited = np.uint64(clock.ctypes.data) if nanoseconds != FOREVER else np.uint64(0)
    limit, nobody = pointer(limited), pointer(np.uint64(0))
    _syscall(FUTEX_CALL, pointer(address), FUTEX_WAIT, np.int64(expected), limit, nobody, 0)
