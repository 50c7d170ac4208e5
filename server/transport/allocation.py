"""What the C library has allocated, and what it keeps of memory that is free.

Memory that has been freed is not always given back to the system: not while something lies above
it, and never where memory is locked (mlockall). So what a process has and what it uses differ.
"""

from __future__ import annotations

import ctypes
import os


class MallInfo2(ctypes.Structure):
    """`struct mallinfo2` of <malloc.h>, bytes; glibc sums over the arenas of all threads."""

    _fields_ = tuple(
        (name, ctypes.c_size_t)
        for name in (
            *("arena", "ordblks", "smblks", "hblks", "hblkhd"),
            *("usmblks", "fsmblks", "uordblks", "fordblks", "keepcost"),
        )
    )


_library = ctypes.CDLL(None)
_mallinfo2 = getattr(_library, "mallinfo2", None)  # musl has neither, glibc before 2.33 not this
_malloc_trim = getattr(_library, "malloc_trim", None)
if _mallinfo2 is not None:
    _mallinfo2.restype = MallInfo2

_PAGE = os.sysconf("SC_PAGE_SIZE")


def resident() -> int:
    """Bytes of memory that the process has; takes microseconds and no lock."""
    with open("/proc/self/statm", "rb", buffering=0) as file:
        return int(file.read(128).split()[1]) * _PAGE


def allocated() -> int:
    """Bytes that are in use. Takes the locks of the allocator for a moment, one after another."""
    if _mallinfo2 is None:
        return resident()
    info = _mallinfo2()
    return int(info.uordblks + info.hblkhd)


def give_back() -> None:
    """Have the C library give free memory back to the system; musl does so by itself."""
    if _malloc_trim is not None:
        _malloc_trim(0)
