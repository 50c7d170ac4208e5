"""The papers' pseudocode, line by line, in body coordinates.

Line numbers are those of [EW21] (journal version) and [F16]. Bodies count from 0 and the ground
is -1, where the papers count from 1 and call the ground 0. All loops and 6x6 products are dense.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from .literal_tree import LiteralTree
from .spatial import Array, force_cross, motion_cross, swapped_cross

GRAVITY = np.array([0.0, 0.0, -9.81])

Factor = Callable[[Array, Array], Array]


def factor_9(v: Array, inertia: Array) -> Array:
    """B(v, I), the immediate body-level factorization, [EW21] eq. 9."""
    return force_cross(v) @ inertia


def factor_10(v: Array, inertia: Array) -> Array:
    """B(v, I), the factorization that makes C Christoffel-consistent, [EW21] eq. 10."""
    return 0.5 * (force_cross(v) @ inertia + swapped_cross(inertia @ v) - inertia @ motion_cross(v))


def rnea(
    tree: LiteralTree,
    q: Array,
    v: Array,
    a: Array,
    f_ext: Array | None = None,
    gravity: Array = GRAVITY,
) -> Array:
    """τ, [F16] Algorithm 1. f_ext (bodies, 6) is [moment; force] in world coordinates,
    with the moment about the world's origin."""
    N = len(tree.bodies)
    a_g = np.hstack([np.zeros(3), gravity])
    vs: list[Array] = []
    accelerations: list[Array] = []
    fs: list[Array] = []
    for i, body in enumerate(tree.bodies):
        X, S = tree.X(i, q), tree.phi(i, q)
        v_parent = vs[body.parent] if body.parent >= 0 else np.zeros(6)  # line 1
        a_parent = accelerations[body.parent] if body.parent >= 0 else -a_g  # line 2
        v_J = S @ v[body.vs]  # line 9
        v_i = X @ v_parent + v_J  # line 11
        c_J = tree.phi_ring(i, q, v) @ v[body.vs] + motion_cross(v_i) @ v_J  # eq. 30
        a_i = X @ a_parent + c_J + S @ a[body.vs]  # lines 10, 12
        f_i = body.inertia @ a_i + force_cross(v_i) @ body.inertia @ v_i  # line 13
        if f_ext is not None:
            f_i = f_i - np.linalg.inv(tree.X0(i, q)).T @ f_ext[i]  # line 13
        vs.append(v_i)
        accelerations.append(a_i)
        fs.append(f_i)
    tau = np.zeros(tree.nv)
    for i in reversed(range(N)):
        body = tree.bodies[i]
        tau[body.vs] = tree.phi(i, q).T @ fs[i]  # line 16
        if body.parent >= 0:
            fs[body.parent] = fs[body.parent] + tree.X(i, q).T @ fs[i]  # line 18
    return tau + tree.armature() * a


def crba(tree: LiteralTree, q: Array) -> Array:
    """M, [F16] Algorithm 2."""
    H = np.zeros((tree.nv, tree.nv))  # line 1
    Ic = [body.inertia for body in tree.bodies]  # line 3
    for i in reversed(range(len(tree.bodies))):
        body = tree.bodies[i]
        X, S = tree.X(i, q), tree.phi(i, q)
        if body.parent >= 0:
            Ic[body.parent] = Ic[body.parent] + X.T @ Ic[i] @ X  # line 7
        F = Ic[i] @ S  # line 9
        H[body.vs, body.vs] = S.T @ F  # line 10
        j = i  # line 11
        while tree.bodies[j].parent >= 0:  # line 12
            F = tree.X(j, q).T @ F  # line 13
            j = tree.bodies[j].parent  # line 14
            js = tree.bodies[j].vs
            H[body.vs, js] = F.T @ tree.phi(j, q)  # line 15
            H[js, body.vs] = H[body.vs, js].T  # line 16
    return H + np.diag(tree.armature())


def aba(
    tree: LiteralTree,
    q: Array,
    v: Array,
    tau: Array,
    f_ext: Array | None = None,
    gravity: Array = GRAVITY,
) -> Array:
    """a, [F16] Algorithm 3, with D a d x d matrix per joint. f_ext as in `rnea`."""
    N = len(tree.bodies)
    a_g = np.hstack([np.zeros(3), gravity])
    Xs = [tree.X(i, q) for i in range(N)]
    Ss = [tree.phi(i, q) for i in range(N)]
    vs: list[Array] = []
    cs: list[Array] = []
    IA: list[Array] = []
    pA: list[Array] = []
    for i, body in enumerate(tree.bodies):
        v_parent = vs[body.parent] if body.parent >= 0 else np.zeros(6)  # line 1
        v_J = Ss[i] @ v[body.vs]  # line 9
        v_i = Xs[i] @ v_parent + v_J  # line 10
        c_J = tree.phi_ring(i, q, v) @ v[body.vs]
        vs.append(v_i)
        cs.append(c_J + motion_cross(v_i) @ v_J)  # line 11
        IA.append(body.inertia)  # line 12
        p_i = force_cross(v_i) @ body.inertia @ v_i  # line 13
        if f_ext is not None:
            p_i = p_i - np.linalg.inv(tree.X0(i, q)).T @ f_ext[i]  # line 13
        pA.append(p_i)
    U: list[Array] = [np.zeros(0)] * N
    D: list[Array] = [np.zeros(0)] * N
    u: list[Array] = [np.zeros(0)] * N
    for i in reversed(range(N)):
        body = tree.bodies[i]
        U[i] = IA[i] @ Ss[i]  # line 16
        D[i] = Ss[i].T @ U[i] + body.armature * np.eye(Ss[i].shape[1])  # line 17
        u[i] = tau[body.vs] - Ss[i].T @ pA[i]  # line 18
        if body.parent >= 0:
            Ia = IA[i] - U[i] @ np.linalg.inv(D[i]) @ U[i].T  # line 20
            pa = pA[i] + Ia @ cs[i] + U[i] @ np.linalg.inv(D[i]) @ u[i]  # line 21
            IA[body.parent] = IA[body.parent] + Xs[i].T @ Ia @ Xs[i]  # line 22
            pA[body.parent] = pA[body.parent] + Xs[i].T @ pa  # line 23
    qdd = np.zeros(tree.nv)
    accelerations: list[Array] = []
    for i, body in enumerate(tree.bodies):
        a_parent = accelerations[body.parent] if body.parent >= 0 else -a_g  # line 2
        a_prime = Xs[i] @ a_parent + cs[i]  # line 27
        qdd[body.vs] = np.linalg.inv(D[i]) @ (u[i] - U[i].T @ a_prime)  # line 28
        accelerations.append(a_prime + Ss[i] @ qdd[body.vs])  # line 29
    return qdd


def coriolis(
    tree: LiteralTree, q: Array, v: Array, factor: Factor = factor_10
) -> tuple[Array, Array, Array]:
    """(M, Mdot, C), [EW21] Algorithm 1 with either body-level factorization on line 6."""
    N, n = len(tree.bodies), tree.nv
    M, Mdot, C = np.zeros((n, n)), np.zeros((n, n)), np.zeros((n, n))
    vs: list[Array] = []
    Phi: list[Array] = []
    Phidot: list[Array] = []
    IC: list[Array] = []
    BC: list[Array] = []
    for i, body in enumerate(tree.bodies):
        v_parent = vs[body.parent] if body.parent >= 0 else np.zeros(6)  # line 1
        Phi.append(tree.phi(i, q))
        vs.append(tree.X(i, q) @ v_parent + Phi[i] @ v[body.vs])  # line 3
        Phidot.append(motion_cross(vs[i]) @ Phi[i] + tree.phi_ring(i, q, v))  # line 4
        IC.append(body.inertia)  # line 5
        BC.append(factor(vs[i], body.inertia))  # line 6
    for j in reversed(range(N)):
        js = tree.bodies[j].vs
        F1 = IC[j] @ Phidot[j] + BC[j] @ Phi[j]  # line 9
        F2 = IC[j] @ Phi[j]  # line 10
        F3 = BC[j].T @ Phi[j]  # line 11
        C[js, js] = Phi[j].T @ F1  # line 12
        M[js, js] = Phi[j].T @ F2  # line 13
        Mdot[js, js] = Phidot[j].T @ F2 + Phi[j].T @ (F1 + F3)  # line 14
        i = j  # line 15
        while tree.bodies[i].parent >= 0:  # line 16
            X = tree.X(i, q)
            F1, F2, F3 = X.T @ F1, X.T @ F2, X.T @ F3  # line 17
            i = tree.bodies[i].parent  # line 18
            at = tree.bodies[i].vs
            C[at, js] = Phi[i].T @ F1  # line 19
            C[js, at] = (Phidot[i].T @ F2 + Phi[i].T @ F3).T  # line 20
            M[at, js] = Phi[i].T @ F2  # line 21
            M[js, at] = M[at, js].T
            Mdot[at, js] = Phidot[i].T @ F2 + Phi[i].T @ (F1 + F3)  # line 22
            Mdot[js, at] = Mdot[at, js].T
        parent = tree.bodies[j].parent
        if parent >= 0:
            X = tree.X(j, q)
            IC[parent] = IC[parent] + X.T @ IC[j] @ X  # line 24
            BC[parent] = BC[parent] + X.T @ BC[j] @ X  # line 25
    return M + np.diag(tree.armature()), Mdot, C


def christoffel(tree: LiteralTree, q: Array) -> Array:
    """Γ[i, j, k], [EW21] Algorithm 2, for trees of single-DoF joints."""
    N = len(tree.bodies)
    if tree.nv != N:
        raise ValueError("[EW21] Algorithm 2 is for single-DoF joints only")
    Gamma = np.zeros((N, N, N))
    Phi = [tree.phi(i, q)[:, 0] for i in range(N)]
    IC = [body.inertia for body in tree.bodies]  # line 2
    for k in reversed(range(N)):
        B = factor_10(Phi[k], IC[k])  # line 5
        D = swapped_cross(IC[k] @ Phi[k]) - B  # line 6
        j = k  # line 7
        while j >= 0:  # line 8
            F1, F2, F3 = B @ Phi[j], B.T @ Phi[j], D @ Phi[j]  # line 9
            i = j  # line 10
            while i >= 0:  # line 11
                Gamma[i, j, k] = Gamma[i, k, j] = Phi[i] @ F1  # line 12
                Gamma[j, i, k] = Gamma[j, k, i] = Phi[i] @ F2  # line 13
                Gamma[k, i, j] = Gamma[k, j, i] = Phi[i] @ F3  # line 14
                X = tree.X(i, q)
                F1, F2, F3 = X.T @ F1, X.T @ F2, X.T @ F3  # line 15
                i = tree.bodies[i].parent  # line 16
            X = tree.X(j, q)
            B = X.T @ B @ X  # line 18
            D = X.T @ D @ X  # line 19
            j = tree.bodies[j].parent  # line 20
        parent = tree.bodies[k].parent
        if parent >= 0:
            X = tree.X(k, q)
            IC[parent] = IC[parent] + X.T @ IC[k] @ X  # line 22
    return Gamma


def coriolis_coefficients(tree: LiteralTree, q: Array) -> Array:
    """Γ[i, j, k] = ∂C_ij/∂ν_k for any joints. C is linear in ν, so column k is C(q, e_k)."""
    columns = [coriolis(tree, q, e_k)[2] for e_k in np.eye(tree.nv)]
    return np.stack(columns, axis=2)
