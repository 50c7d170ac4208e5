"""The equations of motion in closed form, [M18] section 5, for trees of any joints.

    M = Jᵀ 𝕄 J                                              eq. 81
    C = −Jᵀ (𝕄 A a + bᵀ 𝕄) J                                eq. 84
    Γ_ijk from J_l and M_l of every body l                  eq. 86, and with Binet's inertia eq. 87
    Jᵀ (Π̇ − W) = τ with the spatial momenta Π               eq. 79

System matrices stack the bodies: J (6 N, n) has the body-fixed Jacobians below each other, 𝕄 is
block diagonal. Nothing here is fast: N bodies take N² blocks. Where the text of the paper does not
hold (which finite differences of M decide), the line says so.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.kernels.model.description import Array
from torqued.kernels.screws.representations import adjoint, bracket, skew


@dataclass(frozen=True)
class Bodies:
    """N bodies in one configuration, each in its own frame.

    The joints of `Model` are chains of elementary ones, whose bodies these are: some have no mass.
    """

    parents: NDArray[np.int64]  # (N,), -1: the world
    columns: list[slice]  # of v, that move each body against its parent
    poses: Array  # (N, 4, 4) in the world
    jacobians: Array  # (N, 6, n) body-fixed, [M18] eq. 103
    mass: Array  # (N,)
    com: Array  # (N, 3)
    rotational: Array  # (N, 3, 3) about the center of mass
    armature: Array  # (n,)

    @property
    def count(self) -> int:
        return len(self.mass)

    def inertia(self, i: int) -> Array:
        """M_i (6, 6), [M18] eq. 40."""
        d, m = skew(self.com[i]), self.mass[i]
        return np.block([[self.rotational[i] - m * d @ d, m * d], [-m * d, m * np.eye(3)]])

    def inverse_adjoint(self, i: int) -> Array:
        return adjoint(_inverse(self.poses[i]))


def read_bodies(records: Any, poses: Array, jacobians: Array) -> Bodies:
    """From a model's bodies and what kernels say about them."""
    rotational = np.zeros((len(records), 3, 3))
    for k, (row, column) in enumerate(zip(*np.triu_indices(3), strict=True)):
        rotational[:, row, column] = rotational[:, column, row] = records.inertia[:, k]
    columns = [slice(int(b.column), int(b.column + b.columns)) for b in records]
    armature = [x for body in records for x in body.armature[: body.columns]]
    return Bodies(
        np.array(records.parent),
        columns,
        poses,
        jacobians,
        np.array(records.mass),
        np.array(records.com),
        rotational,
        np.array(armature, dtype=np.float64),
    )


class SystemMatrices:
    """𝕄, A, X and J of [M18] eq. 81 and 112."""

    def __init__(self, bodies: Bodies) -> None:
        self.bodies = bodies
        N, n = bodies.count, bodies.jacobians.shape[2]
        self.J = bodies.jacobians.reshape(6 * N, n)
        self.X, self.A = np.zeros((6 * N, n)), np.zeros((6 * N, 6 * N))
        self.M = np.zeros((6 * N, 6 * N))
        to_world = [adjoint(pose) for pose in bodies.poses]
        for i in range(N):
            own, columns = _rows(i), bodies.columns[i]
            self.X[own, columns] = bodies.jacobians[i][:, columns]
            self.M[own, own] = bodies.inertia(i)
            back, j = bodies.inverse_adjoint(i), i
            while j >= 0:
                self.A[own, _rows(j)] = back @ to_world[j]
                j = int(bodies.parents[j])

    def mass_matrix(self) -> Array:
        """[M18] eq. 81; rotors add to its diagonal."""
        M: Array = self.J.T @ self.M @ self.J + np.diag(self.bodies.armature)
        return M

    def coriolis_matrix(self, v: Array) -> Array:
        """[M18] eq. 84, where J̇ = −A a (J − X); X is not in the paper, whose joints have one degree
        of freedom and so a X = 0.

        C v is what it should be, but Ṁ ≠ C + Cᵀ: J̇ is the rate in moving axes. With Jᵀ 𝕄 b J added,
        for which b J v = 0, it is the factorization `direct` of [EW21] eq. 9, and equal.
        """
        a, b = self.brackets(self.X @ v), self.brackets(self.J @ v)
        J_rate = -self.A @ a @ (self.J - self.X)
        C: Array = self.J.T @ (self.M @ J_rate - b.T @ self.M @ self.J)
        return C

    def brackets(self, twists: Array) -> Array:
        """diag(ad_V) of the bodies' twists, [M18] eq. 9 and 82."""
        matrix = np.zeros_like(self.M)
        for i in range(self.bodies.count):
            matrix[_rows(i), _rows(i)] = bracket(twists[_rows(i)])
        return matrix


def christoffel(bodies: Bodies) -> Array:
    """Γ (n, n, n) by [M18] eq. 86, for joints whose v is the rate of q.

    Γ_ijk = ½ Σ_l J_kᵀ M [J_i, J_j] + J_jᵀ M [J_i, J_k] + J_iᵀ M [J_j, J_k]   for j ⪯ k, any i

    The paper prints max(i, j) and min(i, j) in the last bracket; it is j and k in their order.
    A body l that one of the three does not move has a zero column there: branches need no care.
    """
    n = bodies.jacobians.shape[2]
    Gamma = np.zeros((n, n, n))
    for i in range(bodies.count):
        J = bodies.jacobians[i]
        brackets = np.einsum("jab,bk->ajk", np.stack([bracket(x) for x in J.T]), J)
        T = np.einsum("ai,ajk->ijk", bodies.inertia(i) @ J, brackets)  # J_iᵀ M [J_j, J_k]
        Gamma += 0.5 * (np.einsum("kij->ijk", T) + np.einsum("jik->ijk", T) + T)
    return _symmetric(Gamma)


def christoffel_binet(bodies: Bodies) -> Array:
    """Γ by Binet's inertia ϑ = ½ tr(Θ) 1 − Θ in frames at the centers of mass, [M18] eq. 87.

    Γ_ijk = Σ_l ω_jᵀ ϑ (ω_k × ω_i) + m u_iᵀ (ω_j × u_k)   for j ⪯ k, any i

    The paper prints ½ in front, and ω_k × u_i with u_j in the second term.
    """
    n = bodies.jacobians.shape[2]
    Gamma = np.zeros((n, n, n))
    for i in range(bodies.count):
        w = bodies.jacobians[i][:3]
        u = bodies.jacobians[i][3:] - skew(bodies.com[i]) @ w
        Theta, m = bodies.rotational[i], bodies.mass[i]
        binet = 0.5 * np.trace(Theta) * np.eye(3) - Theta
        turning = np.cross(w.T[:, None], w.T[None, :])  # [k, i]: ω_k × ω_i
        Gamma += np.einsum("aj,ab,kib->ijk", w, binet, turning)
        carried = np.cross(w.T[:, None], u.T[None, :])  # [j, k]: ω_j × u_k
        Gamma += m * np.einsum("ai,jka->ijk", u, carried)
    return _symmetric(Gamma)


@dataclass(frozen=True)
class Momenta:
    """Of every body in spatial representation, with N rows, and the torques that they take."""

    momentum: Array  # (N, 6) Π, [angular about the world's origin; linear]
    rate: Array  # (N, 6) Π̇
    gravity: Array  # (N, 6) W, the wrench of gravity
    tau: Array  # (n,)


def momentum_form(bodies: Bodies, twists: Array, rates: Array, a: Array, gravity: Array) -> Momenta:
    """[M18] eq. 79, with Π̇ = Mˢ V̇ − ad_Vᵀ Mˢ V (eq. 38); `twists` and `rates` (N, 6) spatial."""
    N = bodies.count
    momentum, rate, weight = np.zeros((3, N, 6))
    tau = bodies.armature * a
    for i in range(N):
        back = bodies.inverse_adjoint(i)
        M = back.T @ bodies.inertia(i) @ back  # eq. 34
        momentum[i] = M @ twists[i]
        rate[i] = M @ rates[i] - bracket(twists[i]).T @ momentum[i]
        R, r = bodies.poses[i][:3, :3], bodies.poses[i][:3, 3]
        force = bodies.mass[i] * gravity
        weight[i] = np.concatenate([np.cross(R @ bodies.com[i] + r, force), force])
        # J in spatial representation is Ad J in the body's.
        tau = tau + bodies.jacobians[i].T @ adjoint(bodies.poses[i]).T @ (rate[i] - weight[i])
    return Momenta(momentum, rate, weight, tau)


def _rows(i: int) -> slice:
    return slice(6 * i, 6 * i + 6)


def _inverse(pose: Array) -> Array:
    inverse = np.eye(4)
    inverse[:3, :3] = pose[:3, :3].T
    inverse[:3, 3] = -pose[:3, :3].T @ pose[:3, 3]
    return inverse


def _symmetric(Gamma: Array) -> Array:
    """What holds for j ⪯ k, for all j and k: columns of a path are numbered from the root on."""
    lower = np.tril(np.ones(Gamma.shape[1:], dtype=bool), -1)  # j > k
    swapped: Array = np.where(lower, Gamma.transpose(0, 2, 1), Gamma)
    return swapped
