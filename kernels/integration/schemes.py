"""One time step of a robot on its manifold, by several schemes ([M18] section 7).

A step from q is a vector Θ of velocities times time, q₁ = integrate(q, Θ), and the equations of
motion are an ordinary differential equation for (Θ, v) from Θ = 0:

    Θ̇ = dexp_{−Θ}⁻¹ v        of joints with quaternions; v of all others ([M18] eq. 89)
    v̇ = a(t, q ∘ exp Θ, v)

Any Runge-Kutta method keeps its order there (Munthe-Kaas), and q never leaves the manifold.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Protocol

import numpy as np

from torqued.kernels.model.description import Array


class Rates(NamedTuple):
    """What happens at a state: accelerations, and how fast the spatial momentum changes."""

    a: Array  # (nv,)
    momentum: Array | None = None  # (6,) [moment about the world's origin; force], world axes


class Mechanism(Protocol):
    """What schemes need of a robot and of what acts on it."""

    def rates(self, t: float, q: Array, v: Array) -> Rates: ...
    def integrate(self, q: Array, step: Array) -> Array: ...
    def step_rate(self, step: Array, v: Array) -> Array: ...
    def with_momentum(self, q: Array, v: Array, momentum: Array) -> Array: ...


class State(NamedTuple):
    """At the end of a step; the momentum is carried by the scheme that keeps it."""

    q: Array
    v: Array
    momentum: Array | None = None


class Tableau(NamedTuple):
    """A Runge-Kutta method whose stages only look at the one before."""

    shares: tuple[float, ...]  # of the time step, stage by stage; also the weight of the last slope
    weights: tuple[float, ...]


MIDPOINT = Tableau((0.0, 0.5), (0.0, 1.0))
CLASSICAL = Tableau((0.0, 0.5, 0.5, 1.0), (1 / 6, 1 / 3, 1 / 3, 1 / 6))


def munthe_kaas(tableau: Tableau, robot: Mechanism, t: float, state: State, dt: float) -> State:
    """A Runge-Kutta step of (Θ, v), and of the momentum where it is carried."""
    q, v = state.q, state.v
    turns: list[Array] = []
    slopes: list[Array] = []
    pushes: list[Array | None] = []
    for share in tableau.shares:
        if share == 0.0:
            step, speed = np.zeros(len(v)), v
        else:
            step, speed = share * dt * turns[-1], v + share * dt * slopes[-1]
        at = robot.integrate(q, step)
        found = robot.rates(t + share * dt, at, speed)
        turns.append(robot.step_rate(step, speed))
        slopes.append(found.a)
        pushes.append(found.momentum)
    weights = np.array(tableau.weights)
    after = State(robot.integrate(q, dt * (weights @ turns)), v + dt * (weights @ slopes))
    if state.momentum is None:
        return after
    momentum = state.momentum + dt * (weights @ np.array(pushes))
    return State(after.q, robot.with_momentum(after.q, after.v, momentum), momentum)


def semi_implicit(robot: Mechanism, t: float, state: State, dt: float) -> State:
    """Euler's step with the new velocity, as simulators for contacts take it."""
    v = state.v + dt * robot.rates(t, state.q, state.v).a
    return State(robot.integrate(state.q, dt * v), v)


Scheme = Callable[[Mechanism, float, State, float], State]


class Method(NamedTuple):
    order: int
    step: Scheme
    keeps_momentum: bool = False


def _by(tableau: Tableau) -> Scheme:
    def step(robot: Any, t: float, state: State, dt: float) -> State:
        return munthe_kaas(tableau, robot, t, state, dt)

    return step


#: By name. `momentum` is `rkmk4` whose floating base has the twist that the spatial momentum asks
#: for: the momentum itself is integrated, and where nothing acts from outside it never changes.
METHODS = {
    "euler": Method(1, semi_implicit),
    "rkmk2": Method(2, _by(MIDPOINT)),
    "rkmk4": Method(4, _by(CLASSICAL)),
    "momentum": Method(4, _by(CLASSICAL), keeps_momentum=True),
}
