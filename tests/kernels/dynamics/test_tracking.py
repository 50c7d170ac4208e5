"""Tracking torques, regressor and momentum, against the matrices that they do without."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.agreement import assert_agree, largest
from support.cases import Case, cases, examples
from torqued.kernels import Robot
from torqued.kernels.dynamics.tracking import PARAMETERS

any_case = examples(25, case=cases())


def size(case: Case, *rates: np.ndarray) -> float:
    """Largest number that a torque at these rates is a sum of."""
    fastest = max(1.0, *(largest(x) for x in (case.v, *rates)))
    return largest(case.robot.mass_matrix(case.q)) * fastest**2 + largest(
        case.robot.gravity(case.q)
    )


@any_case
def test_tracking_torque_is_that_of_formed_matrices(case):
    robot, q, v, w, a = case.robot, case.q, case.v, case.vector(), case.vector()
    expected = robot.mass_matrix(q) @ a + robot.coriolis_matrix(q, v) @ w + robot.gravity(q)
    assert_agree(robot.tracking_torque(q, v, w, a), expected, size=size(case, w, a))


@any_case
def test_momentum_and_its_rate_are_those_of_formed_matrices(case):
    robot, q, v = case.robot, case.q, case.v
    p, rate = robot.generalized_momentum(q, v)
    assert_agree(p, robot.mass_matrix(q) @ v, size=size(case))
    expected = robot.coriolis_matrix(q, v).T @ v - robot.gravity(q)
    assert_agree(rate, expected, size=size(case))


@any_case
def test_regressor_times_parameters_is_the_tracking_torque_without_rotors(case):
    robot, q, v, w, a = case.robot, case.q, case.v, case.vector(), case.vector()
    rotors = robot.tree.projected("vector", robot.model.dofs.armature * robot.tree.v("a", a))
    torque = robot.regressor(q, v, a, w) @ robot.inertial_parameters + rotors
    assert_agree(torque, robot.tracking_torque(q, v, w, a), size=size(case, w, a))


@pytest.mark.parametrize("parameter", range(PARAMETERS))
def test_column_of_the_regressor_is_what_a_changed_parameter_adds(parameter):
    """The oracle is the same robot with that parameter changed in its model."""
    robot = Robot.family("biped", 6, seed=3)
    q, v = robot.random_state(np.random.default_rng(0))
    a, w = np.random.default_rng(1).normal(size=(2, robot.nv))
    body, step = 4, 1e-3
    numbers = robot.inertial_parameters.reshape(-1, PARAMETERS)[body]
    numbers[parameter] += step
    m, c = numbers[0], numbers[1:4] / numbers[0]
    about = np.zeros((3, 3))
    about[np.triu_indices(3)] = numbers[4:]
    about -= m * (c @ c * np.eye(3) - np.outer(c, c))
    bodies = robot.model.bodies.copy()
    bodies[body]["mass"], bodies[body]["com"] = m, c
    bodies[body]["inertia"] = about[np.triu_indices(3)]
    changed = Robot(replace(robot.model, bodies=bodies))
    before, after = (one.tracking_torque(q, v, w, a) for one in (robot, changed))
    column = robot.regressor(q, v, a, w)[:, PARAMETERS * body + parameter]
    assert largest(column) > 1e-6
    assert_agree((after - before) / step, column, size=1e3 * largest(before))
