"""Which way matrices of a batch take to memory, by how many bytes there are of all of them:

    WRITTEN    as ever, while the first caches and the translations of addresses hold most of it
    FETCHED    as ever, but lines are asked for while the numbers are computed that go there, a row
               at a time: what waits for lines one after the other waits longer than it computes
    STREAMED   past the caches

One thread streams as fast as it computes. But what a processor takes has a limit that its cores
share, and two threads reach it; so where the largest cache holds the results of several threads,
they go there. Lines are asked for into the second level: the first holds what is computed with.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from torqued.kernels.batch.transposition import TILE, data_of
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.primitives.wide import WIDTH

WRITTEN, FETCHED, STREAMED = 0, 1, 2

#: Bytes up to which matrices are written as ever, and the share of a cache that they may have.
LARGE, CACHED_SHARE = 8 * 1024 * 1024, 0.75
#: Bytes of that cache where the system does not tell.
USUAL_CACHE = 16 * 1024 * 1024

NUMBER, LINE = 8, 64
_UNITS = {"K": 1024, "M": 1024**2}
#: What `llvm.prefetch` is told: to read, for the second level, data.
_HINTS = 0, 2, 1


def largest_cache(folder: Path = Path("/sys/devices/system/cpu/cpu0/cache")) -> int:
    """Bytes of the largest cache of a processor."""
    found = [
        re.fullmatch(r"(\d+)([KM])", path.read_text().strip())
        for path in folder.glob("index*/size")
    ]
    sizes = [int(size[1]) * _UNITS[size[2]] for size in found if size]
    return max(sizes, default=USUAL_CACHE)


@intrinsic
def address_of(typing: Any, array: Any) -> Any:
    """Where an array's numbers begin."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        data = data_of(context, builder, sig.args[0], args[0])
        return builder.ptrtoint(data, ir.IntType(64))

    return types.intp(array), generate


@intrinsic
def fetch_line(typing: Any, address: Any) -> Any:
    """Ask for a line of memory, without waiting for it."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        place, number = ir.IntType(8).as_pointer(), ir.IntType(32)
        kind = ir.FunctionType(ir.VoidType(), [place, number, number, number])
        prefetch = builder.module.declare_intrinsic("llvm.prefetch", [place], kind)
        builder.call(prefetch, [builder.inttoptr(args[0], place), *map(number, _HINTS)])
        return context.get_dummy_value()

    return types.void(address), generate


@kernel
def way_of(work, count):
    """The way that matrices take which have so many numbers together."""
    n = len(work.body_of)
    if NUMBER * count < LARGE:
        return WRITTEN
    # Streams fill whole tiles: with an odd number of columns each state would begin elsewhere.
    if NUMBER * count > CACHED_SHARE * work.cache[0] and n >= TILE and n * n % TILE == 0:
        return STREAMED
    return FETCHED


@kernel
def place_of(way, array, start):
    """Where matrices of an array (N, n, n) begin, from state `start` on, for `fetch_row`; 0 where
    there is nothing to fetch."""
    if way != FETCHED or array.size == 0:
        return 0
    return address_of(array) + NUMBER * start * array.shape[1] * array.shape[2]


@kernel
def fetch_row(places, r, n):
    """Ask for the r-th of n parts of a chunk's matrices: as many bytes as a row of all states."""
    size = NUMBER * WIDTH * n
    for place in places:
        if place != 0:
            for at in range(r * size, (r + 1) * size, LINE):
                fetch_line(place + at)
