"""[M18] section 5 against the recursive kernels, on trees of all kinds of joints."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.finite_differences import christoffel
from support.agreement import assert_agree, largest
from support.cases import RATES, cases, examples
from support.robots import random_motion
from torqued.kernels import InputError, Robot
from torqued.kernels.model.description import Array
from torqued.kernels.screws.closed_forms import SystemMatrices


@examples(10, case=cases())
def test_mass_matrix(case):
    assert_agree(case.robot.screws.mass_matrix(case.q), case.robot.mass_matrix(case.q))


@examples(10, case=cases())
def test_coriolis_matrix_gives_the_bias(case):
    robot, q, v = case.robot, case.q, case.v
    bias = robot.screws.coriolis_matrix(q, v) @ v + robot.gravity(q)
    assert_agree(bias, robot.bias(q, v), size=largest(robot.mass_matrix(q)))


@examples(10, case=cases(mimics=False))
def test_coriolis_matrix_becomes_the_direct_one_by_a_term_that_does_no_work(case):
    robot, q, v = case.robot, case.q, case.v
    system = SystemMatrices(robot.screws.bodies(q))
    b = system.brackets(system.J @ v)
    C = robot.screws.coriolis_matrix(q, v) + system.J.T @ system.M @ b @ system.J
    size = largest(robot.mass_matrix(q)) * max(1.0, largest(v))
    assert_agree(C, robot.coriolis_matrix(q, v, "direct"), size=size)


@pytest.mark.parametrize("inertia", ["tensor", "binet"])
@examples(10, case=cases(types=RATES, bases=("fixed",), most=8))
def test_christoffel_symbols(case, inertia):
    robot, q = case.robot, case.q
    Gamma = robot.screws.christoffel(q, inertia)
    assert_agree(Gamma, robot.christoffel(q), size=largest(robot.mass_matrix(q)))


@pytest.mark.parametrize("inertia", ["tensor", "binet"])
def test_christoffel_symbols_are_derivatives_of_the_mass_matrix(inertia):
    """Decides where the paper's text and the line differ, without any of our kernels but M."""
    robot = Robot.family("tree", 7)
    q, _ = robot.random_state(np.random.default_rng(0))

    def mass_matrix(q: Array) -> Array:
        return robot.screws.mass_matrix(q)

    Gamma = robot.screws.christoffel(q, inertia)
    assert_agree(Gamma, christoffel(mass_matrix, q), within=1e-9)


@examples(10, case=cases())
def test_momentum_form(case):
    robot, q, v, a = case.robot, case.q, case.v, case.a
    found = robot.screws.momentum_form(q, v, a)
    tau = robot.inverse_dynamics(q, v, a)
    assert_agree(found.tau, tau, size=largest(robot.mass_matrix(q)))
    # The sum of all momenta, about the center of mass, is the centroidal momentum.
    total, com = found.momentum.sum(axis=0), robot.center_of_mass(q)
    total[:3] -= np.cross(com, total[3:])
    assert_agree(total, robot.centroidal_momentum(q, v), size=largest(total))
    assert_agree(found.gravity.sum(axis=0)[3:], robot.total_mass * robot.gravity_vector)


def test_rate_of_the_momenta_is_their_rate():
    robot = Robot.family("biped", 6)
    (q, v, a), h = random_motion(robot), 1e-5
    ends = [
        robot.screws.momentum_form(robot.integrate(q, v + 0.5 * t * a, t), v + t * a, a).momentum
        for t in (-h, h)
    ]
    rate = robot.screws.momentum_form(q, v, a).rate
    assert_agree(rate, (ends[1] - ends[0]) / (2 * h), within=1e-7)


class TestErrors:
    def test_quasi_velocities_have_no_christoffel_symbols_here(self):
        robot = Robot.family("biped", 4)
        with pytest.raises(InputError, match="column 0 is of joint 'root_joint' of type 'floating"):
            robot.screws.christoffel(robot.neutral())

    def test_unknown_inertia(self):
        robot = Robot.family("chain", 2)
        with pytest.raises(InputError, match="inertia: 'box' is unknown, allowed: 'tensor', 'bi"):
            robot.screws.christoffel(np.zeros(2), "box")
