"""Matrices over pairs of columns, four by four entries at a time.

Columns are in depth-first order: those that move with column i are i … ends[i]. With the forces of
all columns side by side (`Work.F`), four entries of row i beside each other are

    Σ_r S_i[r] F[r, c … c + 3]        and zero from column ends[i] on

Four such rows are a tile. Turned around in registers, it is also the tile on the other side of the
diagonal: no indices of a path, and one store for four entries.

Where four does not divide n, the last tile of a row begins at n − 4 and overlaps the one before. It
may then have entries below the diagonal, which mean nothing: the last tile on the diagonal writes
over all of them, and has to come last. Robots of less than four columns have no tile.
"""

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.primitives.lanes import (
    LANES,
    add_scaled4,
    keep4,
    load4,
    scale4,
    store4,
    transpose4,
)

ZERO4 = (0.0, 0.0, 0.0, 0.0)
ZERO_TILE = (ZERO4, ZERO4, ZERO4, ZERO4)


@kernel
def tile_start(position, n):
    """The first column of a tile, of which the last one is to end at n."""
    return min(position, n - LANES)


@kernel
def reach(ends, i):
    """One past the last column that moves with any of the columns i … i + 3."""
    return max(max(ends[i], ends[i + 1]), max(ends[i + 2], ends[i + 3]))


@kernel
def load_rows3(F, row, c):
    """Three rows of F, of the columns c … c + 3."""
    n = F.shape[1]
    at = row * n + c
    return load4(F, at), load4(F, at + n), load4(F, at + 2 * n)


@kernel
def load_rows6(F, row, c):
    return load_rows3(F, row, c) + load_rows3(F, row + 3, c)


@kernel
def dots3(S, F):
    """The first three numbers of S with three rows: four sums."""
    return add_scaled4(add_scaled4(scale4(F[0], S[0]), F[1], S[1]), F[2], S[2])


@kernel
def add_dots6(x, S, F):
    """x + Sᵀ F of four columns."""
    x = add_scaled4(add_scaled4(add_scaled4(x, F[0], S[0]), F[1], S[1]), F[2], S[2])
    return add_scaled4(add_scaled4(add_scaled4(x, F[3], S[3]), F[4], S[4]), F[5], S[5])


@kernel
def dots6(S, F):
    x = dots3(S, F)
    return add_scaled4(add_scaled4(add_scaled4(x, F[3], S[3]), F[4], S[4]), F[5], S[5])


@kernel
def kept(work, i, c, tile):
    """The tile without what does not move with its row's column."""
    ends = work.ends
    return (
        keep4(tile[0], ends[i] - c),
        keep4(tile[1], ends[i + 1] - c),
        keep4(tile[2], ends[i + 2] - c),
        keep4(tile[3], ends[i + 3] - c),
    )


@kernel
def tile3(work, i, c, F):
    """ω_iᵀ F of the columns i … i + 3 and c … c + 3, given three rows of F."""
    columns = work.columns
    tile = (
        dots3(columns[i].S, F),
        dots3(columns[i + 1].S, F),
        dots3(columns[i + 2].S, F),
        dots3(columns[i + 3].S, F),
    )
    return kept(work, i, c, tile)


@kernel
def tile6(work, i, c, F):
    """S_iᵀ F, given six rows."""
    columns = work.columns
    tile = (
        dots6(columns[i].S, F),
        dots6(columns[i + 1].S, F),
        dots6(columns[i + 2].S, F),
        dots6(columns[i + 3].S, F),
    )
    return kept(work, i, c, tile)


@kernel
def tile9(work, i, c, F, F3):
    """Ṡ_iᵀ F + ω_iᵀ F3, given six rows and three."""
    columns = work.columns
    tile = (
        add_dots6(dots3(columns[i].S, F3), columns[i].Sdot, F),
        add_dots6(dots3(columns[i + 1].S, F3), columns[i + 1].Sdot, F),
        add_dots6(dots3(columns[i + 2].S, F3), columns[i + 2].Sdot, F),
        add_dots6(dots3(columns[i + 3].S, F3), columns[i + 3].Sdot, F),
    )
    return kept(work, i, c, tile)


@kernel
def add_tiles(a, b):
    return (
        add_scaled4(a[0], b[0], 1.0),
        add_scaled4(a[1], b[1], 1.0),
        add_scaled4(a[2], b[2], 1.0),
        add_scaled4(a[3], b[3], 1.0),
    )


@kernel
def on_diagonal(upper, lower):
    """A tile with the entries of `upper` from the diagonal on, and of `lower`ᵀ before it."""
    a, b, c, d = upper
    x, y, z, _ = lower
    return (
        a,
        (x[1], b[1], b[2], b[3]),
        (x[2], y[2], c[2], c[3]),
        (x[3], y[3], z[3], d[3]),
    )


@kernel
def put_tile(out, place, stride, tile):
    """Write a tile to `place` of an array in row order, a row every `stride` numbers."""
    store4(out, place, tile[0])
    store4(out, place + stride, tile[1])
    store4(out, place + 2 * stride, tile[2])
    store4(out, place + 3 * stride, tile[3])


@kernel
def put_tiles(M, i, c, tile, mirrored):
    """Rows i … i + 3 of columns c … c + 3, and across the diagonal `mirrored`, turned around."""
    n = M.shape[1]
    put_tile(M, i * n + c, n, tile)
    put_tile(M, c * n + i, n, transpose4(mirrored))
