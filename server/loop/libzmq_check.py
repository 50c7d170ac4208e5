"""Checks that compiled code and pyzmq use the same libzmq.

Compiled code calls libzmq's functions on sockets that pyzmq has made, an interface that pyzmq does
not guarantee.
"""

from __future__ import annotations

import ctypes
from functools import cache

import llvmlite.binding
import zmq

from torqued.kernels.compilation.numba_internals import ToolchainError
from torqued.server.loop.zeromq_calls import loaded_libzmq

FUNCTIONS = ("zmq_send", "zmq_recv", "zmq_getsockopt")


@cache
def require_libzmq() -> None:
    """Raises unless messages pass between pyzmq and libzmq's own functions."""
    problem = first_problem()
    if problem:
        raise ToolchainError(
            f"pyzmq {zmq.__version__} with libzmq {zmq.zmq_version()} is not supported: {problem}"
        )


def first_problem() -> str:
    """What does not work; empty if all does."""
    library = ctypes.CDLL(loaded_libzmq())
    for name in FUNCTIONS:
        own = ctypes.cast(getattr(library, name), ctypes.c_void_p).value
        if llvmlite.binding.address_of_symbol(name) != own:
            return f"compiled code has another {name} than pyzmq"
    library.zmq_send.argtypes = library.zmq_recv.argtypes = [
        ctypes.c_void_p,
        ctypes.c_char_p,
        ctypes.c_size_t,
        ctypes.c_int,
    ]
    context = zmq.Context()
    first, second = context.socket(zmq.PAIR), context.socket(zmq.PAIR)
    try:
        first.bind("inproc://libzmq-check")
        second.connect("inproc://libzmq-check")
        library.zmq_send(first.underlying, b"torqued", 7, zmq.DONTWAIT)
        if not second.poll(1000) or second.recv() != b"torqued":
            return "messages of zmq_send do not arrive"
        first.send(b"back")
        buffer = ctypes.create_string_buffer(8)
        if second.poll(1000) == 0 or library.zmq_recv(
            second.underlying, buffer, 8, zmq.DONTWAIT
        ) != len(b"back"):
            return "zmq_recv does not receive"
        return "" if buffer.value == b"back" else "zmq_recv receives something else"
    finally:
        context.destroy(linger=0)
