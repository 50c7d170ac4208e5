"""The part of `Robot` about coordinates: charts, configurations and the way between two of them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

import numpy as np

from torqued.kernels.charts import Chart, Coordinates, RedundantBase, chart_of
from torqued.kernels.charts.charted_robot import ChartedRobot
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.input_checks import numbers
from torqued.kernels.model.description import Array
from torqued.kernels.robot.base import RobotBase

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Where random states lie when a robot has no limits: rad or m.
OPEN_RANGE = {"prismatic": 1.0, "translation": 1.0, "planar": 1.0, "floating": 1.0}


class CoordinateMethods(RobotBase):
    """`coordinates` names the chart of all that goes in and comes out (docs/COORDINATES.md), or
    is `Custom(A, A_rate)`."""

    def chart(self, coordinates: Coordinates) -> Chart:
        """The chart itself: q, v, a and τ both ways, its sizes `nq` and `nv`, A and its rate."""
        return self._in(coordinates).chart

    def _in(self, coordinates: Coordinates) -> ChartedRobot:
        """This robot in other coordinates; named charts are made once."""
        robot = cast("Robot", self)
        if not isinstance(coordinates, str):
            return ChartedRobot(robot, chart_of(robot, coordinates))
        if coordinates not in self._charted:
            self._charted[coordinates] = ChartedRobot(robot, chart_of(robot, coordinates))
        return self._charted[coordinates]

    def neutral(self, *, coordinates: Coordinates = "native") -> Array:
        """All coordinates zero and quaternions at identity, shape (nq,)."""
        if coordinates != "native":
            return self._in(coordinates).neutral()
        q = np.zeros(self.nq)
        for _, k in self.quaternions:
            q[k + 3] = 1.0
        return q

    def random_state(
        self, rng: np.random.Generator, *, coordinates: Coordinates = "native"
    ) -> tuple[Array, Array]:
        """q within limits (± π or ± 1 m where there are none) and v of order one."""
        if coordinates != "native":
            return self._in(coordinates).random_state(rng)
        q = np.empty(self.nq_free)
        for joint in self.model.joints:
            part = slice(joint.q, joint.q + joint.nq)
            reach = OPEN_RANGE.get(joint.type, np.pi)
            lower, upper = self.model.dofs.lower[part], self.model.dofs.upper[part]
            # Limits may lie wholly outside the usual range: then as far from the nearer one.
            lowest = np.maximum(lower, np.minimum(-reach, upper - reach))
            highest = np.minimum(upper, np.maximum(reach, lower + reach))
            q[part] = rng.uniform(lowest, highest)
        q = q[self.model.mimics.leaders_q]
        for _, k in self.quaternions:
            quaternion = rng.normal(size=4)
            q[k : k + 4] = quaternion / np.linalg.norm(quaternion)
        return q, rng.normal(size=self.nv)

    def integrate(self, q: Any, v: Any, dt: float, *, coordinates: Coordinates = "native") -> Array:
        """q after moving with constant v for dt seconds, shape (nq,)."""
        if coordinates != "native":
            return self._in(coordinates).integrate(q, v, dt)
        dt = float(numbers("dt", dt, ()))
        out = np.empty(self.nq_free)
        COMPILED.integrate(self.work.handle, self._free_q(q), self._free_v("v", v) * dt, out)
        return out[self.model.mimics.leaders_q]

    def difference(self, q0: Any, q1: Any, *, coordinates: Coordinates = "native") -> Array:
        """The velocity (nv,) that takes q0 to q1 in one second: inverse of integrate."""
        if coordinates != "native":
            return self._in(coordinates).difference(q0, q1)
        out = np.empty(self.nv_free)
        COMPILED.difference(self.work.handle, self._free_q(q0, "q0"), self._free_q(q1, "q1"), out)
        return out[self.model.mimics.leaders_v]

    def base_constraint(
        self, q: Any, v: Any, *, coordinates: Coordinates = "quaternion"
    ) -> RedundantBase:
        """What the base's redundant parameters must keep to, in `quaternion` and
        `rotation_matrix`: selection matrix, constraint, multiplier, projector ([BK12] eq. 28-35).
        """
        return self._in(coordinates).base_constraint(q, v)
