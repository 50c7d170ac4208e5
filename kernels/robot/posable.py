"""The method of `Robot` that finds configurations: kernels/inverse_kinematics computes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from torqued.kernels.charts import Coordinates
from torqued.kernels.inverse_kinematics.targets import InverseKinematics, Target
from torqued.kernels.result_checks import in_any_coordinates

if TYPE_CHECKING:
    from torqued.kernels.robot.inverse_kinematics import InverseKinematicsSolver


class Posable:
    """A robot that can be asked how to get somewhere."""

    _poses: InverseKinematicsSolver

    @in_any_coordinates
    def inverse_kinematics(
        self,
        targets: Sequence[Target],
        q0: Any,
        tolerance: float = 1e-6,
        iterations: int = 100,
        restarts: int = 20,
        limits: bool = True,
        seed: int = 0,
        *,
        coordinates: Coordinates = "native",
    ) -> InverseKinematics:
        """A configuration within joint limits at which targets are reached, or nearest to them.

        The search begins at q0. Where it ends without the targets of the first priority, it begins
        anew at up to `restarts` random configurations (of `seed`) and gives the best. A target is
        reached when each of its components is off by at most `tolerance`, m or rad. `iterations`
        are those from one start. What comes of it says how it ended and what is left over.
        """
        return self._poses.solve(targets, q0, tolerance, iterations, restarts, limits, seed)
