"""Whether the installed numba compiles what torqued expects: a known computation at the start.

It goes the ways that all kernels go: arrays opened from an address, four numbers side by side, the
entry bound without dispatch, the same as a C function, and the cache on the disk.
"""

from __future__ import annotations

import ctypes
from functools import cache
from typing import NamedTuple

import numpy as np
from numba import types

from torqued.kernels.compilation.jit import CACHE_FOLDER, ENTRIES, address_of, bind, entry
from torqued.kernels.compilation.numba_internals import VERSIONS, ToolchainError, config
from torqued.kernels.primitives.arrays import Floats, Indices, Layout, Records, array
from torqued.kernels.primitives.lanes import LANES, add_scaled4, load4, scale4, store4

POINT = np.dtype([("kind", "i8"), ("x", "f8", (3,))], align=True)


class SampleSizes(NamedTuple):
    rows: int
    points: int


class Sample(NamedTuple):
    table: Floats = array(float, "rows", LANES)
    sum: Floats = array(float, LANES)
    order: Indices = array(int, "points")
    points: Records = array(POINT, "points")


SAMPLE = Layout(Sample, SampleSizes)
_open, _open_sizes = SAMPLE.open, SAMPLE.open_sizes


@entry(types.int64)
def self_test(address):
    """A number that depends on every word of the sample."""
    sizes, sample = _open_sizes(address), _open(address)
    total = scale4(load4(sample.table, 0), 1.0)
    for r in range(1, sizes.rows):
        total = add_scaled4(total, load4(sample.table, LANES * r), r + 1.0)
    store4(sample.sum, 0, total)
    found = 0.0
    for k in range(LANES):
        found += (k + 1) * sample.sum[k]
    for k in range(sizes.points):
        point = sample.points[sample.order[k]]
        found += (k + 1) * point.kind * point.x[2]
    return int(found)


@cache
def require_numba() -> None:
    """Raises unless compiled code, its entry points and its cache work as they should."""
    memory = SAMPLE.allocate(SampleSizes(rows=3, points=2))
    sample = memory.arrays
    sample.table[:] = np.arange(12.0).reshape(3, 4)
    sample.order[:] = [1, 0]
    sample.points.kind[:] = [3, 5]
    sample.points.x[:] = [[0.0, 0.0, 7.0], [0.0, 0.0, 11.0]]
    # Σ_k (k+1) Σ_r (r+1) table[r, k] = 440, and 1·5·11 + 2·3·7 = 97.
    expected = 537
    found = {"an entry": bind(self_test)(memory.address)}
    if not config.DISABLE_JIT:
        as_c_function = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)
        found["a C function"] = as_c_function(address_of("self_test"))(memory.address)
        stats = ENTRIES["self_test"][0].stats
        if CACHE_FOLDER is not None and not (stats.cache_hits or stats.cache_misses):
            raise ToolchainError(f"{VERSIONS} is not supported: it does not ask for cached code")
    for call, value in found.items():
        if value != expected:
            raise ToolchainError(
                f"{VERSIONS} is not supported: called as {call}, "
                f"compiled code gives {value} instead of {expected}"
            )
