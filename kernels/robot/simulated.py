"""The method of `Robot` that lets time pass: kernels/integration computes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, cast

from torqued.kernels.charts import Coordinates
from torqued.kernels.integration.simulation import Simulation, simulate
from torqued.kernels.result_checks import in_any_coordinates

if TYPE_CHECKING:
    from torqued.kernels.robot.constraint_set import Constraint
    from torqued.kernels.robot.robot import Robot


class Simulated:
    """A robot over time."""

    @in_any_coordinates
    def simulate(
        self,
        q: Any,
        v: Any,
        tau: Any = None,
        seconds: float = 1.0,
        dt: float = 1e-3,
        method: str = "rkmk4",
        contacts: Sequence[Constraint] = (),
        every: int = 1,
        report: Callable[[int, int], None] | None = None,
        *,
        coordinates: Coordinates = "native",
    ) -> Simulation:
        """The motion from q, v: times (k,), q (k, nq), v (k, nv) and torques (k, nv).

        `tau` is what acts: nothing, torques (nv,), a row (steps, nv) for each step, a function of
        t, q and v, or a `Controller`, whose torque is held over a step as on a robot. `method` is
        "rkmk4" or "rkmk2" (Munthe-Kaas Runge-Kutta of that order), "momentum" (order 4; keeps the
        spatial momentum of a floating robot to rounding) or "euler" (semi-implicit, order 1).
        `contacts` are held as in `contact_dynamics`, loops and rows among them. Every `every`-th
        step is recorded, and told to `report(steps done, of how many)`.
        """
        robot = cast("Robot", self)
        return simulate(robot, q, v, tau, seconds, dt, method, contacts, every, report)
