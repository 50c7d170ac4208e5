"""The Hessian of the frame that most joints move, here and in Pinocchio.

Pinocchio's comes in two calls, one for all joints and one that reads off the joint's.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from torqued.benchmarks.timing import Call
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.frames import HYBRID

if TYPE_CHECKING:
    from torqued.benchmarks.robots import Case

Array = NDArray[np.float64]

KERNEL = "frame_hessian"


class HessianProblem:
    """Of one robot; calls are valid as long as it lives."""

    def __init__(self, case: Case) -> None:
        self._case, n = case, case.robot.nv
        bodies, body_of = case.robot.model.bodies, case.robot.work.arrays.body_of
        depths = {
            joint.name: int(bodies[body_of[joint.v + joint.nv - 1]].depth)
            for joint in case.robot.model.joints
        }
        self.frame = max(depths, key=lambda name: depths[name])
        self._joint = case.model.getJointId(self.frame)
        self._records = case.robot.frame_table.records([self.frame])
        self._J, self._H = np.empty((6, n)), np.empty((6, n, n))

    def ours(self) -> list[Call]:
        more = (self._records, HYBRID, self._J, self._H)
        handle = self._case.robot.work.handle
        return [(COMPILED.frame_hessian, (handle, s.q, *more)) for s in self._case.states]

    def method(self) -> list[Call]:
        robot = self._case.robot
        return [(robot.frame_hessian, (s.q, self.frame)) for s in self._case.states]

    def pinocchio(self) -> list[Call]:
        return [(self._there, (s.q,)) for s in self._case.pin_states]

    def _there(self, q: Array) -> Any:
        model, data = self._case.model, self._case.data
        pin.computeJointKinematicHessians(model, data, q)
        return pin.getJointKinematicHessian(model, data, self._joint, pin.LOCAL_WORLD_ALIGNED)

    def result(self, k: int) -> tuple[str, Array, Array]:
        """Of a state, here and there, in torqued's coordinates."""
        n, order = self._case.robot.nv, self._case.order
        numbers = np.asarray(self._there(self._case.pin_states[k].q)).ravel()
        # Pinocchio's tensor lies column by column in an array that says row by row.
        angular_first = np.roll(np.arange(6), 3)
        there = numbers.reshape(6, n, n, order="F")[np.ix_(angular_first, order, order)]
        return "H", self._H, there
