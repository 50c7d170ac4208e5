"""Small dense linear algebra in place: Cholesky, minimum-norm solve, LU."""

import math

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.articulated import NOISE, OK, SINGULAR
from torqued.kernels.primitives.layout import MATRIX, VECTOR

#: A pivot below this fraction of the diagonal it came from counts as zero.
RANK_TOLERANCE = 1e-10


@entry(MATRIX)
def cholesky(A):
    """A ← L with A = L Lᵀ, in the lower triangle. Returns a status."""
    return cholesky_above(A, NOISE)


@kernel
def cholesky_above(A, tolerance):
    """cholesky, singular where a pivot is below this fraction of its diagonal."""
    for j in range(A.shape[0]):
        diagonal = A[j, j]
        pivot = diagonal
        for k in range(j):
            pivot -= A[j, k] * A[j, k]
        if not pivot > tolerance * diagonal:
            return SINGULAR
        pivot = math.sqrt(pivot)
        A[j, j] = pivot
        for i in range(j + 1, A.shape[0]):
            x = A[i, j]
            for k in range(j):
                x -= A[i, k] * A[j, k]
            A[i, j] = x / pivot
    return OK


@entry(MATRIX, VECTOR)
def cholesky_solve(L, x):
    """x ← (L Lᵀ)⁻¹ x."""
    n = L.shape[0]
    for i in range(n):
        for k in range(i):
            x[i] -= L[i, k] * x[k]
        x[i] /= L[i, i]
    for i in range(n - 1, -1, -1):
        for k in range(i + 1, n):
            x[i] -= L[k, i] * x[k]
        x[i] /= L[i, i]


@kernel
def rank_factor(K, B, remaining):
    """B (m, r) of full rank with K = B Bᵀ, K positive semi-definite; returns the rank r.

    Cholesky that always takes the largest remaining diagonal. `remaining` (m,) is scratch.
    """
    m = K.shape[0]
    largest = 0.0
    for i in range(m):
        remaining[i] = K[i, i]
        largest = max(largest, K[i, i])
    B[:, :] = 0.0
    for rank in range(m):
        best = 0
        for i in range(1, m):
            if remaining[i] > remaining[best]:
                best = i
        if not remaining[best] > RANK_TOLERANCE * largest:
            return rank
        root = math.sqrt(remaining[best])
        for i in range(m):
            x = K[i, best]
            for k in range(rank):
                x -= B[i, k] * B[best, k]
            B[i, rank] = x / root
            remaining[i] -= B[i, rank] * B[i, rank]
        remaining[best] = 0.0
    return m


@kernel
def gram(B, rank, W):
    """W = the Cholesky factor of Bᵀ B, in its leading rank rows and columns."""
    for i in range(rank):
        for j in range(i + 1):
            x = 0.0
            for k in range(B.shape[0]):
                x += B[k, i] * B[k, j]
            W[i, j] = x
    cholesky(W[:rank, :rank])


@kernel
def pseudo_solve(B, W, rank, b, x, t):
    """x = (B Bᵀ)⁺ b = B (BᵀB)⁻² Bᵀ b; t (≥ rank,) is scratch."""
    for i in range(rank):
        t[i] = 0.0
        for k in range(len(b)):
            t[i] += B[k, i] * b[k]
    cholesky_solve(W[:rank, :rank], t[:rank])
    cholesky_solve(W[:rank, :rank], t[:rank])
    for k in range(len(b)):
        x[k] = 0.0
        for i in range(rank):
            x[k] += B[k, i] * t[i]


@kernel
def lu_solve(A, x):
    """x ← A⁻¹ x by elimination with row exchanges; A is destroyed. Returns a status."""
    n = A.shape[0]
    largest = 0.0
    for i in range(n):
        for j in range(n):
            largest = max(largest, abs(A[i, j]))
    for k in range(n):
        best = k
        for i in range(k + 1, n):
            if abs(A[i, k]) > abs(A[best, k]):
                best = i
        if not abs(A[best, k]) > 1e-13 * largest:
            return SINGULAR
        if best != k:
            for j in range(k, n):
                A[k, j], A[best, j] = A[best, j], A[k, j]
            x[k], x[best] = x[best], x[k]
        for i in range(k + 1, n):
            factor = A[i, k] / A[k, k]
            if factor != 0.0:
                for j in range(k + 1, n):
                    A[i, j] -= factor * A[k, j]
                x[i] -= factor * x[k]
    for i in range(n - 1, -1, -1):
        for j in range(i + 1, n):
            x[i] -= A[i, j] * x[j]
        x[i] /= A[i, i]
    return OK
