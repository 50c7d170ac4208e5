"""A and B of the state-space form: what happens to two robots that start close to each other."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.finite_differences import derivative
from support.agreement import assert_agree, largest
from support.cases import random_case
from support.chart_cases import NAMES, random_chart_case
from torqued.kernels import InputError, Robot
from torqued.kernels.derivatives.linearization import exponential

CASES = [(1, 5, "floating"), (2, 6, "fixed"), (4, 6, "floating")]


def rate_of_difference(robot: Robot, q, v, tau, dq, dv):
    """(δq̇, δv̇) of two motions under τ, one at q, v and the other a small step away.

    Over a short time h both follow their accelerations to second order, which is all that
    derivatives at h = 0 see.
    """

    def after(q, v, h):
        a = robot.forward_dynamics(q, v, tau)
        return robot.integrate(q, v + 0.5 * h * a, h), v + h * a

    def apart(h):
        here = after(q, v, h)
        there = after(robot.integrate(q, dq, 1.0), v + dv, h)
        return np.hstack([robot.difference(here[0], there[0]), there[1] - here[1]])

    return derivative(apart, 1e-2)


@pytest.mark.parametrize(("seed", "bodies", "base"), CASES)
def test_state_space_form_is_the_rate_of_small_differences(seed, bodies, base):
    case = random_case(seed, bodies, base)
    robot, q, v = case.robot, case.q, 0.3 * case.v
    tau = robot.inverse_dynamics(q, v, case.a)
    A, B = robot.linearize(q, v, tau)
    n = robot.nv
    for k, e in enumerate(np.eye(2 * n)):

        def rate(h, e=e):
            return rate_of_difference(robot, q, v, tau, h * e[:n], h * e[n:])

        assert_agree(A[:, k], derivative(rate, 1e-2, 2), within=1e-5, size=largest(A))
    assert_agree(B[n:], robot.solve_mass(q, np.eye(n)))
    assert largest(B[:n]) == 0.0


@pytest.mark.parametrize("name", NAMES)
def test_derivatives_in_every_chart_are_those_along_its_own_integrate(name):
    case = random_chart_case(name, 1)
    robot, q, v, a = case.robot.in_coordinates(name), case.q, case.v, case.a
    tau = robot.inverse_dynamics(q, v, a)
    dq, dv = robot.inverse_dynamics_derivatives(q, v, a)
    aq, av, atau = robot.forward_dynamics_derivatives(q, v, tau)
    for k, e in enumerate(np.eye(robot.nv)):

        def tau_along(h, e=e):
            return robot.inverse_dynamics(robot.integrate(q, e, h), v, a)

        def a_along(h, e=e):
            return robot.forward_dynamics(robot.integrate(q, e, h), v, tau)

        step = 0.05 / max(1.0, largest(case.chart.A(case.native_q) @ e))
        assert_agree(dq[:, k], derivative(tau_along, step), within=1e-7, size=largest(dq))
        assert_agree(aq[:, k], derivative(a_along, 0.3 * step), within=1e-5, size=largest(aq))
        by_v = derivative(lambda h, e=e: robot.inverse_dynamics(q, v + h * e, a))
        assert_agree(dv[:, k], by_v, within=1e-8, size=largest(dv))
        by_v = derivative(lambda h, e=e: robot.forward_dynamics(q, v + h * e, tau))
        assert_agree(av[:, k], by_v, within=1e-7, size=largest(av))
        by_tau = derivative(lambda h, e=e: robot.forward_dynamics(q, v, tau + h * e))
        assert_agree(atau[:, k], by_tau, within=1e-7, size=largest(atau))


@pytest.mark.parametrize("name", ["rpy", "hybrid", "mujoco", "com", "quaternion"])
def test_linearization_in_a_chart_is_the_native_one_in_other_coordinates(name):
    """With δq = A δq̄ and δν = A δv̄ + (∂A v̄) δq̄, both predict the same native state."""
    case = random_chart_case(name, 2)
    robot, chart, q, v = case.robot, case.chart, case.native_q, case.native_v
    tau = robot.inverse_dynamics(q, v, np.ones(robot.nv))
    own_tau = chart.torque_from_native(q, tau)
    A, B = robot.in_coordinates(name).linearize(case.q, case.v, own_tau)
    native_A, native_B = robot.linearize(q, v, tau)
    n, own = robot.nv, chart.nv
    slopes = np.array([chart.A_rate(q, e) @ case.v for e in np.eye(own)]).T
    to_native = np.block([[chart.A(q), np.zeros((n, own))], [slopes, chart.A(q)]])
    # The map moves along: δẋ = T δx̄˙ + Ṫ δx̄. Rows of δq suffice to see it all; those of δv are
    # the accelerations, whose derivatives have a test of their own.
    top = slice(0, n)
    T_rate = np.hstack([chart.A_rate(q, case.v), np.zeros((n, own))])
    # Redundant coordinates only ever differ along their manifold, and so do their rates.
    along = chart.A_inverse(q) @ chart.A(q)
    tangent = np.block([[along, np.zeros((own, own))], [np.zeros((own, own)), along]])
    there = native_A[top] @ to_native @ tangent
    assert_agree((to_native[top] @ A + T_rate) @ tangent, there, within=1e-9, size=1.0)
    assert_agree(chart.A(q) @ B[own:], native_B[n:] @ chart.A_inverse(q).T, within=1e-9)


def test_sampled_form_is_the_continuous_one_integrated():
    robot = Robot.family("chain", 4)
    rng = np.random.default_rng(0)
    q, v = robot.random_state(rng)
    tau = rng.normal(size=4)
    A, B = robot.linearize(q, v, tau)
    steps, dt = 2000, 0.1
    x, u = rng.normal(size=8), rng.normal(size=4)
    there = x
    for _ in range(steps):  # the midpoint rule, whose error is (dt/steps)² of the whole
        h = dt / steps
        half = there + 0.5 * h * (A @ there + B @ u)
        there = there + h * (A @ half + B @ u)
    sampled_A, sampled_B = robot.linearize(q, v, tau, dt=dt)
    assert_agree(sampled_A @ x + sampled_B @ u, there, within=1e-5)


def test_exponential_of_a_turn_is_the_turn():
    for angle in (0.0, 1e-9, 0.3, 40.0):
        c, s = np.cos(angle), np.sin(angle)
        found = exponential(np.array([[0.0, -angle], [angle, 0.0]]))
        assert_agree(found, [[c, -s], [s, c]], within=1e-13)


@pytest.mark.parametrize("dt", [0.0, -1e-3, np.nan, "soon", [1e-3, 1e-3]])
def test_time_step_that_is_none_is_refused(dt):
    with pytest.raises(InputError, match=r"^dt"):
        Robot.family("chain", 2).linearize(np.zeros(2), np.zeros(2), np.zeros(2), dt=dt)
