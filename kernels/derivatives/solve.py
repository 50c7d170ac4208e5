"""M⁻¹ from the sparse factor M = Lᵀ L, and its products with ∂τ/∂q and ∂τ/∂v.

Rows are padded to whole pairs of blocks of four columns, so that no loop has a remainder.
"""

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.primitives.lanes import LANES, add_scaled4, load4, scale4, store4
from torqued.kernels.primitives.tiles import multiply_tile, subtract_rows

#: Columns in two blocks.
PAIR = 2 * LANES


@kernel
def scale_row(X, k, first, last, factor):
    """X[k] *= factor, in whole blocks."""
    row = k * X.shape[1]
    for j in range(first, last, LANES):
        store4(X, row + j, scale4(load4(X, row + j), factor))


@kernel
def add_row(X, target, source, first, last, factor):
    """X[target] += factor · X[source], in whole blocks."""
    to, of = target * X.shape[1], source * X.shape[1]
    for j in range(first, last, LANES):
        store4(X, to + j, add_scaled4(load4(X, to + j), load4(X, of + j), factor))


@kernel
def fill_half_inverse(work, L, X):
    """X = L⁻ᵀ: row k is zero except for the columns of its subtree."""
    X[:, :] = 0.0
    for k in range(L.shape[0] - 1, -1, -1):
        first, last = k & -LANES, work.bodies[work.body_of[k]].end
        X[k, k] = 1.0
        scale_row(X, k, first, last, 1.0 / L[k, k])
        b = work.body_of[k]
        end = k
        while b >= 0:
            for j in range(work.bodies[b].run, end):
                add_row(X, j, k, first, last, -L[k, j])
            b = work.bodies[b].above
            if b >= 0:
                end = work.bodies[b].column + work.bodies[b].columns


@kernel
def finish_blocks(work, L, X, k, first):
    """Row k of L⁻¹ X in two blocks; the rows of its path are there."""
    b = work.body_of[k]
    end = k
    while b >= 0:
        subtract_rows(X, k, first, L, k, work.bodies[b].run, end)
        b = work.bodies[b].above
        if b >= 0:
            end = work.bodies[b].column + work.bodies[b].columns
    scale_row(X, k, first, first + PAIR, 1.0 / L[k, k])


@kernel
def fill_inverse(work, L, X):
    """X = M⁻¹ = L⁻¹ L⁻ᵀ, both triangles, in padded rows.

    It is symmetric, and right of the diagonal a row needs the others only there.
    """
    fill_half_inverse(work, L, X)
    n, width = X.shape
    for k in range(n):
        for j in range(k & -PAIR, width, PAIR):
            finish_blocks(work, L, X, k, j)
    for k in range(n):
        for j in range(k):
            X[k, j] = X[j, k]


@kernel
def multiply_small(W, X, Y, out_X, out_Y):
    """−W X and −W Y of robots that have fewer columns than a tile."""
    n = W.shape[0]
    for i in range(n):
        for j in range(n):
            x, y = 0.0, 0.0
            for k in range(n):
                x -= W[i, k] * X[k, j]
                y -= W[i, k] * Y[k, j]
            out_X[i, j] = x
            out_Y[i, j] = y


@kernel
def multiply_negated(space, W, X, Y, out_X, out_Y):
    """out_X = −W X and out_Y = −W Y, with W symmetric and X and Y as sparse as M.

    W, X and Y are in padded rows. The last tiles overlap those before them.
    """
    n = W.shape[0]
    if n < LANES:
        multiply_small(W, X, Y, out_X, out_Y)
        return
    for b in range(len(space.related)):
        j = min(LANES * b, n - LANES)
        for i in range(0, n, LANES):
            rows, count = space.related[b], space.related_count[b]
            multiply_tile(W, X, Y, rows, count, min(i, n - LANES), j, out_X, out_Y)
