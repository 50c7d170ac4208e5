"""Products with M, C and Cᵀ that form no matrix; their values are in test_identities."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings

from support.agreement import assert_agree, largest
from support.cases import RATES, Case, cases
from torqued.kernels import Robot

few = settings(max_examples=25)
any_case = given(case=cases())


def size(case: Case, *vectors: np.ndarray) -> float:
    return largest(case.robot.mass_matrix(case.q)) * float(np.prod([largest(x) for x in vectors]))


@few
@any_case
def test_mass_product_is_symmetric(case):
    x, y, robot = case.v, case.vector(), case.robot
    assert_agree(
        x @ robot.mass_product(case.q, y), y @ robot.mass_product(case.q, x), size=size(case, x, y)
    )


@few
@any_case
def test_transposed_product_is_the_adjoint(case):
    robot, q, v, x, y = case.robot, case.q, case.v, case.vector(), case.vector()
    left = y @ robot.coriolis_product(q, v, x)
    right = x @ robot.coriolis_transposed_product(q, v, y)
    assert_agree(left, right, size=size(case, v, x, y))


@few
@given(case=cases(types=RATES, bases=("fixed",)))
def test_C_of_v_times_w_is_C_of_w_times_v_where_v_is_the_rate_of_q(case):
    """Which of the admissible factorizations it is: Christoffel symbols are symmetric."""
    robot, q, v, w = case.robot, case.q, case.v, case.vector()
    assert_agree(
        robot.coriolis_product(q, v, w), robot.coriolis_product(q, w, v), size=size(case, v, w)
    )


@few
@any_case
def test_product_of_C_with_v_is_the_bias_without_gravity(case):
    robot, q, v = case.robot, case.q, case.v
    expected = robot.bias(q, v) - robot.gravity(q)
    assert_agree(robot.coriolis_product(q, v, v), expected, size=size(case, v, v))


def test_rotors_count_in_the_mass_product():
    plain, heavy = (Robot.family("chain", 4, armature=rotors) for rotors in ({}, {"joint_2": 0.7}))
    q, w = plain.random_state(np.random.default_rng(0))
    added = heavy.mass_product(q, w) - plain.mass_product(q, w)
    assert_agree(added, [0.0, 0.7 * w[1], 0.0, 0.0], size=1.0)
