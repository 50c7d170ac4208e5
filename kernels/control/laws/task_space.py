"""The dynamics of a frame: task inertia and Coriolis terms that keep Λ̇ = μ + μᵀ.

In coordinates v̄ = [ẋ; ν] with ẋ = J v and dynamically consistent ν, [EW21] section 3.3 gives

    Λ = (J M⁻¹ Jᵀ)⁻¹,   J̄ = M⁻¹ Jᵀ Λ,   μ = J̄ᵀ C J̄ − Λ J̇ J̄

and what couples frame and null space is skew: it moves energy and makes none.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import carray

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import Array, copy, project, project_square, square
from torqued.kernels.dynamics.articulated import OK
from torqued.kernels.dynamics.composite import composite_factors
from torqued.kernels.dynamics.coriolis import fill_coriolis
from torqued.kernels.dynamics.frames import HYBRID, fill_jacobian
from torqued.kernels.dynamics.kinematics import move, place
from torqued.kernels.dynamics.rnea import fill_gravity
from torqued.kernels.primitives.dense import cholesky, cholesky_solve
from torqued.kernels.primitives.workspace import pointer
from torqued.kernels.screws.rates import fill_jacobian_rate

#: Below this ratio of a pivot of J M⁻¹ Jᵀ to its diagonal the frame is near a singularity, and
#: task inertia is kept from growing further.
NEAR = 1e-3
#: What is added to the diagonal in the singularity itself, relative to it.
SOFTENING = 1e-2


class Task(NamedTuple):
    """Matrices of m rows of a frame's motion. Scratch in the law's memory."""

    J: Array  # (m, nv)
    Jdot: Array  # (m, nv)
    X: Array  # (m, nv) rows M⁻¹ Jᵀ
    Jbar: Array  # (m, nv) rows of J̄ᵀ
    inertia: Array  # (m, m) Λ
    K: Array  # (m, m) scratch
    C: Array  # (nv, nv)


def task_words(nv: int, nv_free: int) -> int:
    """Length of the memory that a task needs."""
    return 2 * 6 * nv_free + 5 * 6 * nv + 2 * 36 + 60


@kernel
def rows_at(address, start, rows, columns):
    return carray(pointer(address + np.uint64(8 * start)), (rows, columns), np.float64)


@kernel
def fill_task(work, sizes, data, frame, first, m, gravity):
    """Dynamics of rows first … first + m of a frame's hybrid twist; needs expand_state.

    `gravity` (nv,) becomes g. Returns the task and a status.
    """
    n, free = sizes.nv, sizes.nv_free
    address = np.uint64(data.memory.ctypes.data)
    J_free, Jdot_free = rows_at(address, 0, 6, free), rows_at(address, 6 * free, 6, free)
    start = 12 * free
    whole, whole_rate = rows_at(address, start, 6, n), rows_at(address, start + 6 * n, 6, n)
    task = Task(
        whole[first : first + m],
        whole_rate[first : first + m],
        rows_at(address, start + 12 * n, m, n),
        rows_at(address, start + 18 * n, m, n),
        rows_at(address, start + 30 * n, m, m),
        rows_at(address, start + 30 * n + 36, m, m),
        square(sizes, data, 4, n),
    )
    M = square(sizes, data, 3, n)
    M_free, Mdot_free = square(sizes, data, 0, free), square(sizes, data, 1, free)
    C_free = square(sizes, data, 2, free)
    place(work, data.q_free)
    move(work, data.v_free)
    composite_factors(work)
    fill_coriolis(work, M_free, Mdot_free, C_free)
    project_square(data, M_free, M)
    project_square(data, C_free, task.C)
    fill_gravity(work, data.tau_free)
    project(data, data.tau_free, gravity)
    fill_jacobian(work, frame, HYBRID, J_free)
    fill_jacobian_rate(work, frame, HYBRID, Jdot_free)
    for r in range(6):
        project(data, J_free[r], whole[r])
        project(data, Jdot_free[r], whole_rate[r])
    status = cholesky(M)
    for r in range(m):
        copy(task.J[r], task.X[r])
        cholesky_solve(M, task.X[r])
    for r in range(m):
        for c in range(m):
            total = 0.0
            for k in range(n):
                total += task.J[r, k] * task.X[c, k]
            task.K[r, c] = total
    soften(task.K, task.inertia)
    if status == OK:
        status = cholesky(task.K)
    for r in range(m):
        task.inertia[r] = 0.0
        task.inertia[r, r] = 1.0
        cholesky_solve(task.K, task.inertia[r])
    for r in range(m):
        task.Jbar[r] = 0.0
        for c in range(m):
            for k in range(n):
                task.Jbar[r, k] += task.inertia[r, c] * task.X[c, k]
    return task, status


@kernel
def soften(K, L):
    """Add to K's diagonal as it becomes singular; L is scratch for its factor."""
    n = K.shape[0]
    least = 1.0
    for j in range(n):
        pivot = K[j, j]
        for k in range(j):
            pivot -= L[j, k] * L[j, k]
        least = min(least, pivot / max(K[j, j], 1e-300))
        root = max(pivot, 1e-12 * K[j, j]) ** 0.5
        for i in range(j + 1, n):
            x = K[i, j]
            for k in range(j):
                x -= L[i, k] * L[j, k]
            L[i, j] = x / max(root, 1e-150)
    if least < NEAR:
        share = 1.0 - max(least, 0.0) / NEAR
        for j in range(n):
            K[j, j] *= 1.0 + SOFTENING * share * share
