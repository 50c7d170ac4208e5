"""Small dense linear algebra in place: Cholesky factorization and solve."""

from __future__ import annotations

import math

from torqued.kernels.articulated import OK, SINGULAR
from torqued.kernels.jit import entry
from torqued.kernels.layout import MATRIX, VECTOR


@entry(MATRIX)
def cholesky(A):
    """A ← L with A = L Lᵀ, in the lower triangle. Returns a status."""
    for j in range(A.shape[0]):
        pivot = A[j, j]
        for k in range(j):
            pivot -= A[j, k] * A[j, k]
        if not pivot > 0.0:
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
