"""Ten parameters of a rigid body, and the matrix that says whether some body can have them.

π = m, m c, Ī (xx xy xz yy yz zz, at the frame's origin). The pseudo-inertia

    J = [ Σ   h ]    Σ = ½ tr(Ī) 1 − Ī,  h = m c
        [ hᵀ  m ]

is the second moment of the mass over [x; 1]. A body with these parameters exists where J is
positive definite [Wensing, Kim, Slotine, "Linear matrix inequalities for physically consistent
inertial parameter identification", 2018]. Another frame, x = R x' + p, makes J = X J' Xᵀ of it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

UPPER = np.triu_indices(3)
#: A direction is unclear where it moves the torques by this little beside the clearest one.
FLAT = 1e-6
#: kg/m³ of the ball that stands in for what could not be seen, and of steel; how little the ball
#: weighs; Newton's stages, and steps of each.
DENSITY, STEEL, PULL, STAGES, MAX_STEPS = 1000.0, 8000.0, 1e-12, 8, 60
#: Share by which a link's mass, extent and moments may be wrong, where that is estimated.
LINKS = 0.5
#: (10, 4, 4), an orthonormal basis of symmetric matrices.
UNITS = np.array(
    [
        (np.outer(a, b) + np.outer(b, a)) / np.linalg.norm(np.outer(a, b) + np.outer(b, a))
        for k, a in enumerate(np.eye(4))
        for b in np.eye(4)[k:]
    ]
)
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


def as_load(p: Array) -> tuple[float, Array, Array]:
    """Mass, center (3,), and inertia about it (6,) xx xy xz yy yz zz."""
    m, center = float(p[0]), p[1:4] / p[0]
    spread = (center @ center * np.eye(3) - np.outer(center, center))[UPPER]
    return m, center, p[4:] - m * spread


def likely(p: Array) -> tuple[Array, Array]:
    """π of a link of a file, and D (10, 10): π + D z is what the link may really have, z of size 1.

    z are deviations of the pseudo-inertia in units of itself: J = L (1 + LINKS Σ z_i B_i) Lᵀ, in
    which the entropic divergence is ½ |z|², whatever the axes [Lee, Wensing, Park, "Geometric
    robot dynamic identification", 2020]. A link that a file makes smaller than a ball of steel has
    that size. Nothing has no deviations.
    """
    J = pseudo_inertia(p)
    m = J[3, 3]
    if m <= 0.0:
        return p, np.zeros((10, 10))
    center = J[:3, 3] / m
    spread, axes = np.linalg.eigh(J[:3, :3] - m * np.outer(center, center))
    spread = np.maximum(spread, 0.5 * ball(m, STEEL)[4])
    J[:3, :3] = (axes * spread) @ axes.T + m * np.outer(center, center)
    L = np.linalg.cholesky(J)
    return parameters(J), np.array([parameters(LINKS * L @ unit @ L.T) for unit in UNITS]).T


def possible_bodies(
    A: Array, b: Array, x: Array, bodies: slice, E: Array, K: float, weight: float, which: slice
) -> tuple[Array, Array]:
    """The best x of A x = b for which bodies can have K_j = K + Σ x_i E_ji, and the Hessian there.

    What is minimized, beside squares, is weight · (tr K_j − log det K_j), the entropic divergence
    from K_j = 1. Newton, from a larger weight down; the K_j of `x` have to be positive definite.
    Those of `which` that would be negative are set to zero.
    """
    free, values = np.ones(len(b), bool), x[bodies]
    while True:
        start = np.linalg.lstsq(A[np.ix_(free, free)], b[free], rcond=FLAT**2)[0]
        x, at = np.zeros(len(b)), (np.cumsum(free)[bodies] - 1).reshape(len(E), 10)
        start[at.ravel()] = values
        x[free], H = _newton(A[np.ix_(free, free)], b[free], start, at, E, K, weight)
        if not (negative := np.flatnonzero(x[which] < 0.0) + (which.start or 0)).size:
            whole = np.zeros_like(A)
            whole[np.ix_(free, free)] = H
            return x, whole
        free[negative] = False


def _newton(
    A: Array, b: Array, x: Array, at: Any, E: Array, K: float, weight: float
) -> tuple[Array, Array]:
    def slope(x: Array, weight: float) -> tuple[Array, Array] | None:
        bodies = K * np.eye(4) + np.einsum("bi,bijk->bjk", x[at], E)
        if np.linalg.eigvalsh(bodies).min() <= 0.0:
            return None
        G, g = np.linalg.solve(bodies[:, None], E), A @ x - b
        g[at] += weight * np.trace(E - G, axis1=2, axis2=3)
        return g, G

    for w in weight * 10.0 ** np.arange(STAGES, -1, -1):
        for _ in range(MAX_STEPS):
            g, G = slope(x, w) or (b, E)  # it was possible
            H = A.copy()
            for k, own in zip(at, G, strict=True):
                H[np.ix_(k, k)] += w * np.einsum("ijk,lkj->il", own, own)
            scale = np.where(np.diag(H) > 0.0, np.maximum(np.diag(H), 1e-300) ** -0.5, 0.0)
            scaled = H * scale[:, None] * scale
            step = -scale * np.linalg.lstsq(scaled, scale * g, rcond=FLAT**2)[0]
            down = float(-g @ step)
            if down < 1e-8 * w:
                break
            for t in 0.5 ** np.arange(40.0):  # until it ends among bodies, and not far uphill
                then = slope(x + t * step, w)
                if then is not None and then[0] @ step <= 0.5 * down:
                    x = x + t * step
                    break
    return x, H


def ball(mass: float, density: float = DENSITY) -> Array:
    """π of a solid ball, by default as dense as water, at the origin."""
    radius = (3.0 * mass / (4.0 * np.pi * density)) ** (1.0 / 3.0)
    moment = 0.4 * mass * radius**2
    return np.array([mass, 0, 0, 0, moment, 0, 0, moment, 0, moment])
