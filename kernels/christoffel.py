"""All Christoffel symbols of the first kind: [EW21] Algorithm 2 with three multiplications each.

The bilinear map h(a, b) = B(b, I)ᵀ a of [EW21] eq. 10 has two properties that the paper does not
use: its linear part is zero, and it is antisymmetric, h(a, b) = −h(b, a). With
h_ik = h(S_i, S_k; I^C of the outer of the two bodies) eq. 37-39 become one line,

    Γ_ijk = h_i⌈jk⌉ · ω_⌊jk⌋

where ⌈jk⌉ is the outer and ⌊jk⌋ the inner of columns j and k, and ω the angular part of S. For
columns j, k of one joint (a floating base), ⌈jk⌉ is j: the coefficients with C = Σ_k Γ_ijk ν_k.
"""

from __future__ import annotations

from torqued.kernels.composite import composite_inertias
from torqued.kernels.jit import entry, kernel
from torqued.kernels.kinematics import place
from torqued.kernels.layout import TENSOR, VECTOR, WORK
from torqued.kernels.spatial import (
    coriolis_factor,
    factor_transposed_times,
    load6,
    load10,
)


@kernel
def fill_h(work, h):
    """h[:, i, k] for all related columns; needs place and composite_inertias."""
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        inertia = load10(work.states[b].I)
        for k in range(body.column, body.column + body.columns):
            factor = coriolis_factor(inertia, load6(work.columns[k].S))
            a = b
            while a >= 0:
                inner = work.bodies[a]
                for i in range(inner.run, inner.column + inner.columns):
                    x = factor_transposed_times(factor, load6(work.columns[i].S))
                    for r in range(3):
                        h[r, i, k] = x[r]
                        h[r, k, i] = -x[r]
                a = inner.above


@kernel
def fill_row(work, h, i, b, Gamma):
    """Γ_ikj = Γ_ijk for columns k of body b and j on its path."""
    body = work.bodies[b]
    for k in range(body.column, body.column + body.columns):
        x, y, z = h[0, i, k], h[1, i, k], h[2, i, k]
        a = b
        while a >= 0:
            inner = work.bodies[a]
            for j in range(inner.run, inner.column + inner.columns):
                S = work.columns[j].S
                g = x * S[0] + y * S[1] + z * S[2]
                Gamma[i, k, j] = g
                if j < body.column:
                    Gamma[i, j, k] = g
            a = inner.above


@entry(WORK, VECTOR, TENSOR, TENSOR)
def christoffel(work, q, h, Gamma):
    """Γ[i, j, k], shape (nv, nv, nv); h is scratch (3, nv, nv).

    Entries whose columns are not all on one path are zero for every q and are left alone: give
    an array that was once filled with zeros. That keeps the cost O(N d²).
    """
    place(work, q)
    composite_inertias(work)
    fill_christoffel(work, h, Gamma)


@kernel
def fill_christoffel(work, h, Gamma):
    """Γ; needs place and composite inertias."""
    fill_h(work, h)
    for b in range(len(work.bodies)):
        body = work.bodies[b]
        for i in range(body.column, body.column + body.columns):
            a = body.parent
            while a >= 0:
                fill_row(work, h, i, a, Gamma)
                a = work.bodies[a].parent
            d = b
            while d < len(work.bodies) and work.bodies[d].column < body.end:
                fill_row(work, h, i, d, Gamma)
                d += 1
