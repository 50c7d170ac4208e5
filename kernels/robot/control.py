"""The part of `Robot` that controllers and observers are made of."""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.tracking import PARAMETERS
from torqued.kernels.model.description import Array
from torqued.kernels.robot.base import RobotBase


class ControlMethods(RobotBase):
    """In native coordinates."""

    def tracking_torque(self, q: Any, v: Any, v_ref: Any, a_ref: Any) -> Array:
        """M a_ref + C(q, v) v_ref + g in O(N), shape (nv,): Slotine and Li's feed-forward."""
        out = np.empty(self.nv_free)
        COMPILED.tracking_torque(
            self.work.handle,
            self._free_q(q),
            self._free_v("v", v),
            self._free_v("v_ref", v_ref),
            self._free_v("a_ref", a_ref),
            out,
        )
        return self._reduce_vector(out)

    def generalized_momentum(self, q: Any, v: Any) -> tuple[Array, Array]:
        """p = M v and Cᵀ v − g, (nv,) each: ṗ is the latter plus all torques."""
        p, rate = np.empty((2, self.nv_free))
        q, v = self._free_q(q), self._free_v("v", v)
        COMPILED.generalized_momentum(self.work.handle, q, v, p, rate)
        return self._reduce_vector(p), self._reduce_vector(rate)

    @property
    def inertial_parameters(self) -> Array:
        """Ten numbers per body in its own frame, (10 bodies,): m, m c, Ī (xx xy xz yy yz zz).

        Bodies as the model has them: links joined by fixed joints are one.
        """
        out = []
        for body in self.model.bodies:
            m, c = float(body.mass), np.array(body.com)
            rotational = np.zeros((3, 3))
            rotational[np.triu_indices(3)] = body.inertia
            rotational = np.triu(rotational) + np.triu(rotational, 1).T
            rotational = rotational + m * (c @ c * np.eye(3) - np.outer(c, c))
            out.append([m, *(m * c), *rotational[np.triu_indices(3)]])
        return np.array(out).ravel()

    def regressor(self, q: Any, v: Any, a: Any, v_ref: Any = None) -> Array:
        """Y (nv, 10 bodies) with M a + C(q, v) v_ref + g = Y π, π = `inertial_parameters`.

        v_ref is v where it is not given. Rotor inertias are no part of π.
        """
        Y = np.empty((self.nv_free, PARAMETERS * len(self.model.bodies)))
        v = self._free_v("v", v)
        w = v if v_ref is None else self._free_v("v_ref", v_ref)
        COMPILED.regressor(self.work.handle, self._free_q(q), v, w, self._free_v("a", a), Y)
        return np.ascontiguousarray(self._reduce_rows(np.ascontiguousarray(Y.T)).T)
