"""All Christoffel symbols of the first kind: [EW21] Algorithm 2 with three multiplications each.

The bilinear map h(a, b) = B(b, I)ᵀ a of [EW21] eq. 10 has two properties that the paper does not
use: its linear part is zero, and it is antisymmetric, h(a, b) = −h(b, a). With
h_ik = h(S_i, S_k; I^C of the outer of the two bodies) eq. 37-39 become one line,

    Γ_ijk = h_i⌈jk⌉ · ω_⌊jk⌋

where ⌈jk⌉ is the outer and ⌊jk⌋ the inner of columns j and k, and ω the angular part of S. For
columns j, k of one joint (a floating base), ⌈jk⌉ is j: the coefficients with C = Σ_k Γ_ijk ν_k.
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.kinematics import body_poses
from torqued.kernels.dynamics.pairs import (
    dots3,
    kept,
    load_rows3,
    on_diagonal,
    put_tile,
    reach,
    tile3,
    tile_start,
)
from torqued.kernels.primitives.lanes import LANES, add_scaled4, load4, scale4, store4, transpose4
from torqued.kernels.primitives.layout import TENSOR, VECTOR, WORK
from torqued.kernels.primitives.spatial import coriolis_factor, dot, factor_transposed_times
from torqued.kernels.primitives.tuples import load3, load6, load10, load12, store_column12
from torqued.kernels.primitives.workspace import open_work


@kernel
def fill_factors(work):
    """F[0 … 11] = B(S_k, I^C_k), F[12 … 14] = ω_k; needs body_poses and composite_inertias."""
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        inertia = load10(work.states[b].I)
        for k in range(body.column, body.column + body.columns):
            S = load6(work.columns[k].S)
            store_column12(work.F, k, coriolis_factor(inertia, S))
            work.F[12, k], work.F[13, k], work.F[14, k] = S[0], S[1], S[2]


@kernel
def h_row(S, r, T, p, q):
    """Number r of Tᵀ ω + ℓ × u, [EW21] eq. 10, for one column i and four columns k: a column of T,
    and the two numbers of ℓ after r."""
    x = dots3(S, T)
    return add_scaled4(add_scaled4(x, p, S[3 + (r + 2) % 3]), q, -S[3 + (r + 1) % 3])


@kernel
def h_tile(work, i, k, r):
    """Number r of h_ik for the columns i … i + 3 and k … k + 3."""
    F, n = work.F, len(work.columns)
    T = load4(F, r * n + k), load4(F, (3 + r) * n + k), load4(F, (6 + r) * n + k)
    p, q = load4(F, (9 + (r + 1) % 3) * n + k), load4(F, (9 + (r + 2) % 3) * n + k)
    columns = work.columns
    tile = (
        h_row(columns[i].S, r, T, p, q),
        h_row(columns[i + 1].S, r, T, p, q),
        h_row(columns[i + 2].S, r, T, p, q),
        h_row(columns[i + 3].S, r, T, p, q),
    )
    return kept(work, i, k, tile)


@kernel
def negated(tile):
    return (
        scale4(tile[0], -1.0),
        scale4(tile[1], -1.0),
        scale4(tile[2], -1.0),
        scale4(tile[3], -1.0),
    )


@kernel
def fill_h(work):
    """h[i, :, k] = h_ik = −h_ki; needs fill_factors. Pairs that are not related stay zero."""
    n = len(work.columns)
    for row in range(0, n, LANES):
        i = tile_start(row, n)
        far = reach(work.ends, i)
        for column in range(row + LANES, n, LANES):
            k = tile_start(column, n)
            if k < far:
                for r in range(3):
                    tile = h_tile(work, i, k, r)
                    put_tile(work.h, (3 * i + r) * n + k, 3 * n, tile)
                    put_tile(work.h, (3 * k + r) * n + i, 3 * n, negated(transpose4(tile)))
        for r in range(3):
            tile = h_tile(work, i, i, r)
            put_tile(work.h, (3 * i + r) * n + i, 3 * n, on_diagonal(tile, negated(tile)))


@kernel
def is_related(ends, i, k):
    """Whether column i is on one path with one of the columns k … k + 3."""
    return k < ends[i] if i < k else i < reach(ends, k)


@kernel
def fill_tiles(work, Gamma):
    """Γ_ijk = Γ_ikj = h_ik · ω_j for columns j inside of column k."""
    n = len(work.columns)
    for i in range(n):
        start = i * n * n
        for column in range(0, n, LANES):
            k = tile_start(column, n)
            if is_related(work.ends, i, k):
                h = load_rows3(work.h[i], 0, k)
                for j in range(0, column, LANES):
                    if k < reach(work.ends, j):
                        tile = tile3(work, j, k, h)
                        put_tile(Gamma, start + j * n + k, n, tile)
                        put_tile(Gamma, start + k * n + j, n, transpose4(tile))
                tile = tile3(work, k, k, h)
                put_tile(Gamma, start + k * n + k, n, on_diagonal(tile, tile))


@kernel
def fill_own(work, body, Gamma):
    """Γ_ijk = h_ij · ω_k for columns j and k of one body: six of them at most."""
    n = len(work.columns)
    first, last = body.column, body.column + body.columns
    if body.columns < LANES:
        for i in range(n):
            for j in range(first, last):
                for k in range(first, last):
                    Gamma[i, j, k] = dot(load3(work.h[i, :, j]), load3(work.F[12:, k]))
        return
    left, right = load_rows3(work.F, 12, first), load_rows3(work.F, 12, last - LANES)
    for i in range(n):
        for j in range(first, last):
            h = (work.h[i, 0, j], work.h[i, 1, j], work.h[i, 2, j])
            row = (i * n + j) * n
            store4(Gamma, row + first, dots3(h, left))
            store4(Gamma, row + last - LANES, dots3(h, right))


@kernel
def fill_small(work, Gamma):
    """Of a robot of less than four columns: all of Γ; needs fill_factors."""
    n = len(work.columns)
    for k in range(n):
        B = load12(work.F[:12, k])
        for i in range(k + 1):
            if k < work.ends[i]:
                x = factor_transposed_times(B, load6(work.columns[i].S))
                for r in range(3):
                    work.h[i, r, k], work.h[k, r, i] = x[r], -x[r]
    for i in range(n):
        for j in range(n):
            for k in range(j, n):
                if k < work.ends[j]:  # h is zero where i and k are not related
                    x = dot(load3(work.h[i, :, k]), load3(work.F[12:, j]))
                    Gamma[i, j, k], Gamma[i, k, j] = x, x


@kernel
def fill_christoffel(work, Gamma):
    """Γ; needs body_poses and composite inertias."""
    fill_factors(work)
    if len(work.columns) < LANES:
        fill_small(work, Gamma)
    else:
        fill_h(work)
        fill_tiles(work, Gamma)
    for b in range(len(work.bodies)):
        if work.bodies[b].columns > 1:
            fill_own(work, work.bodies[b], Gamma)


@entry(WORK, VECTOR, TENSOR)
def christoffel(handle, q, Gamma):
    """Γ[i, j, k], shape (nv, nv, nv).

    Entries whose columns are not all on one path are zero for every q and are left alone: give
    an array that was once filled with zeros. That keeps the cost O(N d²).
    """
    work = open_work(handle)
    body_poses(work, q)
    composite_inertias(work)
    fill_christoffel(work, Gamma)
