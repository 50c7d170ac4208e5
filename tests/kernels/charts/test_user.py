"""User-given A and its rate."""

from __future__ import annotations

import numpy as np
import pytest
from agreement import assert_agree
from chart_cases import real

from oracles.finite_differences import derivative
from torqued.kernels import Custom, InputError, NumericalError


@pytest.fixture
def robot():
    return real("solo12")


def test_a_constant_matrix_needs_no_rate(robot):
    """Velocities of motors: differences of neighbouring joints."""
    A = np.eye(robot.nv) + 0.5 * np.eye(robot.nv, k=-1)
    mine = Custom(A)
    q, v = robot.random_state(np.random.default_rng(0), coordinates=mine)
    M, C = robot.mass_matrix(q), robot.coriolis_matrix(q, A @ v)
    assert_agree(robot.mass_matrix(q, coordinates=mine), A.T @ M @ A)
    assert_agree(robot.coriolis_matrix(q, v, coordinates=mine), A.T @ C @ A)
    assert_agree(robot.gravity(q, coordinates=mine), A.T @ robot.gravity(q))
    assert_agree(robot.chart(mine).velocity_to_native(q, v), A @ v)


def test_the_users_hybrid_chart_is_the_built_in_one(robot):
    chart = robot.chart("hybrid")

    def A_rate(q, v):
        return chart.A_rate(q, chart.A_inverse(q) @ v)

    mine = Custom(chart.A, A_rate, name="mine")
    q, v = robot.random_state(np.random.default_rng(0), coordinates="hybrid")
    tau = np.random.default_rng(1).normal(size=robot.nv)
    for compute, state in (
        (robot.mass_matrix, (q,)),
        (robot.mass_matrix_rate, (q, v)),
        (robot.coriolis_matrix, (q, v)),
        (robot.christoffel, (q,)),
        (robot.bias, (q, v)),
        (robot.forward_dynamics, (q, v, tau)),
        (robot.solve_mass, (q, tau)),
        (robot.centroidal_bias, (q, v)),
    ):
        assert_agree(compute(*state, coordinates=mine), compute(*state, coordinates="hybrid"))


def test_a_matrix_that_depends_on_q_keeps_mass_matrix_rate_equal_to_C_plus_C_transposed(robot):
    n = robot.nv

    def A(q):
        return np.diag(2.0 + np.sin(np.append(q[7:], np.zeros(6))))

    def A_rate(q, v):
        return np.diag(np.append(np.cos(q[7:]) * v[6:], np.zeros(6)))

    mine = Custom(A, A_rate)
    q, v = robot.random_state(np.random.default_rng(0), coordinates=mine)
    C = robot.coriolis_matrix(q, v, coordinates=mine)
    Mdot = robot.mass_matrix_rate(q, v, coordinates=mine)
    assert_agree(C + C.T, Mdot)
    nu = A(q) @ v
    rate = derivative(
        lambda t: robot.mass_matrix(robot.integrate(q, nu, t), coordinates=mine),
        0.05 / np.abs(nu).sum(),
    )
    assert_agree(Mdot, rate, within=1e-8)
    a = np.random.default_rng(1).normal(size=n)
    tau = robot.inverse_dynamics(q, v, a, coordinates=mine)
    assert_agree(robot.forward_dynamics(q, v, tau, coordinates=mine), a, within=1e-8)


def test_integration_and_difference_are_inverse(robot):
    mine = Custom(2.0 * np.eye(robot.nv))
    q, v = robot.random_state(np.random.default_rng(0), coordinates=mine)
    end = robot.integrate(q, v, 0.1, coordinates=mine)
    assert_agree(end, robot.integrate(q, 2.0 * v, 0.1))
    assert_agree(robot.difference(q, end, coordinates=mine), 0.1 * v)


def test_faults_are_named(robot):
    q = robot.neutral()
    with pytest.raises(InputError, match=r"coordinates 'custom': A: shape \(3, 3\), expected"):
        robot.mass_matrix(q, coordinates=Custom(np.eye(3)))
    with pytest.raises(InputError, match=r"A is a function, which requires A_rate"):
        robot.mass_matrix(q, coordinates=Custom(lambda q: np.eye(robot.nv)))
    bad = Custom(lambda q: np.eye(2), lambda q, v: np.eye(2), name="mine")
    with pytest.raises(InputError, match=r"coordinates 'mine': A: shape \(2, 2\)"):
        robot.mass_matrix(q, coordinates=bad)
    flat = Custom(np.zeros((robot.nv, robot.nv)), name="flat")
    with pytest.raises(NumericalError, match=r"coordinates 'flat': A is singular here"):
        robot.forward_dynamics(q, np.zeros(robot.nv), np.zeros(robot.nv), coordinates=flat)
