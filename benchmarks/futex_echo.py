"""A bare futex ping-pong: the least that an exchange through shared memory can cost.

    python futex_echo.py FILE

The server is compiled: it sleeps on the word at byte 64 of a file that both sides map, and puts
what it finds there into the word at byte 128.
"""

from __future__ import annotations

import ctypes
import functools
import mmap
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from numba import njit

from torqued.benchmarks.processes import NotStarted
from torqued.common.system_calls import FUTEX_WAIT, FUTEX_WAKE
from torqued.kernels.primitives.atomics import load_word, store_word
from torqued.kernels.primitives.system_calls import FUTEX_CALL, sleep_on, wake_sleeper

ASKED, ANSWERED = 64, 128  # bytes
SIZE = 4096
SECOND = 1_000_000_000
MAX_WAIT = 120  # s to be answered: at first the server is still being compiled


@njit(nogil=True)
def follow(page, clock):
    """Until killed."""
    count = np.uint32(0)
    while True:
        found = load_word(page + np.uint64(ASKED))
        if found == count:
            sleep_on(page + np.uint64(ASKED), np.int64(count), SECOND, clock)
        else:
            count = found
            store_word(page + np.uint64(ANSWERED), count)
            wake_sleeper(page + np.uint64(ANSWERED))


class Timespec(ctypes.Structure):
    """`struct timespec` of 64-bit machines."""

    _fields_ = (("seconds", ctypes.c_int64), ("nanoseconds", ctypes.c_int64))


def address_of(view: memoryview) -> int:
    """Where a writable view begins in memory."""
    return ctypes.addressof(ctypes.c_char.from_buffer(view))


@contextmanager
def asking(file: Path) -> Iterator[Callable[[], object]]:
    """One exchange with the server that has mapped a file.

    The arguments of both system calls are made ready once, without declared types: that takes a
    third of the time. Only the one that waits gives the interpreter's lock back.
    """
    with file.open("r+b") as opened, mmap.mmap(opened.fileno(), SIZE) as page:
        view = memoryview(page)
        words = view.cast("I")
        address = address_of(view)
        asked, answered = ASKED // 4, ANSWERED // 4
        asked_at, answered_at = (ctypes.c_void_p(address + word) for word in (ASKED, ANSWERED))
        call, quick_call = ctypes.CDLL(None).syscall, ctypes.PyDLL(None).syscall
        wake = functools.partial(quick_call, FUTEX_CALL, asked_at, FUTEX_WAKE, 1)
        wait = functools.partial(call, FUTEX_CALL, answered_at, FUTEX_WAIT)
        limit = ctypes.byref(Timespec(1, 0))

        def exchange() -> None:
            before = words[answered]
            words[asked] = (before + 1) & 0xFFFFFFFF
            wake()
            for _ in range(MAX_WAIT):
                if words[answered] != before:
                    return
                wait(before, limit)
            raise NotStarted("the futex ping-pong gets no answer")

        try:
            yield exchange
        finally:
            words.release()
            view.release()


def serve(file: str) -> None:
    with open(file, "r+b") as opened:
        page = mmap.mmap(opened.fileno(), SIZE)
    follow(np.uint64(address_of(memoryview(page))), np.zeros(2, np.int64))


if __name__ == "__main__":
    serve(sys.argv[1])
