"""Where joints are to be: smooth motions with velocity and acceleration known exactly."""

from __future__ import annotations

from dataclasses import dataclass
from math import comb

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


#: From 0 to 1 with four derivatives that are zero at both ends, by powers of x from x⁹ down.
SMOOTH = np.array([70.0, -315.0, 540.0, -420.0, 126.0, 0.0, 0.0, 0.0, 0.0, 0.0])


@dataclass(frozen=True)
class SmoothSines(Sines):
    """The same with jerk and snap, which motors behind springs require."""

    def rates(self, t: float) -> tuple[Array, Array, Array, Array, Array]:
        """Position, velocity, acceleration, jerk and snap (nv,)."""
        w, x = 2.0 * np.pi * self.frequency, min(t / self.start, 1.0)
        swings = [self.amplitude * w**k * np.sin(w * t + 0.5 * np.pi * k) for k in range(5)]
        growth, scale = [], SMOOTH
        for k in range(5):
            growth.append(np.polyval(scale, x) / self.start**k)
            scale = np.polyder(scale)
        out = [
            sum((comb(n, k) * growth[k] * swings[n - k] for k in range(n + 1)), np.zeros(1))
            for n in range(5)
        ]
        return self.center + out[0], out[1], out[2], out[3], out[4]


def panda_sines(center: Array) -> Sines:
    """A motion that uses about half of the Panda's velocities and torques."""
    amplitude = np.array([0.5, 0.35, 0.45, 0.4, 0.6, 0.5, 0.7])
    frequency = np.array([0.45, 0.6, 0.5, 0.55, 0.6, 0.65, 0.5])
    return Sines(center, amplitude, frequency)
