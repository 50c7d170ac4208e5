"""ZeroMQ's functions for compiled code, of the library that pyzmq has loaded."""

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
        f"pyzmq {zmq.__version__} has libzmq linked in, which cannot be called directly: install "
        "the wheel from PyPI"
    )


llvmlite.binding.load_library_permanently(loaded_libzmq())

_zmq_recv: Any = types.ExternalFunction(
    "zmq_recv", types.int32(types.voidptr, types.voidptr, types.uint64, types.int32)
)
_zmq_send: Any = types.ExternalFunction(
    "zmq_send", types.int32(types.voidptr, types.voidptr, types.uint64, types.int32)
)
_zmq_getsockopt: Any = types.ExternalFunction(
    "zmq_getsockopt", types.int32(types.voidptr, types.int32, types.voidptr, types.voidptr)
)

DONTWAIT, SNDMORE, RCVMORE = 1, 2, 13


@kernel
def receive(socket, address, size):
    """One part of a message, without waiting; its whole length, or -1 if there is none."""
    return _zmq_recv(pointer(socket), pointer(address), np.uint64(size), DONTWAIT)


@kernel
def has_more(socket, more):
    """Whether the message has more parts; `more` is an int64 array of two, scratch."""
    more[0], more[1] = 0, 4
    answer = more.ctypes.data
    _zmq_getsockopt(pointer(socket), RCVMORE, pointer(answer), pointer(answer + 8))
    return more[0] & 0xFFFFFFFF != 0  # an int of 4 bytes


@kernel
def send_to(socket, route, route_size, address, size):
    """Send a message to a peer of a ROUTER; -1 if the peer is too slow or has left."""
    if _zmq_send(pointer(socket), pointer(route), np.uint64(route_size), DONTWAIT | SNDMORE) < 0:
        return np.int32(-1)
    return _zmq_send(pointer(socket), pointer(address), np.uint64(size), DONTWAIT)
