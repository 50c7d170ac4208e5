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
    """A robot in a chart, a state, and the constraint there."""
    name, seed = request.param
    robot = Robot.from_description(simple_tree(seed), "floating", gravity=GRAVITY)
    charted = robot.in_coordinates(name)
    q, v = charted.random_state(np.random.default_rng(seed))
    return charted, q, v, charted.base_constraint(q, v)


def random_torque(charted, q, seed: int):
    native = np.random.default_rng(seed).normal(size=charted.robot.nv)
    return charted.chart.torque_from_native(charted.chart.to_native(q), native)


def test_selection_matrix_selects_the_parameters_eq_29(case):
    charted, q, _, base = case
    d = {"quaternion": 4, "rotation_matrix": 9}[charted.chart.name]
    m = charted.robot.nv - 6
    assert_agree(base.S, np.hstack([np.zeros((d, 3)), np.eye(d), np.zeros((d, m))]))
    assert_agree(base.S @ q, q[3 : 3 + d])


def test_possible_motions_keep_the_constraint_and_its_rate_eq_28(case):
    *_, base = case
    assert largest(base.value) < 1e-14
    assert largest(base.rate) < 1e-14


def test_impossible_velocities_show_in_the_rate(case):
    charted, q, v, base = case
    wrong = v + base.H[0]
    assert largest(charted.base_constraint(q, wrong).rate) > 0.1


def test_constraint_is_half_the_second_derivative_eq_30(case):
    """Along θ + θ̇ t + ½ θ̈ t², off the rotations too, value'' / 2 = H θ̈ + h."""
    charted, q, v, base = case
    a = np.random.default_rng(0).normal(size=len(v))

    def value(t: float):
        theta = base.S @ (q + t * v + 0.5 * t * t * a)
        if charted.chart.name == "quaternion":
            return np.array([theta @ theta - 1.0])
        R = theta.reshape(3, 3)
        return (R.T @ R - np.eye(3))[np.triu_indices(3)]

    second = derivative(lambda s: derivative(lambda t: value(s + t)))
    assert_agree(base.H @ a + base.h, 0.5 * second, within=1e-9)
    assert_agree(base.rate, 0.5 * derivative(value), within=1e-9, size=1.0)


def test_accelerations_of_forward_dynamics_keep_the_constraint_eq_30(case):
    charted, q, v, base = case
    a = charted.forward_dynamics(q, v, random_torque(charted, q, 1))
    assert_agree(base.H @ a, -base.h, size=largest(a))


def test_multiplier_takes_what_pushes_against_the_constraint_eq_32_33(case):
    charted, q, v, base = case
    chart = charted.chart
    rng = np.random.default_rng(2)
    possible = chart.torque_from_native(chart.to_native(q), rng.normal(size=charted.robot.nv))
    push = rng.normal(size=len(base.H))
    tau = possible + base.H.T @ push
    a = charted.forward_dynamics(q, v, tau)
    assert_agree(charted.forward_dynamics(q, v, possible), a)
    residual = charted.inverse_dynamics(q, v, a) - tau
    size = largest(tau) * max(1.0, largest(q))
    assert_agree(base.multiplier(residual), -push, size=size)
    assert_agree(base.H.T @ base.multiplier(residual), residual, size=size)


def test_projector_removes_the_multiplier_eq_34(case):
    charted, q, v, base = case
    assert_agree(base.P @ base.P, base.P)
    assert_agree(base.P @ base.H.T, np.zeros_like(base.H.T), size=largest(base.P))
    if charted.chart.name == "quaternion":
        S = base.S
        assert_agree(base.P, np.eye(len(v)) - S.T @ S @ np.outer(q, q))
        assert_agree(base.multiplier(v), [q @ v])  # eq. 33 is a product with qᵀ


def test_projected_equation_and_constraint_give_the_acceleration_eq_35(case):
    charted, q, v, base = case
    tau = random_torque(charted, q, 3)
    M = charted.mass_matrix(q)
    bias = charted.bias(q, v)
    left = np.vstack([base.project(M), base.H])
    right = np.hstack([base.project(tau - bias), -base.h])
    a, _, rank, _ = np.linalg.lstsq(left, right, rcond=1e-10)
    assert rank == len(v)
    assert_agree(a, charted.forward_dynamics(q, v, tau), within=1e-7)


def test_torques_of_a_redundant_chart_are_the_smallest_of_the_same_work(case):
    charted, q, _, _ = case
    chart = charted.chart
    native = chart.to_native(q)
    tau = np.random.default_rng(4).normal(size=charted.robot.nv)
    inverse = chart.A_inverse(native)
    smallest = np.linalg.lstsq(inverse.T, tau, rcond=None)[0]
    assert_agree(chart.torque_from_native(native, tau), smallest)
    assert_agree(inverse, np.linalg.pinv(chart.A(native)))


def test_mass_matrix_is_solved_by_its_pseudo_inverse(case):
    charted, q, v, _ = case
    M = charted.mass_matrix(q)
    inverse = charted.solve_mass(q, np.eye(len(v)))
    assert_agree(inverse, np.linalg.pinv(M, rcond=1e-9), within=1e-7)


def test_spherical_joints_and_mimics_change_nothing_about_the_base():
    for name in REDUNDANT:
        case = random_chart_case(name, 1)
        base = case.charted.base_constraint(case.q, case.v)
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
