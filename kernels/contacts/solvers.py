"""Three solvers of the equations of motion with contacts, as in [F16] section 2.2 and RBDL.

    [ M  Gᵀ ] [  a ]   [ τ − bias ]
    [ G  0  ] [ −λ ] = [    γ     ]            [F16] eq. 7

range space   λ from the inverse inertia in contact space K = G M⁻¹ Gᵀ, M factored with the
              sparsity that branches induce
direct        the whole matrix by elimination
null space    a from a basis of the motions that contacts leave free, then λ

Redundant contacts make G rank deficient. Forces are then those of minimum norm, accelerations
those that miss γ least, found in the range space whatever solver was chosen.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
from numba import typeof
from numpy.typing import NDArray

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.contacts.branch_factor import branch_factorize, finish_solve, half_solve
from torqued.kernels.dynamics.articulated import OK, SINGULAR
from torqued.kernels.primitives.arrays import array, zeros
from torqued.kernels.primitives.dense import (
    RANK_TOLERANCE,
    cholesky,
    cholesky_above,
    cholesky_solve,
    gram,
    lu_solve,
    pseudo_solve,
    rank_factor,
)

Array = NDArray[np.float64]

RANGE_SPACE, DIRECT, NULL_SPACE = 0, 1, 2
SOLVERS = {"range_space": RANGE_SPACE, "direct": DIRECT, "null_space": NULL_SPACE}

#: Status bits beside OK and SINGULAR of articulated.py.
RANK_DEFICIENT = 2
CONFLICTING = 4

#: The contacts contradict each other where what they ask for is missed by more than this fraction
#: of it, and by more than rounding: m/s² or rad/s², for impacts m/s or rad/s.
CONFLICT_TOLERANCE = 1e-7
CONFLICT_FLOOR = 1e-9


class ContactSpace(NamedTuple):
    """Results and scratch of contact problems with m rows and n velocities."""

    M: Array = array(float, "n", "n")  # mass matrix
    L: Array = array(float, "n", "n")  # its factor in the lower triangle; branch_factor.py
    bias: Array = array(float, "n")
    G: Array = array(float, "m", "n")  # contact Jacobian
    velocity: Array = array(float, "m")  # G v
    gamma: Array = array(float, "m")
    K: Array = array(float, "m", "m")  # inverse inertia in contact space, G M⁻¹ Gᵀ
    force: Array = array(float, "m")  # λ
    a: Array = array(float, "n")  # accelerations, or velocities after an impact
    redundancy: Array = array(float, "m")  # 0: a row stands alone … 1: others imply it
    Z: Array = array(float, "m", "n")  # scratch: G L⁻¹
    F: Array = array(float, "m", "m")  # scratch: a factor of K
    B: Array = array(float, "m", "m")  # scratch
    rhs: Array = array(float, "m")  # scratch
    kkt: Array = array(float, "whole", "whole")  # scratch of the direct and null-space solvers
    x: Array = array(float, "both")  # scratch
    trial: Array = array(float, "m")  # scratch of friction.py


def contact_space(n: int, m: int, dense: bool) -> ContactSpace:
    """Arrays for m rows; `dense` for the solvers that need the whole matrix."""
    return zeros(ContactSpace, n=n, m=m, both=n + m, whole=n + m if dense else 0)


CONTACT_SPACE = typeof(contact_space(1, 1, True))


@kernel
def fill_contact_inertia(work, space):
    """L, Z = G L⁻¹ and K = Z Zᵀ. Returns a status."""
    m, n = space.G.shape
    if branch_factorize(work, space.M, space.L) != OK:
        return SINGULAR
    for r in range(m):
        for c in range(n):
            space.Z[r, c] = space.G[r, c]
        half_solve(work, space.L, space.Z[r])
    for r in range(m):
        for s in range(r + 1):
            total = 0.0
            for c in range(n):
                total += space.Z[r, c] * space.Z[s, c]
            space.K[r, s] = total
            space.K[s, r] = total
    return OK


@kernel
def is_regular(space):
    """Whether K has full rank; leaves its Cholesky factor in F."""
    m = len(space.rhs)
    for r in range(m):
        space.redundancy[r] = 0.0
        for s in range(r + 1):
            space.F[r, s] = space.K[r, s]
    return cholesky_above(space.F, RANK_TOLERANCE) == OK


@kernel
def solve_forces(space):
    """force = K⁻¹ rhs, or the shortest that comes nearest. Returns status bits."""
    if not is_regular(space):
        return shortest_forces(space)
    for r in range(len(space.rhs)):
        space.force[r] = space.rhs[r]
    cholesky_solve(space.F, space.force)
    return OK


@kernel
def missed(space, row):
    """How far the forces leave one row from its right-hand side."""
    miss = space.rhs[row]
    for s in range(len(space.force)):
        miss -= space.K[row, s] * space.force[s]
    return miss


@kernel
def shortest_forces(space):
    """Minimum-norm force for a singular K, the rows that are redundant, and conflicts."""
    m = len(space.rhs)
    rank = rank_factor(space.K, space.B, space.redundancy)
    gram(space.B, rank, space.F)
    pseudo_solve(space.B, space.F, rank, space.rhs, space.force, space.x)
    miss, size = 0.0, 0.0
    for r in range(m):
        miss = max(miss, abs(missed(space, r)))
        size = max(size, abs(space.rhs[r]))
    # The diagonal of the projector onto forces that move nothing: 1 − B (BᵀB)⁻¹ Bᵀ.
    for r in range(m):
        for i in range(rank):
            space.x[i] = space.B[r, i]
        cholesky_solve(space.F[:rank, :rank], space.x[:rank])
        space.redundancy[r] = 1.0
        for i in range(rank):
            space.redundancy[r] -= space.B[r, i] * space.x[i]
    status = OK if rank == m else RANK_DEFICIENT
    if miss > CONFLICT_TOLERANCE * size + CONFLICT_FLOOR:
        status |= CONFLICTING
    return status


@kernel
def solve_range_space(work, tau, space):
    """a and λ through K. Returns status bits."""
    m, n = space.G.shape
    if fill_contact_inertia(work, space) != OK:
        return SINGULAR
    free = space.a
    for c in range(n):
        free[c] = tau[c] - space.bias[c]
    half_solve(work, space.L, free)
    for r in range(m):
        total = space.gamma[r]
        for c in range(n):
            total -= space.Z[r, c] * free[c]
        space.rhs[r] = total
    status = solve_forces(space)
    for r in range(m):
        for c in range(n):
            free[c] += space.Z[r, c] * space.force[r]
    finish_solve(work, space.L, free)
    return status


@kernel
def solve_direct(tau, space):
    """a and λ by elimination of the whole matrix. Returns a status."""
    m, n = space.G.shape
    space.kkt[:, :] = 0.0
    for i in range(n):
        for j in range(n):
            space.kkt[i, j] = space.M[i, j]
        space.x[i] = tau[i] - space.bias[i]
    for r in range(m):
        for c in range(n):
            space.kkt[n + r, c] = space.G[r, c]
            space.kkt[c, n + r] = space.G[r, c]
        space.x[n + r] = space.gamma[r]
    if lu_solve(space.kkt, space.x) != OK:
        return SINGULAR
    for c in range(n):
        space.a[c] = space.x[c]
    for r in range(m):
        space.force[r] = -space.x[n + r]
    return OK


@kernel
def householder(Q, n, m):
    """QR of the leading n x m part of Q: R on and above the diagonal, reflectors below.

    The reflectors' first entries are kept in row n. Returns a status: full rank or not.
    """
    for k in range(m):
        norm = 0.0
        whole = 0.0
        for i in range(n):
            whole += Q[i, k] * Q[i, k]
            if i >= k:
                norm += Q[i, k] * Q[i, k]
        if not norm > RANK_TOLERANCE * whole:
            return SINGULAR
        norm = math.sqrt(norm)
        alpha = -norm if Q[k, k] > 0.0 else norm
        head = Q[k, k] - alpha
        beta = -1.0 / (alpha * head)
        Q[n, k] = head
        for j in range(k + 1, m):
            total = head * Q[k, j]
            for i in range(k + 1, n):
                total += Q[i, k] * Q[i, j]
            total *= beta
            Q[k, j] -= total * head
            for i in range(k + 1, n):
                Q[i, j] -= total * Q[i, k]
        Q[k, k] = alpha
    return OK


@kernel
def reflect(Q, n, k, x):
    """Apply reflector k to x (n,)."""
    head, alpha = Q[n, k], Q[k, k]
    total = head * x[k]
    for i in range(k + 1, n):
        total += Q[i, k] * x[i]
    total *= -1.0 / (alpha * head)
    x[k] -= total * head
    for i in range(k + 1, n):
        x[i] -= total * Q[i, k]


@kernel
def solve_null_space(tau, space):
    """a in the basis [range of Gᵀ, null space of G] of a QR of Gᵀ, then λ. Returns a status.

    Right angles between velocities in different units mean nothing: all are first scaled by the
    roots of their inertias, so that the result does not depend on the unit of length.
    """
    m, n = space.G.shape
    Q, x = space.kkt, space.x
    if m > n or n == 0:
        return SINGULAR
    scales = space.L[0]  # which is filled later
    for c in range(n):
        if not space.M[c, c] > 0.0:
            return SINGULAR
        scales[c] = 1.0 / math.sqrt(space.M[c, c])
        for r in range(m):
            Q[c, r] = space.G[r, c] * scales[c]
    if householder(Q, n, m) != OK:
        return SINGULAR
    # M in the new basis, in columns m … m + n of the scratch: H = Qᵀ M Q, one reflector at a time.
    H = Q[:n, m : m + n]
    for i in range(n):
        for j in range(n):
            H[i, j] = space.M[i, j] * (scales[i] * scales[j])
    for k in range(m):
        for j in range(n):
            reflect(Q, n, k, H[j])
        for j in range(n):
            reflect(Q, n, k, H[:, j])
    for c in range(n):
        x[c] = (tau[c] - space.bias[c]) * scales[c]
    for k in range(m):
        reflect(Q, n, k, x)
    # Along the contacts: Rᵀ y = γ. Beside them: H_zz z = x_z − H_zy y.
    a = space.a
    for r in range(m):
        total = space.gamma[r]
        for k in range(r):
            total -= Q[k, r] * a[k]
        a[r] = total / Q[r, r]
    for i in range(m, n):
        a[i] = x[i]
        for k in range(m):
            a[i] -= H[i, k] * a[k]
    if m < n:
        free = H[m:, m:]
        if cholesky(free) != OK:
            return SINGULAR
        cholesky_solve(free, a[m:])
    # R λ = H_y· a − x_y; the lower triangle of H_zz was destroyed, the first m rows were not.
    for r in range(m - 1, -1, -1):
        total = -x[r]
        for c in range(n):
            total += H[r, c] * a[c]
        for k in range(r + 1, m):
            total -= Q[r, k] * space.force[k]
        space.force[r] = total / Q[r, r]
    for k in range(m - 1, -1, -1):
        reflect(Q, n, k, a)
    for c in range(n):
        a[c] *= scales[c]
    return OK
