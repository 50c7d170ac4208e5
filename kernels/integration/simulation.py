"""A robot over time: torques or a law, gravity, held frames; by any scheme of schemes.py."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import InputError, NumericalError
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.input_checks import choice, number, numbers, sequence, shown, whole_number
from torqued.kernels.integration.schemes import METHODS, Rates, State
from torqued.kernels.model.description import Array
from torqued.kernels.result_checks import checked

if TYPE_CHECKING:
    from torqued.kernels.robot.constraint_set import Constraint, ConstraintSet
    from torqued.kernels.robot.robot import Robot

#: Most steps of one simulation.
MAX_STEPS = 1_000_000

Torque = Callable[[float, Array, Array], Array]


@dataclass(frozen=True)
class Simulation:
    """States at the start and after every step, or every so many."""

    time: Array  # (k,) s
    q: Array  # (k, nq)
    v: Array  # (k, nv)
    tau: Array  # (k, nv) that acted at these times; of the last one, until then


class Acting:
    """A robot with what acts on it: the `Mechanism` of the schemes."""

    def __init__(self, robot: Robot, contacts: Sequence[Constraint]) -> None:
        self._robot, self._contacts = robot, list(contacts)
        self._held: ConstraintSet | None = None
        self.torque: Torque = lambda t, q, v: np.zeros(robot.nv)
        self.carries_momentum = False

    def rates(self, t: float, q: Array, v: Array) -> Rates:
        tau = self.torque(t, q, v)
        if not self._contacts:
            outside, a = tau, self._robot.forward_dynamics(q, v, tau)
        else:
            space, _ = self._robot.solve_contacts(q, v, tau, self._set(q, v))
            outside, a = tau + space.G.T @ space.force, checked("a", space.a)
        return Rates(a, self._push(q, outside) if self.carries_momentum else None)

    def _set(self, q: Array, v: Array) -> ConstraintSet:
        """For kernels. Only a user's own rows have to be looked at in each state."""
        if self._held is None or self._held.own:
            self._held = self._robot.constraint_set(self._contacts, q, v)
        return self._held

    def integrate(self, q: Array, step: Array) -> Array:
        return self._robot.integrate(q, step, 1.0)

    def step_rate(self, step: Array, v: Array) -> Array:
        tree, out = self._robot.tree, np.empty(self._robot.nv_free)
        COMPILED.step_rate(tree.handle, tree.v("step", step), tree.v("v", v), out)
        leaders: Array = out[tree.model.mimics.leaders_v]
        return leaders

    def momentum(self, q: Array, v: Array) -> Array:
        """[about the world's origin; linear], world axes."""
        return self._matrix(q) @ v

    def with_momentum(self, q: Array, v: Array, momentum: Array) -> Array:
        """v with the base's twist that makes up the momentum."""
        matrix, out = self._matrix(q), v.copy()
        out[:6] = np.linalg.solve(matrix[:, :6], momentum - matrix[:, 6:] @ v[6:])
        return out

    def _matrix(self, q: Array) -> Array:
        """(6, nv), times v the momentum about the world's origin."""
        matrix = self._robot.centroidal_matrix(q)
        matrix[:3] += np.cross(self._robot.center_of_mass(q), matrix[3:], axisb=0).T
        return matrix

    def _push(self, q: Array, outside: Array) -> Array:
        """The wrench of gravity and of generalized forces on the base, about the world's origin."""
        robot = self._robot
        weight = robot.total_mass * robot.gravity_vector
        wrench = np.concatenate([np.cross(robot.center_of_mass(q), weight), weight])
        x, y, z, w = q[3:7]
        e = np.array([x, y, z])

        def turned(f: Array) -> Array:
            """From the base's axes to the world's."""
            cross = np.cross(e, f)
            in_world: Array = f + 2.0 * (w * cross + np.cross(e, cross))
            return in_world

        moment, force = turned(outside[:3]), turned(outside[3:6])
        wrench[:3] += moment + np.cross(q[:3], force)
        wrench[3:] += force
        return wrench


def simulate(
    robot: Robot,
    q: Any,
    v: Any,
    tau: Any,
    seconds: Any,
    dt: Any,
    method: str,
    contacts: Sequence[Constraint],
    every: Any,
    report: Any = None,
) -> Simulation:
    """See `Robot.simulate`."""
    scheme = METHODS[choice("method", method, METHODS)]
    if report is not None and not callable(report):
        wanted = "a function of the steps done and of how many"
        raise InputError(f"report: {shown(report)}, expected {wanted}", "report", None, wanted)
    steps, step = step_count(seconds, dt)
    shown_every = whole_number("every", every, 1, MAX_STEPS)
    state = State(robot.tree.own_q(q).copy(), robot.tree.own_v("v", v).copy())
    acting = Acting(robot, sequence("contacts", contacts, "contacts"))
    torque_of = torques(robot, tau, steps, step)
    if scheme.keeps_momentum:
        if robot.model.base != "floating":
            message = f"method {method!r}: the base of {robot.name!r} is fixed, expected a free one"
            raise InputError(message, "method", method, "another method")
        acting.carries_momentum = True
        state = state._replace(momentum=acting.momentum(state.q, state.v))
    times, states, applied = [0.0], [state], []
    for k in range(steps):
        t = k * step
        acting.torque = torque_of(k, state)
        if k % shown_every == 0:
            applied.append(acting.torque(t, state.q, state.v))
        state = scheme.step(acting, t, state, step)
        if not np.isfinite(state.v).all():
            raise NumericalError(f"simulate: the motion is not finite after {t + step:g} s")
        if (k + 1) % shown_every == 0:
            times.append((k + 1) * step)
            states.append(state)
            if report is not None:
                report(k + 1, steps)
    if len(applied) < len(states):
        applied.append(acting.torque(times[-1], state.q, state.v) if steps else np.zeros(robot.nv))
    return Simulation(
        np.array(times),
        np.array([state.q for state in states]),
        np.array([state.v for state in states]),
        np.array(applied[: len(states)]),
    )


def step_count(seconds: Any, dt: Any) -> tuple[int, float]:
    """How many steps, and how long each is: what divides the time evenly, nearest to dt."""
    whole, step = number("seconds", seconds), number("dt", dt)
    if not whole >= 0.0:
        raise InputError(f"seconds: {whole}, expected 0 or more", "seconds", whole, ">= 0")
    if not step > 0.0:
        raise InputError(f"dt: {step}, expected a positive number", "dt", step, "> 0")
    if not whole / step <= MAX_STEPS:
        message = f"seconds: {whole} s in steps of {step} s, at most {MAX_STEPS} steps are allowed"
        raise InputError(message, "seconds", whole, f"at most {MAX_STEPS} steps")
    steps = max(1, round(whole / step)) if whole > 0.0 else 0
    return steps, whole / steps if steps else step


def torques(robot: Robot, tau: Any, steps: int, dt: float) -> Callable[[int, State], Torque]:
    """What acts in each step, as a function of time and state."""
    if hasattr(tau, "torque"):  # a `Controller`: one torque a step, as on a robot

        def of_controller(k: int, state: State) -> Torque:
            held = tau.torque(state.q, state.v, dt if k else 0.0).tau
            return lambda t, q, v: held

        return of_controller
    if callable(tau):

        def of_function(t: float, q: Array, v: Array) -> Array:
            return numbers("tau", tau(t, q, v), (robot.nv,))

        return lambda k, state: of_function
    if tau is None:
        tau = np.zeros(robot.nv)
    given = numbers("tau", tau, (robot.nv,), (-1, robot.nv))
    if given.ndim == 1:
        return lambda k, state: lambda t, q, v: given
    if len(given) != steps:
        message = f"tau: {len(given)} rows, expected one for each of {steps} steps"
        raise InputError(message, "tau", len(given), f"({steps}, {robot.nv})")
    return lambda k, state: lambda t, q, v: given[k]
