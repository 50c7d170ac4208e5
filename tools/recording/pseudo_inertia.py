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
