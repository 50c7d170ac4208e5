"""Inertial parameters that a body can have: their pseudo-inertia is positive semidefinite.

    P = [ Σ   h ]     Σ = ½ tr(Ī) 1 − Ī   second moments of the mass about the origin
        [ hᵀ  m ]     h = m c

A distribution of positive masses has P ⪰ 0, and every such P is that of one (Wensing, Kim, Slotine,
2018). P and the ten parameters determine each other linearly. Lengths are counted in units of
`reach`, which makes all entries of P masses.
"""

import math

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.dynamics.tracking import PARAMETERS

#: Words of scratch: P, then its eigenvectors.
SCRATCH = 32
#: Rotations of Jacobi's method are quadratic in the end: a few sweeps are exact to rounding.
SWEEPS = 8


@kernel
def fill_pseudo_inertia(load, reach, P):
    """P (4, 4) of (m, h, Ī)."""
    half = 0.5 * (load[4] + load[7] + load[9])
    square = 1.0 / (reach * reach)
    P[0, 0], P[1, 1], P[2, 2] = half - load[4], half - load[7], half - load[9]
    P[0, 1], P[0, 2], P[1, 2] = -load[5], -load[6], -load[8]
    for i in range(3):
        for j in range(i, 3):
            P[i, j] *= square
        P[i, 3] = load[1 + i] / reach
    P[3, 3] = load[0]
    for i in range(4):
        for j in range(i):
            P[i, j] = P[j, i]


@kernel
def fill_parameters(P, reach, load):
    """(m, h, Ī) of P."""
    square = reach * reach
    load[0] = P[3, 3]
    for i in range(3):
        load[1 + i] = reach * P[i, 3]
    load[4] = square * (P[1, 1] + P[2, 2])
    load[7] = square * (P[0, 0] + P[2, 2])
    load[9] = square * (P[0, 0] + P[1, 1])
    load[5], load[6], load[8] = -square * P[0, 1], -square * P[0, 2], -square * P[1, 2]


@kernel
def gradient_of(gradient, reach, G):
    """G (4, 4), symmetric, with Σ G_ij P_ij = gradientᵀ (m, h, Ī)."""
    square = reach * reach
    G[3, 3] = gradient[0]
    for i in range(3):
        G[i, 3] = 0.5 * reach * gradient[1 + i]
    G[0, 0] = square * (gradient[7] + gradient[9])
    G[1, 1] = square * (gradient[4] + gradient[9])
    G[2, 2] = square * (gradient[4] + gradient[7])
    G[0, 1], G[0, 2] = -0.5 * square * gradient[5], -0.5 * square * gradient[6]
    G[1, 2] = -0.5 * square * gradient[8]
    for i in range(4):
        for j in range(i):
            G[i, j] = G[j, i]


@kernel
def diagonalize(P, V):
    """Turn P into the diagonal of its eigenvalues and V into its eigenvectors (Jacobi)."""
    for i in range(4):
        for j in range(4):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        left = 0.0
        for p in range(3):
            for q in range(p + 1, 4):
                left += abs(P[p, q])
                if P[p, q] != 0.0:
                    rotate(P, V, p, q)
        if left == 0.0:
            return


@kernel
def rotate(P, V, p, q):
    """The rotation that makes P[p, q] zero."""
    theta = 0.5 * (P[q, q] - P[p, p]) / P[p, q]
    t = math.copysign(1.0, theta) / (abs(theta) + math.sqrt(theta * theta + 1.0))
    c = 1.0 / math.sqrt(t * t + 1.0)
    s = t * c
    for k in range(4):
        x, y = P[k, p], P[k, q]
        P[k, p], P[k, q] = c * x - s * y, s * x + c * y
    for k in range(4):
        x, y = P[p, k], P[q, k]
        P[p, k], P[q, k] = c * x - s * y, s * x + c * y
    for k in range(4):
        x, y = V[k, p], V[k, q]
        V[k, p], V[k, q] = c * x - s * y, s * x + c * y
    P[p, q], P[q, p] = 0.0, 0.0


@kernel
def project_on_possible(P, V, heaviest):
    """The nearest matrix, entry by entry, with eigenvalues in 0 … heaviest; V is scratch."""
    diagonalize(P, V)
    a = min(max(P[0, 0], 0.0), heaviest)
    b = min(max(P[1, 1], 0.0), heaviest)
    c = min(max(P[2, 2], 0.0), heaviest)
    d = min(max(P[3, 3], 0.0), heaviest)
    for i in range(4):
        for j in range(4):
            P[i, j] = (
                a * V[i, 0] * V[j, 0]
                + b * V[i, 1] * V[j, 1]
                + c * V[i, 2] * V[j, 2]
                + d * V[i, 3] * V[j, 3]
            )


@kernel
def scale_within(load, lower, upper):
    """Make a load smaller as a whole until it is within its bounds, which contain 0."""
    share = 1.0
    for k in range(PARAMETERS):
        if load[k] * share > upper[k]:
            share = upper[k] / load[k]
        if load[k] * share < lower[k]:
            share = lower[k] / load[k]
    for k in range(PARAMETERS):
        load[k] = min(max(load[k] * share, lower[k]), upper[k])
