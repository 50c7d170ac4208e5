"""The part of `Robot` about frames and points, centre of mass and momentum."""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.kernels.charts import Coordinates
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.input_checks import choice
from torqued.kernels.model.description import Array
from torqued.kernels.robot.coordinates import CoordinateMethods


class FrameMethods(CoordinateMethods):
    """`point` (3,) is in the frame's own axes; the default is the frame's origin.

    `representation` is `hybrid` (world axes, at the frame's origin), `body` (frame's axes),
    `spatial` (world axes, at the world's origin) or `mixed` (angular in frame axes, linear in
    world axes). 6-D vectors are [angular; linear].
    """

    def frame_pose(
        self, q: Any, frame: str, point: Any = None, *, coordinates: Coordinates = "native"
    ) -> Array:
        """Homogeneous pose (4, 4) of a frame in the world."""
        if coordinates != "native":
            return self._in(coordinates).frame_pose(q, frame, point)
        poses = np.empty((1, 4, 4))
        frames = self._frames([frame], point)
        COMPILED.frame_poses(self.work.handle, self._free_q(q), frames, poses)
        pose: Array = poses[0]
        return pose

    def frame_jacobian(
        self,
        q: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """J (6, nv): twist of the frame = J v."""
        if coordinates != "native":
            return self._in(coordinates).frame_jacobian(q, frame, representation, point)
        kind = REPRESENTATIONS[choice("representation", representation, REPRESENTATIONS)]
        J = np.empty((1, 6, self.nv_free))
        frames = self._frames([frame], point)
        COMPILED.frame_jacobians(self.work.handle, self._free_q(q), frames, kind, J)
        return self._reduce_rows(J[0])

    def frame_velocity(
        self,
        q: Any,
        v: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """J v (6,), without forming J."""
        if coordinates != "native":
            return self._in(coordinates).frame_velocity(q, v, frame, representation, point)
        return self._frame_motion(q, v, np.zeros(self.nv), frame, representation, point)[0]

    def frame_acceleration(
        self,
        q: Any,
        v: Any,
        a: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """J a + J̇ v (6,): the rate of `frame_velocity`; gravity is not in it."""
        if coordinates != "native":
            return self._in(coordinates).frame_acceleration(q, v, a, frame, representation, point)
        return self._frame_motion(q, v, a, frame, representation, point)[1]

    def frame_bias(
        self,
        q: Any,
        v: Any,
        frame: str,
        representation: str = "hybrid",
        point: Any = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """J̇ v (6,)."""
        if coordinates != "native":
            return self._in(coordinates).frame_bias(q, v, frame, representation, point)
        return self._frame_motion(q, v, np.zeros(self.nv), frame, representation, point)[1]

    def _frame_motion(
        self, q: Any, v: Any, a: Any, frame: str, representation: str, point: Any
    ) -> tuple[Array, Array]:
        kind = REPRESENTATIONS[choice("representation", representation, REPRESENTATIONS)]
        velocity, acceleration = np.empty((1, 6)), np.empty((1, 6))
        q, v, a = self._free_q(q), self._free_v("v", v), self._free_v("a", a)
        frames = self._frames([frame], point)
        COMPILED.frame_motions(self.work.handle, q, v, a, frames, kind, velocity, acceleration)
        return velocity[0], acceleration[0]

    @property
    def total_mass(self) -> float:
        """Mass of all moving bodies, kg (without what is fixed to the world)."""
        return float(self.model.bodies["mass"].sum())

    def center_of_mass(self, q: Any, *, coordinates: Coordinates = "native") -> Array:
        """Centre of mass (3,) of the moving bodies in the world."""
        if coordinates != "native":
            return self._in(coordinates).center_of_mass(q)
        com = np.empty(3)
        COMPILED.center_of_mass(self.work.handle, self._free_q(q), com)
        return com

    def center_of_mass_jacobian(self, q: Any, *, coordinates: Coordinates = "native") -> Array:
        """J (3, nv): velocity of the centre of mass = J v; zero for a robot without mass."""
        if coordinates != "native":
            return self._in(coordinates).center_of_mass_jacobian(q)
        mass = self.total_mass
        return np.ascontiguousarray(self.centroidal_matrix(q)[3:]) / (mass if mass > 0.0 else 1.0)

    def centroidal_matrix(self, q: Any, *, coordinates: Coordinates = "native") -> Array:
        """A_G (6, nv): `centroidal_momentum` = A_G v."""
        if coordinates != "native":
            return self._in(coordinates).centroidal_matrix(q)
        A = np.empty((6, self.nv_free))
        COMPILED.centroidal_matrix(self.work.handle, self._free_q(q), A)
        return self._reduce_rows(A)

    def centroidal_momentum(self, q: Any, v: Any, *, coordinates: Coordinates = "native") -> Array:
        """[angular momentum about the centre of mass; linear momentum], world axes."""
        if coordinates != "native":
            return self._in(coordinates).centroidal_momentum(q, v)
        h = np.empty(6)
        COMPILED.centroidal_momentum(self.work.handle, self._free_q(q), self._free_v("v", v), h)
        return h

    def centroidal_bias(self, q: Any, v: Any, *, coordinates: Coordinates = "native") -> Array:
        """Ȧ_G v (6,): the rate of the centroidal momentum while v stays constant."""
        if coordinates != "native":
            return self._in(coordinates).centroidal_bias(q, v)
        out = np.empty(6)
        q, v = self._free_q(q), self._free_v("v", v)
        COMPILED.centroidal_rate(self.work.handle, q, v, np.zeros(self.nv_free), out)
        return out
