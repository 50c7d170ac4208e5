"""An arm with springs between motors and links, by its equations: forward dynamics and RK4."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.kernels import Robot

Array = NDArray[np.float64]


class SpringArm:
    """M q̈ + C v + g = τ_J, B θ̈ = u − τ_J, τ_J = K (θ − q) + D (θ̇ − v); states are (4, nv)."""

    def __init__(self, robot: Robot, stiffness: Any, motor_inertia: Any, damping: Any = 0.0):
        self.robot = robot
        self.K, self.B, self.D = (
            np.broadcast_to(np.asarray(x, float), (robot.nv,)).copy()
            for x in (stiffness, motor_inertia, damping)
        )

    @property
    def springs(self) -> dict[str, Array]:
        return {"stiffness": self.K, "motor_inertia": self.B, "damping": self.D}

    def torque(self, x: Array) -> Array:
        """τ_J."""
        q, v, theta, w = x
        return self.K * (theta - q) + self.D * (w - v)

    def acceleration(self, x: Array, external: Any = 0.0) -> Array:
        return self.robot.forward_dynamics(x[0], x[1], self.torque(x) + external)

    def rate(self, x: Array, u: Array, external: Any = 0.0) -> Array:
        motors = (u - self.torque(x)) / self.B
        return np.stack([x[1], self.acceleration(x, external), x[3], motors])

    def moved(
        self, x: Array, u: Array, seconds: float, steps: int = 4, external: Any = 0.0
    ) -> Array:
        """The state after u has been held for some time, which may be negative."""
        h = seconds / steps
        for _ in range(steps):
            k1 = self.rate(x, u, external)
            k2 = self.rate(x + 0.5 * h * k1, u, external)
            k3 = self.rate(x + 0.5 * h * k2, u, external)
            k4 = self.rate(x + h * k3, u, external)
            x = x + h / 6.0 * (k1 + 2.0 * k2 + 2.0 * k3 + k4)
        return x

    def at_rest(self, q: Array) -> Array:
        """Springs carry the weight."""
        zero = np.zeros(len(q))
        return np.stack([q, zero, q + self.robot.gravity(q) / self.K, zero])

    def run(
        self,
        x: Array,
        law: Callable[..., Any],
        seconds: float,
        dt: float,
        external: Any = 0.0,
        **references: Array,
    ) -> tuple[Array, list[Any]]:
        """States (steps + 1, 4, nv) with the torque held for dt of a controller's `torque` or
        `step`, and its outputs."""
        states, outputs = [x], []
        for _ in range(round(seconds / dt)):
            state, motors = state_of(states[-1])
            outputs.append(law(*state, dt, **motors, **references))
            states.append(self.moved(states[-1], outputs[-1].tau, dt, 1, external))
        return np.array(states), outputs


def state_of(x: Array) -> tuple[tuple[Array, Array], dict[str, Array]]:
    """q and v, and motors by name."""
    return (x[0], x[1]), {"motor_q": x[2], "motor_v": x[3]}
