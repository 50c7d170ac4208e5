"""Matrices of a batch on their way out: from wide numbers to arrays (N, n, n).

Large arrays are streamed: stored past the caches (stores.py). A processor gathers what is streamed
in whole lines, so nothing else may touch a line meanwhile: numbers leave in the order in which they
lie in memory, row after row, and where a state ends within a tile the next one's first numbers go
with it.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba import types
from numba.extending import intrinsic

from torqued.kernels.batch.stores import NONTEMPORAL, NUMBER, address_of
from torqued.kernels.batch.transposition import (
    TILE,
    TILE_TYPE,
    data_of,
    store,
    store_one,
    store_tile,
    tile_at,
    tiles_of,
    turned,
)
from torqued.kernels.compilation.jit import kernel, routine
from torqued.kernels.primitives.wide import WIDE, WIDTH, lane

TILE_BYTES = NUMBER * TILE

#: What is taken of a matrix of wide numbers: itself, the symmetric one whose lower triangle it has,
#: or its sum with its transpose.
WHOLE, LOWER, SUM = 0, 1, 2


def _streamer(lanes: int) -> Any:
    @intrinsic
    def stream(
        typing: Any, array: Any, start: Any, stride: Any, a: Any, b: Any, c: Any, d: Any
    ) -> Any:
        """`scatter_tile` past the caches. Places have to be multiples of a tile's size."""

        def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            data, place = data_of(context, builder, sig.args[0], args[0]), args[1]
            once = builder.module.add_metadata([ir.IntType(32)(1)])
            for tile in turned(builder, *args[3:])[:lanes]:
                where = builder.bitcast(builder.gep(data, [place]), TILE_TYPE.as_pointer())
                builder.store(tile, where, align=TILE_BYTES).set_metadata("nontemporal", once)
                place = builder.add(place, args[2])
            return context.get_dummy_value()

        return types.void(array, types.intp, types.intp, WIDE, WIDE, WIDE, WIDE), generate

    return stream


#: Of all lanes, and of all but the last.
stream_tile, stream_all_but_last = _streamer(WIDTH), _streamer(WIDTH - 1)


@intrinsic
def of_next_lane(typing: Any, x: Any) -> Any:
    """In each lane the number of the next one; what is in the last one has no meaning."""

    def generate(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        mask = [min(k + 1, WIDTH - 1) for k in range(WIDTH)]
        lanes = ir.Constant(ir.VectorType(ir.IntType(32), WIDTH), mask)
        return builder.shuffle_vector(args[0], args[0], lanes)

    return WIDE(WIDE), generate


@kernel
def entry_of(what, X, r, k):
    if what == LOWER:
        return X[max(r, k), min(r, k)]
    if what == SUM:
        return X[r, k] + X[k, r]
    return X[r, k]


@kernel
def entry_after(what, X, r, k):
    """The same, where k may have come to the next row, and there to the next state."""
    n = X.shape[1]
    if k < n:
        return entry_of(what, X, r, k)
    if r + 1 < n:
        return entry_of(what, X, r + 1, k - n)
    return of_next_lane(entry_of(what, X, 0, k - n))


@kernel
def store_matrix(what, X, out, first, store_mode):
    """Matrices of an array (N, n, n), a state each from `first` on; gives their guard, as all of
    transposition.py."""
    n = out.shape[2]
    if store_mode == NONTEMPORAL:
        return stream_matrix(what, X, out, first)
    if what == WHOLE:
        return store(X.reshape(-1), out.reshape(len(out), -1), first)
    size = n * n
    nan_guard = 0.0 * X[0, 0]
    for r in range(n):
        row = first * size + r * n
        if n < TILE:
            for k in range(n):
                nan_guard += store_one(out, row + k, size, entry_of(what, X, r, k))
        else:
            for t in range(tiles_of(n)):
                k = tile_at(t, n)
                a, b = entry_of(what, X, r, k), entry_of(what, X, r, k + 1)
                c, d = entry_of(what, X, r, k + 2), entry_of(what, X, r, k + 3)
                nan_guard += store_tile(out, row + k, size, a, b, c, d)
    return nan_guard


@routine
def stream_matrix(what, X, out, first):
    """The same past the caches, for matrices that are whole tiles."""
    n = out.shape[2]
    size = n * n
    start = first * size
    # Numbers before the first place for a tile: as many in each state, since all are whole tiles.
    ahead = -(address_of(out) // NUMBER + start) % TILE
    nan_guard = 0.0 * X[0, 0]
    k = ahead
    for r in range(n):
        row = start + r * n
        while k + TILE <= n:
            a, b = entry_of(what, X, r, k), entry_of(what, X, r, k + 1)
            c, d = entry_of(what, X, r, k + 2), entry_of(what, X, r, k + 3)
            stream_tile(out, row + k, size, a, b, c, d)
            nan_guard += 0.0 * a + 0.0 * b + 0.0 * c + 0.0 * d
            k += TILE
        if k < n:
            a, b = entry_of(what, X, r, k), entry_after(what, X, r, k + 1)
            c, d = entry_after(what, X, r, k + 2), entry_after(what, X, r, k + 3)
            if r + 1 < n:
                stream_tile(out, row + k, size, a, b, c, d)
            else:
                stream_all_but_last(out, row + k, size, a, b, c, d)
            nan_guard += 0.0 * a + 0.0 * b + 0.0 * c + 0.0 * d
            k += TILE
        k -= n
    # Where the chunk begins and ends within a tile, the rest of which is a neighbour's.
    numbers = out.reshape(-1)
    for k in range(ahead):
        x = entry_of(what, X, 0, k)
        numbers[start + k] = lane(x, 0)
        nan_guard += 0.0 * x
    for k in range(n - (TILE - ahead) % TILE, n):
        numbers[start + WIDTH * size - n + k] = lane(entry_of(what, X, n - 1, k), WIDTH - 1)
    return nan_guard
