"""The simulated robot where MuJoCo is not installed: torqued's own forward dynamics, integrated.

It proves less, because robot and controller then share their equations; the demo says so.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.kernels import Robot
from torqued.kernels.model.description import Array, Description


class OwnPlant:
    """`q`, `v` at `time`, and `step(tau, seconds)`, as `plant.Plant` has them."""

    def __init__(self, description: Description, base: str = "fixed") -> None:
        self.robot = Robot.from_description(description, base)
        self.reset(self.robot.neutral(), np.zeros(self.robot.nv))

    def reset(self, q: Any, v: Any, time: float = 0.0) -> None:
        self.q: Array = np.array(q, float)
        self.v: Array = np.array(v, float)
        self.time = time

    def step(self, tau: Array, seconds: float = 1e-3) -> None:
        """Hold a torque (nv,) for a time: one step of the classical Runge-Kutta method."""
        robot, h = self.robot, seconds
        q, v = self.q, self.v
        rates, slopes = [v], [robot.forward_dynamics(q, v, tau)]
        for share in (0.5, 0.5, 1.0):
            q_k, v_k = robot.integrate(q, rates[-1], share * h), v + share * h * slopes[-1]
            rates.append(v_k)
            slopes.append(robot.forward_dynamics(q_k, v_k, tau))
        weights = np.array([1.0, 2.0, 2.0, 1.0]) / 6.0
        self.q = robot.integrate(q, weights @ rates, h)
        self.v = v + h * (weights @ slopes)
        self.time += h
