"""τ̇ and τ̈ against differences of τ in time, along motions that are known."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.finite_differences import derivative
from support.agreement import assert_agree, largest
from support.cases import RATES, random_case
from torqued.kernels import InputError, Robot
from torqued.kernels.integration import lie


@pytest.mark.parametrize("seed", [0, 3, 6])
def test_rates_are_those_of_torques_along_a_polynomial(seed):
    case = random_case(seed, 6, "fixed", RATES, mimics=bool(seed % 2))
    robot, q, v, a = case.robot, case.q, case.v, case.a
    jerk, snap = case.vector(), case.vector()

    def tau(t):
        place = q + t * v + t**2 / 2 * a + t**3 / 6 * jerk + t**4 / 24 * snap
        speed = v + t * a + t**2 / 2 * jerk + t**3 / 6 * snap
        return robot.inverse_dynamics(place, speed, a + t * jerk + t**2 / 2 * snap)

    found = robot.inverse_dynamics_rates(q, v, a, jerk, snap)
    assert_agree(found[0], tau(0.0))
    first = derivative(tau, 0.01)
    assert_agree(found[1], first, within=1e-8, size=largest(first))
    second = derivative(lambda t: derivative(lambda h: tau(t + h), 0.01), 0.02)
    assert_agree(found[2], second, within=1e-6, size=largest(second))


def test_rates_of_a_floating_base_are_along_its_own_motion():
    robot = Robot.family("biped", 4)
    rng = np.random.default_rng(0)
    q = robot.random_state(rng)[0]
    c = rng.normal(size=(3, robot.nv))

    def step(t):
        return t * c[0] + t**2 * c[1] + t**3 * c[2]

    def v(t):  # of the base V = dexp_{−X} Ẋ, of joints the rate
        rate = c[0] + 2 * t * c[1] + 3 * t**2 * c[2]
        return np.hstack([lie.dexp(-step(t)[:6]) @ rate[:6], rate[6:]])

    def a(t):
        return derivative(lambda h: v(t + h), 0.02)

    def jerk(t):
        return derivative(lambda h: a(t + h), 0.04)

    snap = derivative(jerk, 0.08)

    def tau(t):
        return robot.inverse_dynamics(robot.integrate(q, step(t), 1.0), v(t), a(t))

    found = robot.inverse_dynamics_rates(q, v(0.0), a(0.0), jerk(0.0), snap)
    first = derivative(tau, 0.02)
    assert_agree(found[1], first, within=1e-7, size=largest(first))
    second = derivative(lambda t: derivative(lambda h: tau(t + h), 0.02), 0.04)
    assert_agree(found[2], second, within=1e-4, size=largest(second))


def test_bad_input_is_refused_by_name():
    zero = np.zeros(2)
    with pytest.raises(InputError, match=r"^snap"):
        Robot.family("chain", 2).inverse_dynamics_rates(zero, zero, zero, zero, [1.0])
