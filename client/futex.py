"""Sleeping on a word of shared memory, and waking who sleeps on it: Linux' futexes.

The interpreter's lock is not held meanwhile. Every operation on a word of memory that this module's
users do goes through the interpreter, which reorders nothing; processors do, and `barrier` is for
them.
"""

from __future__ import annotations

import ctypes
import os
import threading

from torqued.common.errors import TorquedError

#: Number of the system call, by machine.
SYSTEM_CALLS = {"x86_64": 202, "aarch64": 98, "riscv64": 98}
FUTEX_WAIT, FUTEX_WAKE = 0, 1
EVERYBODY = 0x7FFFFFFF

_machine = os.uname().machine
_futex = SYSTEM_CALLS.get(_machine)
_syscall = ctypes.CDLL(None, use_errno=True).syscall
_syscall.restype = ctypes.c_long
_syscall.argtypes = [
    *(ctypes.c_long, ctypes.c_void_p, ctypes.c_int, ctypes.c_uint32),
    *(ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint32),
]


class Timespec(ctypes.Structure):
    """`struct timespec` of 64-bit machines."""

    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64))


def require_futex() -> None:
    """Raises on machines whose system calls are not known here."""
    if _futex is None:
        known = ", ".join(SYSTEM_CALLS)
        raise TorquedError(
            f"sessions in shared memory are not known to work on {_machine!r}, only on {known}; "
            'use transport="socket"'
        )


def wait(address: int, expected: int, seconds: float) -> None:
    """Sleep while the word at an address is `expected`, so long at most; may return early."""
    limit = Timespec(int(seconds), int(seconds % 1.0 * 1e9))
    _syscall(_futex, address, FUTEX_WAIT, expected, ctypes.addressof(limit), None, 0)


def wake(address: int) -> None:
    """Wake whoever sleeps on the word at an address."""
    _syscall(_futex, address, FUTEX_WAKE, EVERYBODY, None, None, 0)


_lock = threading.local()


def barrier() -> None:
    """Memory operations before it come before those after it, for other processors too.

    Giving back a lock releases and taking it acquires, in this order: nothing passes both. The lock
    is this thread's own, so that nobody ever waits for it.
    """
    try:
        lock = _lock.lock
    except AttributeError:
        lock = _lock.lock = threading.Lock()
        lock.acquire()
    lock.release()
    lock.acquire()
