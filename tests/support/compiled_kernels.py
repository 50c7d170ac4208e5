"""Compiled code as tests look at it: called from Python, allocations counted, names read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from numba import njit
from numba.core.runtime import rtsys

from torqued.kernels.compilation import jit
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.compilation.jit import ENTRIES
from torqued.kernels.compilation.sources import digest

#: Numba's runtime functions that compiled code allocates arrays with.
ALLOCATORS = (b"NRT_MemInfo_alloc", b"NRT_MemInfo_varsize_alloc", b"NRT_Allocate")


def from_python(kernel: Callable[..., Any]) -> Callable[..., Any]:
    """Kernels are compiled into what calls them, and Python cannot call them by themselves."""

    @njit
    def call(*arguments):
        return kernel(*arguments)

    return call


def allocations() -> int:
    """So far, in a test that has the fixture `statistics`."""
    return int(rtsys.get_allocation_stats().alloc)


def machine_code(dispatcher: Any) -> bytes:
    """What the cache holds for a function: object code and the names that it refers to."""
    folder = Path(dispatcher.stats.cache_path)
    sources = digest(dispatcher.__module__)
    files = list(folder.glob(f"*.{dispatcher.py_func.__qualname__}-*{sources}*.nbc"))
    assert files
    return b"".join(file.read_bytes() for file in files)


def assert_no_allocator(name: str) -> None:
    """In the machine code of an entry."""
    if jit.CACHE_FOLDER is None:
        pytest.skip(f"machine code is read from the cache: {jit.CACHE_PROBLEM}")
    getattr(COMPILED, name)
    code = machine_code(ENTRIES[name][0])
    assert name.encode() in code  # so names are to be seen in it
    assert not [allocator for allocator in ALLOCATORS if allocator in code]
