"""All Christoffel symbols of the first kind: [EW21] Algorithm 2 with three multiplications each.

The bilinear map h(a, b) = B(b, I)ᵀ a of [EW21] eq. 10 has two properties that the paper does not
use: its linear part is zero, and it is antisymmetric, h(a, b) = −h(b, a). With
h_ik = h(S_i, S_k; I^C of the outer of the two bodies) eq. 37-39 become one line,

    Γ_ijk = h_i⌈jk⌉ · ω_⌊jk⌋

where ⌈jk⌉ is the outer and ⌊jk⌋ the inner of columns j and k, and ω the angular part of S. For
columns j, k of one joint (a floating base), ⌈jk⌉ is j: the coefficients with C = Σ_k Γ_ijk ν_k.
"""

from __future__ import annotations

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.kinematics import enter_path, place
from torqued.kernels.primitives.lanes import LANES, add_scaled4, load4, scale4, store4
from torqued.kernels.primitives.layout import TENSOR, VECTOR, WORK
from torqued.kernels.primitives.spatial import coriolis_factor, factor_transposed_times
from torqued.kernels.primitives.tuples import load6, load10
from torqued.kernels.primitives.workspace import block_of, open_work


@kernel
def fill_h(work, k, body):
    """pair[k, i] = h_ik and pair[i, k] = h_ki = −h_ik for columns i on the path of column k."""
    B = coriolis_factor(load10(work.states[work.body_of[k]].I), load6(work.columns[k].S))
    pair = work.pair
    for b in range(block_of(body.depth + LANES - 1)):
        block = work.path[b]
        # Tᵀ ω + ℓ × u, [EW21] eq. 10, of four columns at once
        for r in range(3):
            x = scale4(load4(block.S, 0), B[r])
            x = add_scaled4(x, load4(block.S, 4), B[3 + r])
            x = add_scaled4(x, load4(block.S, 8), B[6 + r])
            x = add_scaled4(x, load4(block.S, 12 + 4 * ((r + 2) % 3)), B[9 + (r + 1) % 3])
            x = add_scaled4(x, load4(block.S, 12 + 4 * ((r + 1) % 3)), -B[9 + (r + 2) % 3])
            store4(block.out, 4 * r, x)
        for lane in range(min(LANES, body.depth - LANES * b)):
            i = block.column[lane]
            for r in range(3):
                pair[k, i, r] = block.out[r, lane]
                pair[i, k, r] = -block.out[r, lane]
    for i in range(body.column, body.column + body.columns):
        h = factor_transposed_times(B, load6(work.columns[i].S))
        for r in range(3):
            pair[k, i, r] = h[r]


@kernel
def fill_block(work, block, lanes, first, last, k, Gamma):
    """Γ_ikj = Γ_ijk = h_ik · ω_j for i from `first` to `last` and columns j of a path block."""
    x, y, z = load4(block.S, 0), load4(block.S, 4), load4(block.S, 8)
    j0, j1, j2, j3 = block.column[0], block.column[1], block.column[2], block.column[3]
    in_a_row = lanes == LANES and j3 - j0 == 3
    n = Gamma.shape[0]
    for i in range(first, last):
        g = scale4(x, work.pair[k, i, 0])
        g = add_scaled4(g, y, work.pair[k, i, 1])
        g = add_scaled4(g, z, work.pair[k, i, 2])
        Gamma[i, j0, k] = g[0]
        if in_a_row:
            store4(Gamma, (i * n + k) * n + j0, g)
            Gamma[i, j1, k] = g[1]
            Gamma[i, j2, k] = g[2]
            Gamma[i, j3, k] = g[3]
        else:
            Gamma[i, k, j0] = g[0]
            if lanes > 1:
                Gamma[i, k, j1] = g[1]
                Gamma[i, j1, k] = g[1]
            if lanes > 2:
                Gamma[i, k, j2] = g[2]
                Gamma[i, j2, k] = g[2]
            if lanes > 3:
                Gamma[i, k, j3] = g[3]
                Gamma[i, j3, k] = g[3]


@kernel
def fill_own(work, j, first, last, k, Gamma):
    """Γ_ikj = h_ik · ω_j for columns j and k of one body."""
    x, y, z = work.columns[j].S[0], work.columns[j].S[1], work.columns[j].S[2]
    for i in range(first, last):
        h = work.pair[k, i]
        Gamma[i, k, j] = h[0] * x + h[1] * y + h[2] * z


@kernel
def fill_christoffel(work, Gamma):
    """Γ; needs place and composite inertias."""
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        for k in range(body.column, body.column + body.columns):
            fill_h(work, k, body)
        enter_path(work, body)
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        for k in range(body.column, body.column + body.columns):
            # Columns i that are related to k: its subtree and its path, stretch by stretch.
            a, last = b, body.end
            while a >= 0:
                first = work.bodies[a].run
                for position in range(0, body.depth, LANES):
                    lanes = min(LANES, body.depth - position)
                    block = work.path[block_of(position)]
                    fill_block(work, block, lanes, first, last, k, Gamma)
                for j in range(body.column, body.column + body.columns):
                    fill_own(work, j, first, last, k, Gamma)
                a = work.bodies[a].above
                if a >= 0:
                    last = work.bodies[a].column + work.bodies[a].columns
        enter_path(work, body)


@entry(WORK, VECTOR, TENSOR)
def christoffel(handle, q, Gamma):
    """Γ[i, j, k], shape (nv, nv, nv).

    Entries whose columns are not all on one path are zero for every q and are left alone: give
    an array that was once filled with zeros. That keeps the cost O(N d²).
    """
    work = open_work(handle)
    place(work, q)
    composite_inertias(work)
    fill_christoffel(work, Gamma)
