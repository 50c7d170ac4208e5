"""State-space form of linearized equations of motion, continuous and sampled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.input_checks import number
from torqued.kernels.model.description import Array

#: Terms of the exponential's series for a matrix of norm ½ or less: the next is below 1e-18.
TERMS = 14


def linearized(
    drift: Array, da_dq: Array, da_dv: Array, da_dtau: Array, dt: Any = None
) -> tuple[Array, Array]:
    """A and B of ẋ = A x + B u with x = [δq; δv]; sampled where there is a time step.

    δq̇ = drift δq + δv: a difference δq that is counted in moving axes changes with these.
    """
    n, m = da_dtau.shape
    A = np.zeros((2 * n, 2 * n))
    A[:n, :n] = drift
    A[:n, n:] = np.eye(n)
    A[n:, :n], A[n:, n:] = da_dq, da_dv
    B = np.vstack([np.zeros((n, m)), da_dtau])
    return (A, B) if dt is None else sampled(A, B, dt)


def sampled(A: Array, B: Array, dt: Any) -> tuple[Array, Array]:
    """Of x⁺ = A x + B u after dt seconds with constant u: exp([A, B; 0, 0] dt)."""
    step = number("dt", dt)
    if not step > 0.0:
        raise InputError(f"dt: {step}, expected a positive number", "dt", step, "> 0")
    n, m = B.shape
    both = np.zeros((n + m, n + m))
    both[:n, :n], both[:n, n:] = A, B
    after = exponential(both * step)
    return np.ascontiguousarray(after[:n, :n]), np.ascontiguousarray(after[:n, n:])


def exponential(X: Array) -> Array:
    """exp X by its series at X / 2^k, and k squarings."""
    norm = float(np.abs(X).sum(axis=1).max(initial=0.0))
    halvings = max(0, math.ceil(math.log2(norm)) + 1) if 0.0 < norm < math.inf else 0
    X = X / 2.0**halvings
    total = term = np.eye(len(X))
    for k in range(1, TERMS + 1):
        term = term @ X / k
        total = total + term
    for _ in range(halvings):
        total = total @ total
    return total


def require_one(f_ext: Any) -> None:
    """Contact dynamics takes no other forces than those of the contacts."""
    if f_ext is not None:
        message = "f_ext: not together with contacts, expected one of the two"
        raise InputError(message, "f_ext", None, "absent")
