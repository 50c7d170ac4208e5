"""Sleeping on a word of shared memory, and waking who sleeps on it: Linux' futexes.

The interpreter's lock is not held meanwhile. Every operation on a word of memory that this module's
users do goes through the interpreter, which reorders nothing; processors do, and `barrier` is for
them.
"""

from __future__ import annotations

import ctypes
import functools
import os
import threading

from torqued.common.errors import TorquedError
from torqued.common.system_calls import FUTEX_WAIT, FUTEX_WAKE, SYSTEM_CALLS

EVERYBODY = 0x7FFFFFFF

_machine = os.uname().machine
_futex = SYSTEM_CALLS.get(_machine)
# Without declared types and `use_errno`, a call takes a third of the time: what is no small number
# is handed over as an object of ctypes. The first gives the interpreter's lock back meanwhile.
_syscall = ctypes.CDLL(None).syscall
_quick_syscall = ctypes.PyDLL(None).syscall
give_way = ctypes.CDLL(None).sched_yield

#: Whether other processors see stores in their order, and loads are done in theirs: then `barrier`
#: is needed only between a store and a load after it.
STAYS_IN_ORDER = _machine == "x86_64"


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


class Word:
    """A word of shared memory to sleep on, with the arguments of its system calls made ready.

    One thread at a time may wait.
    """

    def __init__(self, address: int) -> None:
        place = ctypes.c_void_p(address)
        self._limit, self._seconds = Timespec(), 0.0
        self._wait = functools.partial(_syscall, _futex, place, FUTEX_WAIT)
        self._until = ctypes.byref(self._limit)
        #: Wakes whoever sleeps here.
        self.wake = functools.partial(_quick_syscall, _futex, place, FUTEX_WAKE, EVERYBODY)

    def wait(self, expected: int, seconds: float) -> None:
        """Sleep while the word is `expected`, so long at most; may return early."""
        if seconds != self._seconds:
            self._seconds = seconds
            self._limit.seconds, self._limit.nanoseconds = int(seconds), int(seconds % 1.0 * 1e9)
        self._wait(expected, self._until)


def wait(address: int, expected: int, seconds: float) -> None:
    """Sleep while the word at an address is `expected`, so long at most; may return early."""
    Word(address).wait(expected, seconds)


def wake(address: int) -> None:
    """Wake whoever sleeps on the word at an address."""
    Word(address).wake()


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
