"""Partial derivatives of a frame's Jacobian to any order, by nested screw products.

    spatial   ∂^ν J_j / ∂q_α… = [J_βν, … [J_β1, J_j]],   βν ⪯ … ⪯ β1 ⪯ j      [M18] eq. 15, 20, 23
    body      ∂^ν J_j / ∂q_α… = [… [J_j, J_β1] …, J_βν],  j ≺ β1 ⪯ … ⪯ βν      [M18] eq. 5, 12, 14

where β are the indices α in order along the way from the root to the frame, and the derivative is
zero where the order cannot be had. Hybrid linear parts are u + ω × r of the spatial ones, and go by
Leibniz's rule with ∂r/∂q_k = u_k; the first derivative of this is eq. 25.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import combinations

import numpy as np

from torqued.kernels.model.description import Array

#: Above this order sums of 2^ν products are no longer worth it.
MAX_ORDER = 12


def screw_product(x: Array, y: Array) -> Array:
    """[X, Y], [M18] eq. 114."""
    linear = np.cross(x[3:], y[:3]) + np.cross(x[:3], y[3:])
    return np.concatenate([np.cross(x[:3], y[:3]), linear])


class JacobianPartials:
    """Of one frame in one configuration.

    `columns` are those that move the frame, from the root on, and `body_of` the bodies that
    columns move; `spatial` and `body` (6, n) are the Jacobian in these representations, `r` (3,)
    is where the frame is.
    """

    def __init__(
        self, columns: Sequence[int], body_of: Sequence[int], spatial: Array, body: Array, r: Array
    ) -> None:
        self.columns, self.body_of = columns, body_of
        self._spatial, self._body, self._r = spatial, body, r
        self._linear: dict[tuple[int, tuple[int, ...]], Array] = {}

    def matrix(self, representation: str, along: Sequence[int]) -> Array:
        """(6, n): all columns, along columns `along` in any order."""
        partial = np.zeros_like(self._spatial)
        ordered = tuple(sorted(along))
        if all(k in self.columns for k in ordered):
            for j in self.columns:
                partial[:, j] = self.column(representation, j, ordered)
        return partial

    def column(self, representation: str, j: int, along: tuple[int, ...]) -> Array:
        """(6,): along columns in growing order, all of which move the frame."""
        if representation == "spatial":
            return self.spatial(j, along)
        if representation == "body":
            return self.body(j, along)
        turned = self.body if representation == "mixed" else self.spatial
        return np.concatenate([turned(j, along)[:3], self.linear(j, along)])

    def spatial(self, j: int, along: tuple[int, ...]) -> Array:
        """[M18] eq. 23."""
        x = self._spatial[:, j]
        for k in reversed(along):
            if self.body_of[k] > self.body_of[j]:
                return np.zeros(6)
            x = screw_product(self._spatial[:, k], x)
        return x

    def body(self, j: int, along: tuple[int, ...]) -> Array:
        """[M18] eq. 14."""
        x = self._body[:, j]
        for k in along:
            if self.body_of[k] <= self.body_of[j]:
                return np.zeros(6)
            x = screw_product(x, self._body[:, k])
        return x

    def linear(self, j: int, along: tuple[int, ...]) -> Array:
        """The velocity of the frame's origin, u_j + ω_j × r, derived."""
        if (j, along) not in self._linear:
            total = self.spatial(j, along)[3:]
            places = range(len(along))
            for count in range(len(along) + 1):
                for chosen in combinations(places, count):
                    turning = tuple(along[n] for n in chosen)
                    rest = tuple(along[n] for n in places if n not in chosen)
                    total = total + np.cross(self.spatial(j, turning)[:3], self.position(rest))
            self._linear[j, along] = total
        return self._linear[j, along]

    def position(self, along: tuple[int, ...]) -> Array:
        """∂^ν r, where ∂r/∂q_k = u_k."""
        return self.linear(along[0], along[1:]) if along else self._r
