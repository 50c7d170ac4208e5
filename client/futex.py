"""Waking threads that sleep on a word of shared memory: Linux' futexes."""

from __future__ import annotations

import ctypes
import os
import threading

from torqued.common.system_calls import FUTEX_WAKE, SYSTEM_CALLS

ALL = 0x7FFFFFFF

_machine = os.uname().machine
_futex = SYSTEM_CALLS.get(_machine, -1)
_syscall = ctypes.CDLL(None).syscall

#: Whether other processors see stores in their order, and loads are done in theirs: then `barrier`
#: is needed only between a store and a load after it.
STAYS_IN_ORDER = _machine == "x86_64"


def wake(address: int) -> None:
    """Wake all threads that sleep on the word at an address, in any process."""
    _syscall(_futex, ctypes.c_void_p(address), FUTEX_WAKE, ALL)


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
