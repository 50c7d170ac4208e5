"""User-given A and its rate."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.finite_differences import derivative
from support.agreement import assert_agree
from support.chart_cases import real
from torqued.kernels import Custom, InputError, NumericalError


@pytest.fixture
def robot():
    return real("solo12")


def test_a_constant_matrix_needs_no_rate(robot):
    """Velocities of motors: differences of neighbouring joints."""
    A = np.eye(robot.nv) + 0.5 * np.eye(robot.nv, k=-1)
    mine = Custom(A)
    q, v = robot.in_coordinates(mine).random_state(np.random.default_rng(0))
    M, C = robot.mass_matrix(q), robot.coriolis_matrix(q, A @ v)
    assert_agree(robot.in_coordinates(mine).mass_matrix(q), A.T @ M @ A)
    assert_agree(robot.in_coordinates(mine).coriolis_matrix(q, v), A.T @ C @ A)
    assert_agree(robot.in_coordinates(mine).gravity(q), A.T @ robot.gravity(q))
    assert_agree(robot.chart(mine).velocity_to_native(q, v), A @ v)


def test_the_users_hybrid_chart_is_the_built_in_one(robot):
    chart = robot.chart("hybrid")

    def A_rate(q, v):
        return chart.A_rate(q, chart.A_inverse(q) @ v)

    mine = Custom(chart.A, A_rate, name="mine")
    q, v = robot.in_coordinates("hybrid").random_state(np.random.default_rng(0))
    tau = np.random.default_rng(1).normal(size=robot.nv)
    for compute, state in (
        ("mass_matrix", (q,)),
        ("mass_matrix_rate", (q, v)),
        ("coriolis_matrix", (q, v)),
        ("christoffel", (q,)),
        ("bias", (q, v)),
        ("forward_dynamics", (q, v, tau)),
        ("solve_mass", (q, tau)),
        ("centroidal_bias", (q, v)),
    ):
        found, expected = (
            getattr(robot.in_coordinates(c), compute)(*state) for c in (mine, "hybrid")
        )
        assert_agree(found, expected)


def test_a_matrix_that_depends_on_q_keeps_mass_matrix_rate_equal_to_C_plus_C_transposed(robot):
    n = robot.nv

    def A(q):
        return np.diag(2.0 + np.sin(np.append(q[7:], np.zeros(6))))

    def A_rate(q, v):
        return np.diag(np.append(np.cos(q[7:]) * v[6:], np.zeros(6)))

    mine = Custom(A, A_rate)
    q, v = robot.in_coordinates(mine).random_state(np.random.default_rng(0))
    C = robot.in_coordinates(mine).coriolis_matrix(q, v)
    Mdot = robot.in_coordinates(mine).mass_matrix_rate(q, v)
    assert_agree(C + C.T, Mdot)
    nu = A(q) @ v
    rate = derivative(
        lambda t: robot.in_coordinates(mine).mass_matrix(robot.integrate(q, nu, t)),
        0.05 / np.abs(nu).sum(),
    )
    assert_agree(Mdot, rate, within=1e-8)
    a = np.random.default_rng(1).normal(size=n)
    tau = robot.in_coordinates(mine).inverse_dynamics(q, v, a)
    assert_agree(robot.in_coordinates(mine).forward_dynamics(q, v, tau), a, within=1e-8)


def test_integration_and_difference_are_inverse(robot):
    mine = Custom(2.0 * np.eye(robot.nv))
    q, v = robot.in_coordinates(mine).random_state(np.random.default_rng(0))
    end = robot.in_coordinates(mine).integrate(q, v, 0.1)
    assert_agree(end, robot.integrate(q, 2.0 * v, 0.1))
    assert_agree(robot.in_coordinates(mine).difference(q, end), 0.1 * v)


def test_faults_are_named(robot):
    q = robot.neutral()
    with pytest.raises(InputError, match=r"coordinates 'custom': A: shape \(3, 3\), expected"):
        robot.in_coordinates(Custom(np.eye(3))).mass_matrix(q)
    with pytest.raises(InputError, match=r"A is a function, which requires A_rate"):
        robot.in_coordinates(Custom(lambda q: np.eye(robot.nv))).mass_matrix(q)
    bad = Custom(lambda q: np.eye(2), lambda q, v: np.eye(2), name="mine")
    with pytest.raises(InputError, match=r"coordinates 'mine': A: shape \(2, 2\)"):
        robot.in_coordinates(bad).mass_matrix(q)
    flat = Custom(np.zeros((robot.nv, robot.nv)), name="flat")
    with pytest.raises(NumericalError, match=r"coordinates 'flat': A is singular here"):
        robot.in_coordinates(flat).forward_dynamics(q, np.zeros(robot.nv), np.zeros(robot.nv))
