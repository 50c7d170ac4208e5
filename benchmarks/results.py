"""What a run of `torqued bench kernels` has found, and its form as JSON."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torqued.benchmarks.budget import ceiling, is_ahead
from torqued.benchmarks.growth import SERIES, Curve
from torqued.benchmarks.machine import Machine
from torqued.benchmarks.timing import Times


@dataclass(frozen=True)
class Figure:
    """One kernel on one robot."""

    robot: str
    kernel: str
    ours: Times
    pinocchio: Times
    method: Times  # the method of `Robot`: input checked, result allocated
    world: Times | None = None  # Pinocchio's WORLD convention, where a function has conventions
    direct: Times | None = None  # the other solvers of contact dynamics
    null_space: Times | None = None

    @property
    def ratio(self) -> float:
        return self.ours.us / self.pinocchio.us

    @property
    def ceiling(self) -> float | None:
        """The budget's, where it has one."""
        return ceiling(self.robot, self.kernel)

    @property
    def ahead(self) -> bool:
        """Whether the ceiling is one that is still to be reached, and is not."""
        return not self.holds and is_ahead(self.robot, self.kernel)

    @property
    def holds(self) -> bool:
        """Whether the budget is kept; true where there is none."""
        return self.ceiling is None or self.ratio <= self.ceiling


@dataclass(frozen=True)
class Results:
    machine: Machine
    loading: str  # how long the kernels took to be ready
    figures: list[Figure]
    curves: list[Curve]

    @property
    def robots(self) -> list[str]:
        return list(dict.fromkeys(figure.robot for figure in self.figures))

    def to_json(self) -> dict[str, Any]:
        """Robots by name, each with its kernels, beside `machine` and `growth`."""
        out: dict[str, Any] = {robot: {} for robot in self.robots}
        for figure in self.figures:
            out[figure.robot][figure.kernel] = {
                "us": figure.ours.us,
                "pinocchio_us": figure.pinocchio.us,
                "ratio": figure.ratio,
            }
        out["machine"] = self.machine.to_json()
        out["growth"] = {
            curve.family: {
                "dofs": list(curve.dofs),
                **{f"{series}_us": list(curve.us[series]) for series in SERIES},
                "slopes": {series: curve.slope(series) for series in SERIES},
            }
            for curve in self.curves
        }
        return out
