"""M = Lᵀ D L with the sparsity that branches induce ([F16] section 5; Featherstone's LTDL).

L has the pattern of M: row k is nonzero only for columns on the path of k. Everything is done in
the lower triangle of L. With D^½ taken into the factor, M = Lᵀ L, and

    half_solve     x ← L⁻ᵀ x      so that  xᵀ M⁻¹ y = (L⁻ᵀ x)·(L⁻ᵀ y)
    finish_solve   x ← L⁻¹ x      so that  finish_solve(half_solve(x)) = M⁻¹ x
"""

import math

from torqued.kernels.compilation.jit import exact_kernel, kernel
from torqued.kernels.dynamics.articulated import NOISE, OK, SINGULAR
from torqued.kernels.primitives.lanes import LANES, add_scaled4, keep4, load4, store4


@exact_kernel
def divided(x, divisor):
    """x / divisor, with a division that need not wait for x: numbers of a solve come one from the
    other, those of the factor are there."""
    return x * (1.0 / divisor)


@kernel
def subtract_row(L, target, source, factor, first, last):
    """L[target, first:last] −= factor · L[source, first:last]."""
    n = L.shape[1]
    j = first
    while j < last and j + LANES <= n:
        # From `last` on nothing is subtracted: stretches are short, and their ends would take
        # longer number by number.
        row = keep4(load4(L, source * n + j), last - j)
        store4(L, target * n + j, add_scaled4(load4(L, target * n + j), row, -factor))
        j += LANES
    while j < last:
        L[target, j] -= factor * L[source, j]
        j += 1


@kernel
def subtract_path(work, L, i, source, factor):
    """L[i, path of i] −= factor · L[source, path of i]."""
    b = work.body_of[i]
    last = i + 1
    while b >= 0:
        subtract_row(L, i, source, factor, work.bodies[b].run, last)
        b = work.bodies[b].above
        if b >= 0:
            last = work.bodies[b].column + work.bodies[b].columns


@kernel
def branch_factorize(work, M, L):
    """The lower triangle of L, given that of M. Returns a status."""
    for i in range(M.shape[0]):
        for j in range(i + 1):
            L[i, j] = M[i, j]
    for k in range(L.shape[0] - 1, -1, -1):
        pivot = L[k, k]
        if not pivot > NOISE * M[k, k]:
            return SINGULAR
        root = math.sqrt(pivot)
        b = work.body_of[k]
        last = k
        while b >= 0:
            first = work.bodies[b].run
            for i in range(last - 1, first - 1, -1):
                subtract_path(work, L, i, k, L[k, i] / pivot)
            b = work.bodies[b].above
            if b >= 0:
                last = work.bodies[b].column + work.bodies[b].columns
        scale_path(work, L, k, 1.0 / root)
        L[k, k] = root
    return OK


@kernel
def scale_path(work, L, k, factor):
    b = work.body_of[k]
    last = k
    while b >= 0:
        for i in range(work.bodies[b].run, last):
            L[k, i] *= factor
        b = work.bodies[b].above
        if b >= 0:
            last = work.bodies[b].column + work.bodies[b].columns


@kernel
def half_solve(work, L, x):
    """x ← L⁻ᵀ x."""
    n = L.shape[1]
    for k in range(L.shape[0] - 1, -1, -1):
        if x[k] == 0.0:  # a row of G is zero off its path, and stays so
            continue
        factor = divided(x[k], L[k, k])
        x[k] = factor
        b = work.body_of[k]
        last = k
        while b >= 0:
            j = work.bodies[b].run
            while j + LANES <= last:
                store4(x, j, add_scaled4(load4(x, j), load4(L, k * n + j), -factor))
                j += LANES
            while j < last:
                x[j] -= factor * L[k, j]
                j += 1
            b = work.bodies[b].above
            if b >= 0:
                last = work.bodies[b].column + work.bodies[b].columns


@kernel
def finish_solve(work, L, x):
    """x ← L⁻¹ x."""
    for k in range(L.shape[0]):
        total = x[k]
        b = work.body_of[k]
        last = k
        while b >= 0:
            for j in range(work.bodies[b].run, last):
                total -= L[k, j] * x[j]
            b = work.bodies[b].above
            if b >= 0:
                last = work.bodies[b].column + work.bodies[b].columns
        x[k] = divided(total, L[k, k])
