"""Where joints are to be: smooth motions with velocity and acceleration known exactly."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from torqued.kernels.model.description import Array

#: Position, velocity and acceleration (nv,) each.
References = tuple[Array, Array, Array]


def quintic(share: float) -> tuple[float, float, float]:
    """From 0 to 1 while `share` does, at rest at both ends; with both derivatives."""
    x = min(max(share, 0.0), 1.0)
    return (
        x**3 * (10.0 - 15.0 * x + 6.0 * x**2),
        30.0 * x**2 * (1.0 - x) ** 2,
        60.0 * x * (1.0 - x) * (1.0 - 2.0 * x),
    )


@dataclass(frozen=True)
class Sines:
    """Each joint swings about `center` with its own amplitude (rad) and frequency (Hz).

    The motion grows from rest within `start` s.
    """

    center: Array
    amplitude: Array
    frequency: Array
    start: float = 1.0

    def __call__(self, t: float) -> References:
        w = 2.0 * np.pi * self.frequency
        x = self.amplitude * np.sin(w * t)
        x_rate = self.amplitude * w * np.cos(w * t)
        x_bend = -(w**2) * x
        s, s_rate, s_bend = quintic(t / self.start)
        s_rate, s_bend = s_rate / self.start, s_bend / self.start**2
        return (
            self.center + s * x,
            s_rate * x + s * x_rate,
            s_bend * x + 2.0 * s_rate * x_rate + s * x_bend,
        )


def panda_sines(center: Array, scale: float = 1.0) -> Sines:
    """A motion that uses about half of the Panda's velocities and torques at scale 1."""
    amplitude = scale * np.array([0.5, 0.35, 0.45, 0.4, 0.6, 0.5, 0.7])
    frequency = np.array([0.45, 0.6, 0.5, 0.55, 0.6, 0.65, 0.5])
    return Sines(center, amplitude, frequency)
