"""Matrices of a batch on their way out: from wide numbers to arrays (N, n, n)."""

from __future__ import annotations

from torqued.kernels.batch.transposition import (
    TILE,
    store,
    store_one,
    store_tile,
    tile_at,
    tiles_of,
)
from torqued.kernels.compilation.jit import kernel

#: What is taken of a matrix of wide numbers: itself, the symmetric one whose lower triangle it has,
#: or its sum with its transpose.
WHOLE, LOWER, SUM = 0, 1, 2


@kernel
def entry_of(what, X, r, k):
    if what == LOWER:
        return X[max(r, k), min(r, k)]
    if what == SUM:
        return X[r, k] + X[k, r]
    return X[r, k]


@kernel
def store_matrix(what, X, out, first):
    """Matrices of an array (N, n, n), a state each from `first` on; gives their guard, as all of
    transposition.py."""
    n = out.shape[2]
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
