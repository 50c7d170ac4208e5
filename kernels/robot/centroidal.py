"""Center of mass, momentum about it, and points in the world."""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.common.errors import NumericalError
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.input_checks import numbers
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import finite, result_array
from torqued.kernels.robot.contact_inputs import normal_axes
from torqued.kernels.robot.frames import Frames


class Centroidal(Frames):
    """Momenta are [angular about the center of mass; linear], world axes. Points are (3,), or
    several (k, 3)."""

    @property
    def total_mass(self) -> float:
        """Mass of all moving bodies, kg (without what is fixed to the world)."""
        return float(self.model.bodies["mass"].sum())

    @finite
    def center_of_mass(self, q: Any, *, out: Array | None = None) -> Array:
        """Center of mass (3,) of the moving bodies in the world."""
        tree, q = self.tree, self.tree.q(q)
        com = result_array("out", out, (3,), (q,))
        COMPILED.center_of_mass(tree.handle, q, com)
        return com

    @finite
    def center_of_mass_jacobian(self, q: Any) -> Array:
        """J (3, nv): velocity of the center of mass = J v; zero for a robot without mass."""
        mass = self.total_mass
        return np.ascontiguousarray(self.centroidal_matrix(q)[3:]) / (mass if mass > 0.0 else 1.0)

    @finite
    def centroidal_matrix(self, q: Any, *, out: Array | None = None) -> Array:
        """A_G (6, nv): `centroidal_momentum` = A_G v."""
        tree, q = self.tree, self.tree.q(q)
        A = tree.target(out, (6, tree.nv_free), q)
        COMPILED.centroidal_matrix(tree.handle, q, A)
        return tree.projected("rows", A, out)

    @finite
    def centroidal_momentum(self, q: Any, v: Any = None, *, out: Array | None = None) -> Array:
        """[angular momentum about the center of mass; linear momentum], world axes."""
        tree, q, v = self.tree, self.tree.q(q), self.tree.v("v", v)
        h = result_array("out", out, (6,), (q, v))
        COMPILED.centroidal_momentum(tree.handle, q, v, h)
        return h

    @finite
    def centroidal_bias(self, q: Any, v: Any = None, *, out: Array | None = None) -> Array:
        """Ȧ_G v (6,): the rate of the centroidal momentum while v stays constant."""
        tree, q, v = self.tree, self.tree.q(q), self.tree.v("v", v)
        rate = result_array("out", out, (6,), (q, v))
        COMPILED.centroidal_rate(tree.handle, q, v, np.zeros(tree.nv_free), rate)
        return rate

    @finite
    def frame_to_world(self, q: Any, frame: str, points: Any) -> Array:
        """Points in a frame's axes, where they are in the world, m."""
        pose = self.frame_pose(q, frame)
        return numbers("points", points, (3,), (-1, 3)) @ pose[:3, :3].T + pose[:3, 3]

    @finite
    def world_to_frame(self, q: Any, frame: str, points: Any) -> Array:
        """Points in the world, as a frame sees them, m."""
        pose = self.frame_pose(q, frame)
        return (numbers("points", points, (3,), (-1, 3)) - pose[:3, 3]) @ pose[:3, :3]

    @finite
    def zero_moment_point(
        self, q: Any, v: Any, a: Any, normal: Any = (0.0, 0.0, 1.0), point: Any = (0.0, 0.0, 0.0)
    ) -> Array:
        """Where on a plane (through `point`, with `normal`) the ground's force would have no moment
        along the plane, (3,) in the world.

        It is what moves the robot so: p = o + n × μ / (n·f), with f = ḣ − m g and μ its moment
        about o. Refused where f has no part along the normal.
        """
        n = normal_axes("normal", normal)[:, 2]
        o = numbers("point", point, (3,))
        rate = self.centroidal_matrix(q) @ self.tree.own_v("a", a) + self.centroidal_bias(q, v)
        force = rate[3:] - self.total_mass * self.model.world["gravity"][0]
        moment = rate[:3] + np.cross(self.center_of_mass(q) - o, force)
        return point_of_pressure(force, moment, n, o)


def point_of_pressure(force: Array, moment: Array, n: Array, o: Array) -> Array:
    """Where a force with a moment about o meets the plane through o with the normal n."""
    along = float(n @ force)
    if not abs(along) > 1e-9 * max(1.0, float(np.abs(force).max())):
        raise NumericalError(
            f"zero moment point: the force along the normal is {along:.3g} N, "
            "without which there is no such point"
        )
    return np.asarray(o + np.cross(n, moment) / along)
