"""M, Ṁ and C together, in both factorizations."""

from __future__ import annotations

import numpy as np
import pytest

from support.agreement import assert_agree, largest
from support.cases import cases, examples
from torqued.kernels import InputError, Robot

factorizations = pytest.mark.parametrize("factorization", ["christoffel", "direct"])


@examples(25, case=cases(bases=("floating",)))
def test_M_C_and_christoffel_symbols_do_not_depend_on_where_the_base_is(case):
    robot, q, v = case.robot, case.q, case.v
    moved = q.copy()
    moved[:3] += case.rng.uniform(-1e4, 1e4, 3)
    quaternion = case.rng.normal(size=4)
    moved[3:7] = quaternion / np.linalg.norm(quaternion)
    M = robot.mass_matrix(q)
    assert_agree(robot.mass_matrix(moved), M)
    assert_agree(robot.christoffel(moved), robot.christoffel(q), size=largest(M))
    for factorization in ("christoffel", "direct"):
        C = robot.coriolis_matrix(q, v, factorization)
        there = robot.coriolis_matrix(moved, v, factorization)
        assert_agree(there, C, size=largest(M) * largest(v))


@factorizations
def test_branches_do_not_feel_each_other(factorization):
    robot = Robot.family("biped", 8)
    q, v = robot.random_state(np.random.default_rng(0))
    C = robot.coriolis_matrix(q, v, factorization)
    np.testing.assert_array_equal(C[6:10, 10:], np.zeros((4, 4)))
    np.testing.assert_array_equal(C[10:, 6:10], np.zeros((4, 4)))


def test_unknown_factorization_is_refused_with_those_that_exist():
    robot = Robot.family("chain", 2)
    with pytest.raises(InputError) as caught:
        robot.coriolis_matrix([0.0, 0.0], [1.0, 1.0], "cholesky")
    assert str(caught.value) == (
        "factorization: 'cholesky' is unknown, allowed: 'christoffel', 'direct'"
    )
