"""The center of mass as the base's position: [EW21] eq. 32."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.finite_differences import derivative
from support.agreement import assert_agree, largest
from support.chart_cases import random_chart_case, real


@pytest.fixture(params=["talos_reduced", "solo12", "panda", "tree"])
def case(request: pytest.FixtureRequest):
    if request.param == "tree":
        tree = random_chart_case("com", 1)
        return tree.robot, tree.q, tree.v
    robot = real(request.param)
    return robot, *robot.in_coordinates("com").random_state(np.random.default_rng(0))


def test_mass_and_coriolis_matrices_are_block_diagonal(case):
    robot, q, v = case
    M = robot.in_coordinates("com").mass_matrix(q)
    C = robot.in_coordinates("com").coriolis_matrix(q, v)
    top = np.hstack([robot.total_mass * np.eye(3), np.zeros((3, robot.nv - 3))])
    assert_agree(M[:3], top)
    assert_agree(M[:, :3], top.T)
    zero = np.zeros_like(top)
    assert_agree(C[:3], zero, size=largest(C))
    assert_agree(C[:, :3], zero.T, size=largest(C))


def test_gravity_acts_on_the_first_block_only(case):
    robot, q, _ = case
    g = robot.in_coordinates("com").gravity(q)
    expected = np.zeros(robot.nv)
    expected[:3] = -robot.total_mass * robot.gravity_vector
    assert_agree(g, expected)


def test_christoffel_symbols_have_no_part_in_the_center_of_mass(case):
    robot, q, _ = case
    Gamma = robot.in_coordinates("com").christoffel(q)
    size = largest(Gamma)
    for part in (Gamma[:3], Gamma[:, :3], Gamma[:, :, :3]):
        assert_agree(part, np.zeros_like(part), size=size)


def test_the_other_block_does_not_know_where_the_robot_is_or_how_it_moves_there(case):
    robot, q, v = case
    other_q, other_v = q.copy(), v.copy()
    other_q[:3] += 3.0
    other_v[:3] -= 2.0
    M, C = (
        robot.in_coordinates("com").mass_matrix(q),
        robot.in_coordinates("com").coriolis_matrix(q, v),
    )
    assert_agree(robot.in_coordinates("com").mass_matrix(other_q)[3:, 3:], M[3:, 3:])
    assert_agree(robot.in_coordinates("com").coriolis_matrix(other_q, other_v)[3:, 3:], C[3:, 3:])


def test_coordinates_are_the_center_of_mass_and_its_velocity(case):
    robot, q, v = case
    assert_agree(robot.in_coordinates("com").center_of_mass(q), q[:3])
    J = robot.in_coordinates("com").center_of_mass_jacobian(q)
    assert_agree(J, np.eye(3, robot.nv), size=1.0)
    base = robot.frame_names[0]
    pose = robot.in_coordinates("com").frame_pose(q, base)
    turning = robot.in_coordinates("com").frame_velocity(q, v, base, "body")[:3]
    assert_agree(turning, v[3:6])
    assert np.isfinite(pose).all()


def test_jacobian_rate_of_the_center_of_mass_is_in_the_rows_of_C(case):
    """m J̇_com = R C in the rows of the base's linear velocity: what Ȧ is made of."""
    robot, q, v = case
    native = robot.chart("com").to_native(q)
    nu = robot.chart("com").velocity_to_native(q, v)
    R = robot.frame_pose(native, robot.frame_names[0])[:3, :3]
    rate = derivative(
        lambda t: robot.center_of_mass_jacobian(robot.integrate(native, nu, t)),
        0.05 / max(1.0, float(np.abs(nu).sum())),
    )
    C = robot.coriolis_matrix(native, nu)
    assert_agree(R @ C[3:6], robot.total_mass * rate, within=1e-8)


def test_a_free_fall_is_a_parabola_of_the_center_of_mass(case):
    robot, q, v = case
    a = robot.in_coordinates("com").forward_dynamics(q, v, np.zeros(robot.nv))
    assert_agree(a[:3], robot.gravity_vector, within=1e-7)
