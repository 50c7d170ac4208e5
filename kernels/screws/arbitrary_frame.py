"""The Newton-Euler equations of all bodies in one frame of choice, which itself may move.

Twists are measured at the origin of a frame F_j and resolved in the axes of a frame F_k, [M18]
section 3.5. With kT = Ad_R Ad_C⁻¹ from spatial to there, and the twist kW = (ω_k, ṙ_j) of the two
frames in those axes,

    kV = kT V,     kV̇ = kT V̇ − [kW, kV],     kM = kT⁻ᵀ M kT⁻¹                       eq. 61, 64
    kM (kV̇ + [kW, kV]) − ad_kVᵀ kM kV = kF                                        eq. 60, 63

eq. 60 is the case k = j. In one frame wrenches of subtrees are plain sums.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torqued.kernels.model.description import Array
from torqued.kernels.screws.closed_forms import Bodies
from torqued.kernels.screws.representations import bracket, skew


@dataclass(frozen=True)
class InOneFrame:
    """N bodies, all in the same moving frame; wrenches are those of each body's subtree."""

    twists: Array  # (N, 6) kV
    rates: Array  # (N, 6) kV̇: of these numbers; gravity is not in them
    wrenches: Array  # (N, 6) [moment; force] that come through the body's joint
    tau: Array  # (n,)


@dataclass(frozen=True)
class Place:
    """Where twists are measured, r_j and its velocity, and resolved, R_k and its turning."""

    position: Array
    velocity: Array
    rotation: Array
    turning: Array

    def from_spatial(self) -> Array:
        """kT (6, 6)."""
        back, zero = self.rotation.T, np.zeros((3, 3))
        return np.block([[back, zero], [-back @ skew(self.position), back]])

    def twist(self) -> Array:
        """kW (6,)."""
        return np.concatenate([self.rotation.T @ self.turning, self.rotation.T @ self.velocity])


def newton_euler_in_frame(
    bodies: Bodies,
    place: Place,
    spatial: Array,
    spatial_rates: Array,
    a: Array,
    gravity: Array,
    applied: Array,
) -> InOneFrame:
    """`spatial`, `spatial_rates`, `applied` (N, 6): twists, their rates, and wrenches from outside,
    all in spatial representation."""
    N = bodies.count
    T, W = place.from_spatial(), place.twist()
    back = np.linalg.inv(T)
    twists, rates, wrenches = np.zeros((3, N, 6))
    rest = T @ np.concatenate([np.zeros(3), -gravity])
    for i in range(N):
        twists[i] = T @ spatial[i]
        rates[i] = T @ spatial_rates[i] - bracket(W) @ twists[i]
        to_body = bodies.inverse_adjoint(i) @ back
        M = to_body.T @ bodies.inertia(i) @ to_body  # eq. 64
        V = twists[i]
        wrenches[i] = M @ (rates[i] + bracket(W) @ V + rest) - bracket(V).T @ M @ V  # eq. 63
        wrenches[i] -= back.T @ applied[i]
    tau = bodies.armature * a
    for i in reversed(range(N)):
        to_body = bodies.inverse_adjoint(i) @ back
        columns = bodies.columns[i]
        X = np.linalg.solve(to_body, bodies.jacobians[i][:, columns])
        tau[columns] += X.T @ wrenches[i]
        if bodies.parents[i] >= 0:
            wrenches[bodies.parents[i]] += wrenches[i]
    return InOneFrame(twists, rates, wrenches, tau)
