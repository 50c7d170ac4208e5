"""Waking threads that sleep on a word of shared memory: Linux' futexes."""

from __future__ import annotations

import ctypes
import os

from torqued.common.system_calls import FUTEX_WAKE, SYSTEM_CALLS

ALL = 0x7FFFFFFF

_futex = SYSTEM_CALLS.get(os.uname().machine, -1)
_syscall = ctypes.CDLL(None).syscall


def wake(address: int) -> None:
    """Wake all threads that sleep on the word at an address, in any process."""
    _syscall(_futex, ctypes.c_void_p(address), FUTEX_WAKE, ALL)
