"""exp and dexp of 4x4 and 6x6 matrices by their series, in 60 decimal digits."""

from __future__ import annotations

from decimal import Decimal, localcontext
from typing import Any

import numpy as np

DIGITS = 60
#: Terms of the series: 8^n / n! is below 1e-60 there.
TERMS = 120

Matrix = list[list[Decimal]]


def _exact(matrix: Any) -> Matrix:
    return [[Decimal(float(x)) for x in row] for row in np.asarray(matrix)]


def _product(A: Matrix, B: Matrix) -> Matrix:
    columns = list(zip(*B, strict=True))
    return [[sum(x * y for x, y in zip(row, c, strict=True)) for c in columns] for row in A]


def _series(X: Matrix, shift: int) -> Matrix:
    """Σ Xⁿ / (n + shift)!."""
    n = len(X)
    term = [[Decimal(int(i == j)) for j in range(n)] for i in range(n)]
    total = [row[:] for row in term]
    for k in range(1, TERMS):
        term = [[x / (k + shift) for x in row] for row in _product(term, X)]
        total = [
            [x + y for x, y in zip(a, b, strict=True)] for a, b in zip(total, term, strict=True)
        ]
    return total


def _skew(w: Any) -> Any:
    return np.array([[0.0, -w[2], w[1]], [w[2], 0.0, -w[0]], [-w[1], w[0], 0.0]])


def exp(x: Any) -> Matrix:
    """Of the rotation vector or twist as it is in float64."""
    with localcontext(prec=DIGITS):
        X = _skew(x[:3])
        if len(x) == 6:
            X = np.block([[X, np.reshape(x[3:], (3, 1))], [np.zeros((1, 4))]])
        return _series(_exact(X), 0)


def dexp(x: Any) -> Matrix:
    """Σ ad_xⁿ / (n + 1)!, the definition."""
    with localcontext(prec=DIGITS):
        X = _skew(x[:3])
        if len(x) == 6:
            X = np.block([[X, np.zeros((3, 3))], [_skew(x[3:]), X]])
        return _series(_exact(X), 1)


def difference(found: Any, exact: Matrix) -> float:
    """The largest, before it is rounded."""
    with localcontext(prec=DIGITS):
        return float(
            max(
                abs(Decimal(float(x)) - y)
                for row, other in zip(np.asarray(found), exact, strict=True)
                for x, y in zip(row, other, strict=True)
            )
        )


def residual_of_inverse(found: Any, exact: Matrix) -> float:
    """The largest entry of found · exact − 1."""
    with localcontext(prec=DIGITS):
        product = _product(_exact(found), exact)
        return float(
            max(abs(x - int(i == j)) for i, row in enumerate(product) for j, x in enumerate(row))
        )


def rounded(exact: Matrix) -> Any:
    return np.array([[float(x) for x in row] for row in exact])
