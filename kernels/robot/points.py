"""The methods of `Robot` about points in the world: seen from frames, and where it stands."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from torqued.common.errors import NumericalError
from torqued.kernels.charts import Coordinates
from torqued.kernels.input_checks import numbers
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import in_any_coordinates
from torqued.kernels.robot.contact_inputs import normal_axes

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot


class Points:
    """Points are (3,), or several (k, 3)."""

    @in_any_coordinates
    def frame_to_world(
        self, q: Any, frame: str, points: Any, *, coordinates: Coordinates = "native"
    ) -> Array:
        """Points in a frame's axes, where they are in the world, m."""
        pose = cast("Robot", self).frame_pose(q, frame)
        return numbers("points", points, (3,), (-1, 3)) @ pose[:3, :3].T + pose[:3, 3]

    @in_any_coordinates
    def world_to_frame(
        self, q: Any, frame: str, points: Any, *, coordinates: Coordinates = "native"
    ) -> Array:
        """Points in the world, as a frame sees them, m."""
        pose = cast("Robot", self).frame_pose(q, frame)
        return (numbers("points", points, (3,), (-1, 3)) - pose[:3, 3]) @ pose[:3, :3]

    @in_any_coordinates
    def zero_moment_point(
        self,
        q: Any,
        v: Any,
        a: Any,
        normal: Any = (0.0, 0.0, 1.0),
        point: Any = (0.0, 0.0, 0.0),
        *,
        coordinates: Coordinates = "native",
    ) -> Array:
        """Where on a plane (through `point`, with `normal`) the ground's force would have no moment
        along the plane, (3,) in the world.

        It is what moves the robot so: p = o + n × μ / (n·f), with f = ḣ − m g and μ its moment
        about o. Refused where f has no part along the normal.
        """
        robot = cast("Robot", self)
        n = normal_axes("normal", normal)[:, 2]
        o = numbers("point", point, (3,))
        rate = robot.centroidal_matrix(q) @ robot.tree.own_v("a", a) + robot.centroidal_bias(q, v)
        force = rate[3:] - robot.total_mass * robot.gravity_vector
        moment = rate[:3] + np.cross(robot.center_of_mass(q) - o, force)
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
