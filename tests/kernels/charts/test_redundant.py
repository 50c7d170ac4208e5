"""The constraint on redundant parameters: [BK12] eq. 28-35."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.finite_differences import derivative
from support.agreement import assert_agree, largest
from support.cases import GRAVITY
from support.chart_cases import REDUNDANT, random_chart_case, real, simple_tree
from torqued.kernels import InputError, Robot


@pytest.fixture(params=[(name, seed) for name in REDUNDANT for seed in range(3)], ids=str)
def case(request: pytest.FixtureRequest):
    name, seed = request.param
    robot = Robot.from_description(simple_tree(seed), "floating", gravity=GRAVITY)
    q, v = robot.in_coordinates(name).random_state(np.random.default_rng(seed))
    return robot, name, q, v


def test_selection_matrix_selects_the_parameters_eq_29(case):
    robot, name, q, v = case
    base = robot.in_coordinates(name).base_constraint(q, v)
    d = {"quaternion": 4, "rotation_matrix": 9}[name]
    m = robot.nv - 6
    assert_agree(base.S, np.hstack([np.zeros((d, 3)), np.eye(d), np.zeros((d, m))]))
    assert_agree(base.S @ q, q[3 : 3 + d])


def test_possible_motions_keep_the_constraint_and_its_rate_eq_28(case):
    robot, name, q, v = case
    base = robot.in_coordinates(name).base_constraint(q, v)
    assert largest(base.value) < 1e-14
    assert largest(base.rate) < 1e-14


def test_impossible_velocities_show_in_the_rate(case):
    robot, name, q, v = case
    base = robot.in_coordinates(name).base_constraint(q, v)
    wrong = v + base.H[0]
    assert largest(robot.in_coordinates(name).base_constraint(q, wrong).rate) > 0.1


def test_constraint_is_half_the_second_derivative_eq_30(case):
    """Along θ + θ̇ t + ½ θ̈ t², off the rotations too, value'' / 2 = H θ̈ + h."""
    robot, name, q, v = case
    base = robot.in_coordinates(name).base_constraint(q, v)
    a = np.random.default_rng(0).normal(size=len(v))

    def value(t: float):
        theta = base.S @ (q + t * v + 0.5 * t * t * a)
        if name == "quaternion":
            return np.array([theta @ theta - 1.0])
        R = theta.reshape(3, 3)
        return (R.T @ R - np.eye(3))[np.triu_indices(3)]

    second = derivative(lambda s: derivative(lambda t: value(s + t)))
    assert_agree(base.H @ a + base.h, 0.5 * second, within=1e-9)
    assert_agree(base.rate, 0.5 * derivative(value), within=1e-9, size=1.0)


def test_accelerations_of_forward_dynamics_keep_the_constraint_eq_30(case):
    robot, name, q, v = case
    tau = robot.chart(name).torque_from_native(
        robot.chart(name).to_native(q), np.random.default_rng(1).normal(size=robot.nv)
    )
    a = robot.in_coordinates(name).forward_dynamics(q, v, tau)
    base = robot.in_coordinates(name).base_constraint(q, v)
    assert_agree(base.H @ a, -base.h, size=largest(a))


def test_multiplier_takes_what_pushes_against_the_constraint_eq_32_33(case):
    robot, name, q, v = case
    chart = robot.chart(name)
    base = robot.in_coordinates(name).base_constraint(q, v)
    rng = np.random.default_rng(2)
    possible = chart.torque_from_native(chart.to_native(q), rng.normal(size=robot.nv))
    push = rng.normal(size=len(base.H))
    tau = possible + base.H.T @ push
    a = robot.in_coordinates(name).forward_dynamics(q, v, tau)
    assert_agree(robot.in_coordinates(name).forward_dynamics(q, v, possible), a)
    residual = robot.in_coordinates(name).inverse_dynamics(q, v, a) - tau
    size = largest(tau) * max(1.0, largest(q))
    assert_agree(base.multiplier(residual), -push, size=size)
    assert_agree(base.H.T @ base.multiplier(residual), residual, size=size)


def test_projector_removes_the_multiplier_eq_34(case):
    robot, name, q, v = case
    base = robot.in_coordinates(name).base_constraint(q, v)
    assert_agree(base.P @ base.P, base.P)
    assert_agree(base.P @ base.H.T, np.zeros_like(base.H.T), size=largest(base.P))
    if name == "quaternion":
        S = base.S
        assert_agree(base.P, np.eye(len(v)) - S.T @ S @ np.outer(q, q))
        assert_agree(base.multiplier(v), [q @ v])  # eq. 33 is a product with qᵀ


def test_projected_equation_and_constraint_give_the_acceleration_eq_35(case):
    robot, name, q, v = case
    chart = robot.chart(name)
    base = robot.in_coordinates(name).base_constraint(q, v)
    tau = chart.torque_from_native(
        chart.to_native(q), np.random.default_rng(3).normal(size=robot.nv)
    )
    M = robot.in_coordinates(name).mass_matrix(q)
    bias = robot.in_coordinates(name).bias(q, v)
    left = np.vstack([base.project(M), base.H])
    right = np.hstack([base.project(tau - bias), -base.h])
    a, _, rank, _ = np.linalg.lstsq(left, right, rcond=1e-10)
    assert rank == len(v)
    assert_agree(a, robot.in_coordinates(name).forward_dynamics(q, v, tau), within=1e-7)


def test_torques_of_a_redundant_chart_are_the_smallest_of_the_same_work(case):
    robot, name, q, _ = case
    chart = robot.chart(name)
    native = chart.to_native(q)
    tau = np.random.default_rng(4).normal(size=robot.nv)
    inverse = chart.A_inverse(native)
    smallest = np.linalg.lstsq(inverse.T, tau, rcond=None)[0]
    assert_agree(chart.torque_from_native(native, tau), smallest)
    assert_agree(inverse, np.linalg.pinv(chart.A(native)))


def test_mass_matrix_is_solved_by_its_pseudo_inverse(case):
    robot, name, q, v = case
    M = robot.in_coordinates(name).mass_matrix(q)
    inverse = robot.in_coordinates(name).solve_mass(q, np.eye(len(v)))
    assert_agree(inverse, np.linalg.pinv(M, rcond=1e-9), within=1e-7)


def test_spherical_joints_and_mimics_change_nothing_about_the_base():
    for name in REDUNDANT:
        case = random_chart_case(name, 1)
        base = case.robot.in_coordinates(name).base_constraint(case.q, case.v)
        assert largest(base.rate) < 1e-13
        assert_agree(base.H @ case.a, -base.h, size=largest(case.a))
        assert_agree(base.P @ base.H.T, np.zeros_like(base.H.T), size=1.0)


def test_charts_without_a_constraint_and_fixed_bases_are_refused():
    robot = real("solo12")
    with pytest.raises(InputError, match=r"'rpy'.*'quaternion', 'rotation_matrix'"):
        robot.in_coordinates("rpy").base_constraint(
            robot.in_coordinates("rpy").neutral(), np.zeros(robot.nv)
        )
    fixed = real("solo12", "fixed")
    with pytest.raises(InputError, match="fixed base"):
        fixed.in_coordinates("quaternion").base_constraint(fixed.neutral(), np.zeros(fixed.nv))
