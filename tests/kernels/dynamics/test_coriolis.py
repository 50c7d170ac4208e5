"""M, Ṁ and C together, in both factorizations."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings

from support.agreement import assert_agree, largest
from support.cases import cases
from support.textbook import CartPole, DoublePendulum, free_body
from torqued.kernels import InputError, Robot
from torqued.kernels.compilation.entries import COMPILED

few = settings(max_examples=25)
factorizations = pytest.mark.parametrize("factorization", ["christoffel", "direct"])


@pytest.mark.parametrize("seed", range(5))
class TestTextbook:
    def test_double_pendulum(self, seed):
        pendulum = DoublePendulum()
        q, v = np.random.default_rng(seed).uniform(-3.0, 3.0, (2, 2))
        assert_agree(pendulum.robot.coriolis_matrix(q, v), pendulum.coriolis_matrix(q, v))

    def test_cart_and_pole_have_one_entry(self, seed):
        cart = CartPole()
        q, v = np.random.default_rng(seed).uniform(-3.0, 3.0, (2, 2))
        expected = np.zeros((2, 2))
        expected[0, 1] = -cart.pole * cart.length * np.sin(q[1]) * v[1]
        assert_agree(cart.robot.coriolis_matrix(q, v), expected, size=1.0)

    def test_free_body_that_only_flies_has_none_but_the_turning_of_its_axes(self, seed):
        """In body axes u̇ + ω × u: C = [·; m ω×] in the linear rows."""
        robot = free_body(2.0)
        q, v = robot.random_state(np.random.default_rng(seed))
        x, y, z = v[:3]
        turning = 2.0 * np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])
        assert_agree(robot.coriolis_matrix(q, v)[3:, 3:], turning)


@few
@given(case=cases(mimics=False))
def test_one_call_gives_M_its_rate_and_C(case):
    robot, q, v = case.robot, case.q, case.v
    M, Mdot, C = np.full((3, robot.nv, robot.nv), np.nan)
    COMPILED.coriolis_matrix(robot.work.handle, q, v, M, Mdot, C)
    size = largest(M) * largest(v)
    assert_agree(M, robot.mass_matrix(q))
    assert_agree(Mdot, robot.mass_matrix_rate(q, v), size=size)
    np.testing.assert_array_equal(C, robot.coriolis_matrix(q, v))
    D, Ddot, direct = np.full((3, robot.nv, robot.nv), np.nan)
    COMPILED.coriolis_matrix_direct(robot.work.handle, q, v, D, Ddot, direct)
    np.testing.assert_array_equal(D, M)
    np.testing.assert_array_equal(Ddot, Mdot)
    assert_agree(direct + direct.T, Mdot, size=size)


def test_the_two_factorizations_are_not_the_same():
    robot = Robot.family("biped", 8)
    q, v = robot.random_state(np.random.default_rng(0))
    C, direct = robot.coriolis_matrix(q, v), robot.coriolis_matrix(q, v, "direct")
    assert largest(C - direct) > 1e-3 * largest(C)


@factorizations
@few
@given(case=cases(bases=("floating",)))
def test_C_does_not_depend_on_where_the_base_is(case, factorization):
    moved = case.q.copy()
    moved[:3] += case.rng.uniform(-1e4, 1e4, 3)
    quaternion = case.rng.normal(size=4)
    moved[3:7] = quaternion / np.linalg.norm(quaternion)
    C = case.robot.coriolis_matrix(case.q, case.v, factorization)
    size = largest(case.robot.mass_matrix(case.q)) * largest(case.v)
    assert_agree(case.robot.coriolis_matrix(moved, case.v, factorization), C, size=size)


@factorizations
def test_branches_do_not_feel_each_other(factorization):
    robot = Robot.family("biped", 8)
    q, v = robot.random_state(np.random.default_rng(0))
    C = robot.coriolis_matrix(q, v, factorization)
    np.testing.assert_array_equal(C[6:10, 10:], np.zeros((4, 4)))
    np.testing.assert_array_equal(C[10:, 6:10], np.zeros((4, 4)))


@factorizations
def test_rotors_do_not_appear_in_C(factorization):
    plain, heavy = (Robot.family("chain", 4, armature=rotors) for rotors in ({}, {"joint_2": 0.7}))
    q, v = plain.random_state(np.random.default_rng(0))
    np.testing.assert_array_equal(
        heavy.coriolis_matrix(q, v, factorization), plain.coriolis_matrix(q, v, factorization)
    )
    np.testing.assert_array_equal(heavy.mass_matrix_rate(q, v), plain.mass_matrix_rate(q, v))


def test_unknown_factorization_is_refused_with_those_that_exist():
    robot = Robot.family("chain", 2)
    with pytest.raises(InputError) as caught:
        robot.coriolis_matrix([0.0, 0.0], [1.0, 1.0], "cholesky")
    assert str(caught.value) == (
        "factorization: 'cholesky' is unknown, allowed: 'christoffel', 'direct'"
    )
