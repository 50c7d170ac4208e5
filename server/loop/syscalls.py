"""C functions for compiled code: clock, sleep and ZeroMQ, called without the interpreter.

ZeroMQ's library is the one that pyzmq has loaded. Functions declared this way can be kept in
numba's cache, which addresses taken with ctypes cannot.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import llvmlite.binding
import numpy as np
import zmq  # loads libzmq
from numba import types

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

CLOCK_MONOTONIC = 1
TIMER_ABSTIME = 1
DONTWAIT = 1
SECOND = 1_000_000_000


@kernel
def now(clock):
    """Monotonic time in ns; `clock` is an int64 array of two for the answer."""
    _clock_gettime(CLOCK_MONOTONIC, pointer(clock.ctypes.data))
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
def receive(socket, address, size):
    """One message into memory, without waiting; its whole length, or -1 where there is none."""
    return _zmq_recv(pointer(socket), pointer(address), np.uint64(size), DONTWAIT)


@kernel
def send(socket, address, size):
    """One message, without waiting; -1 where the peer is too slow or gone."""
    return _zmq_send(pointer(socket), pointer(address), np.uint64(size), DONTWAIT)
