"""Eigenvalues of small symmetric matrices, by Jacobi's rotations: no scratch, nothing diverges."""

import math

from torqued.kernels.compilation.jit import entry, routine
from torqued.kernels.primitives.layout import MATRIX

#: Sweeps over all pairs at most; six to eight are enough for matrices of six rows.
SWEEPS = 20
#: What counts as diagonal: squares beside it, relative to those on it.
DIAGONAL = 1e-30


@entry(MATRIX, MATRIX)
def symmetric_eigenvalues(A, V):
    """A ← its eigenvalues on the diagonal, V ← their eigenvectors as columns."""
    diagonalize(A, V)


@routine
def diagonalize(A, V):
    """symmetric_eigenvalues for kernels."""
    n = A.shape[0]
    for i in range(n):
        for j in range(n):
            V[i, j] = 1.0 if i == j else 0.0
    for _ in range(SWEEPS):
        beside, on = 0.0, 0.0
        for i in range(n):
            on += A[i, i] * A[i, i]
            for j in range(i):
                beside += A[i, j] * A[i, j]
        if not beside > DIAGONAL * on:
            return
        for p in range(n - 1):
            for q in range(p + 1, n):
                rotate_pair(A, V, p, q)


@routine
def rotate_pair(A, V, p, q):
    """Turn rows and columns p, q so that A[p, q] becomes zero."""
    x = A[p, q]
    if x == 0.0:
        return
    half = 0.5 * (A[q, q] - A[p, p]) / x
    t = 1.0 / (abs(half) + math.sqrt(1.0 + half * half))
    if half < 0.0:
        t = -t
    c = 1.0 / math.sqrt(1.0 + t * t)
    s = t * c
    A[p, p] -= t * x
    A[q, q] += t * x
    A[p, q] = A[q, p] = 0.0
    for k in range(A.shape[0]):
        if k not in (p, q):
            a, b = A[k, p], A[k, q]
            A[k, p] = A[p, k] = c * a - s * b
            A[k, q] = A[q, k] = s * a + c * b
        a, b = V[k, p], V[k, q]
        V[k, p], V[k, q] = c * a - s * b, s * a + c * b
