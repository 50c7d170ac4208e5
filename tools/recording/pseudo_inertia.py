"""Ten parameters of a rigid body, and the matrix that says whether some body can have them.

π = m, m c, Ī (xx xy xz yy yz zz, at the frame's origin). The pseudo-inertia

    J = [ Σ   h ]    Σ = ½ tr(Ī) 1 − Ī,  h = m c
        [ hᵀ  m ]

is the second moment of the mass over [x; 1]. A body with these parameters exists where J is
positive definite [Wensing, Kim, Slotine, "Linear matrix inequalities for physically consistent
inertial parameter identification", 2018]. Another frame, x = R x' + p, makes J = X J' Xᵀ of it.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

UPPER = np.triu_indices(3)
#: A direction is unclear where it moves the torques by this little beside the clearest one.
FLAT = 1e-6
#: kg/m³ of the ball that stands in for what could not be seen; and how little it weighs.
DENSITY, PULL = 1000.0, 1e-9
NAMES = ("m", "m cx", "m cy", "m cz", "Ixx", "Ixy", "Ixz", "Iyy", "Iyz", "Izz")


def pseudo_inertia(p: Array) -> Array:
    """J (4, 4) of π."""
    inertia = np.zeros((3, 3))
    inertia[UPPER] = p[4:]
    inertia = np.triu(inertia) + np.triu(inertia, 1).T
    J = np.zeros((4, 4))
    J[:3, :3] = 0.5 * np.trace(inertia) * np.eye(3) - inertia
    J[:3, 3] = J[3, :3] = p[1:4]
    J[3, 3] = p[0]
    return J


def parameters(J: Array) -> Array:
    """π of J."""
    inertia = np.trace(J[:3, :3]) * np.eye(3) - J[:3, :3]
    return np.concatenate([[J[3, 3]], J[:3, 3], inertia[UPPER]])


def moved(R: Array, p: Array) -> Array:
    """(10, 10): π in a body's frame, from π in a frame whose axes are R and whose origin is p."""
    X = np.eye(4)
    X[:3, :3], X[:3, 3] = R, p
    columns = [parameters(X @ pseudo_inertia(unit) @ X.T) for unit in np.eye(10)]
    return np.array(columns).T


def factor(theta: Array) -> Array:
    """J = L Lᵀ of any ten numbers, always positive definite: L has exp(θ₀ … θ₃) in its diagonal.

    [Rucker, Wensing, "Smooth parameterization of rigid-body inertia", 2022]: log-Cholesky.
    """
    L = np.diag(np.exp(theta[:4]))
    L[np.tril_indices(4, -1)] = theta[4:]
    J: Array = L @ L.T
    return J


def unfactor(J: Array) -> Array:
    """θ of a positive definite J."""
    L = np.linalg.cholesky(J)
    return np.concatenate([np.log(np.diag(L)), L[np.tril_indices(4, -1)]])


def as_load(p: Array) -> tuple[float, Array, Array]:
    """Mass, center (3,), and inertia about it (6,) xx xy xz yy yz zz."""
    m, center = float(p[0]), p[1:4] / p[0]
    spread = (center @ center * np.eye(3) - np.outer(center, center))[UPPER]
    return m, center, p[4:] - m * spread


def possible_body(A: Array, b: Array, x: Array, size: Array, nonnegative: slice) -> Array:
    """The best x whose π = size ∘ x[:10] some body can have, with the others that go with it.

    Those are eliminated from the normal equations; π = π(θ) runs over possible bodies only, and
    a solid ball draws it, very gently, where the motion says nothing. Levenberg-Marquardt.
    """
    rubs = 10 + np.flatnonzero(x[10:])
    inverse = np.linalg.pinv(A[np.ix_(rubs, rubs)])
    cross = A[:10, rubs] @ inverse
    A_p, b_p = A[:10, :10] - cross @ A[rubs, :10], b[:10] - cross @ b[rubs]
    values, vectors = np.linalg.eigh(0.5 * (A_p + A_p.T))
    kept = values > FLAT**2 * values.max()  # the rest is rounding
    root, vectors = np.sqrt(values[kept]), vectors[:, kept]
    S, target = root[:, None] * vectors.T / size, (vectors.T @ b_p) / root
    prior = unfactor(pseudo_inertia(ball(max(float(size[0] * x[0]), 0.05))))
    pull = np.sqrt(PULL * max(float(values.max()), 1e-300))
    theta, damping, steps = prior.copy(), 1e-3, 1e-6 * np.eye(10)

    def residual(theta: Array) -> Array:
        return np.concatenate([S @ parameters(factor(theta)) - target, pull * (theta - prior)])

    r = residual(theta)
    for _ in range(300):
        D = np.array([(residual(theta + s) - residual(theta - s)) / 2e-6 for s in steps]).T
        H = D.T @ D
        change = np.linalg.solve(H + damping * np.diag(np.diag(H)), -D.T @ r)
        tried = residual(theta + np.clip(change, -1.0, 1.0))
        better = tried @ tried < r @ r
        damping *= 0.3 if better else 4.0
        if better:
            theta, r = theta + np.clip(change, -1.0, 1.0), tried
        if damping > 1e12 or (better and np.abs(change).max() < 1e-9):
            break
    out = np.zeros(len(x))
    out[:10] = parameters(factor(theta)) / size
    out[rubs] = inverse @ (b[rubs] - A[rubs, :10] @ out[:10])
    out[nonnegative] = np.maximum(0.0, out[nonnegative])
    return out


def ball(mass: float) -> Array:
    """π of a solid ball as dense as water, at the origin."""
    radius = (3.0 * mass / (4.0 * np.pi * DENSITY)) ** (1.0 / 3.0)
    moment = 0.4 * mass * radius**2
    return np.array([mass, 0, 0, 0, moment, 0, 0, moment, 0, moment])
