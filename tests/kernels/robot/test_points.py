"""Points between world and frames, the zero moment point, and where contacts press."""

from __future__ import annotations

import numpy as np
import pytest

from support.agreement import assert_agree
from support.contact_cases import box, corners, standing
from support.robots import random_motion
from torqued.kernels import Contact, InputError, NumericalError, Robot
from torqued.kernels.contacts.types import center_of_pressure

FEET = ("link_left_06", "link_right_06")


@pytest.fixture(scope="module")
def robot():
    return Robot.family("biped", 12)


@pytest.fixture(scope="module")
def state(robot):
    return random_motion(robot, 2)


def test_points_go_there_and_back(robot, state):
    q, points = state[0], np.random.default_rng(0).normal(size=(4, 3))
    world = robot.frame_to_world(q, FEET[0], points)
    expected = [robot.frame_pose(q, FEET[0], p)[:3, 3] for p in points]
    assert_agree(world, expected)
    assert_agree(robot.world_to_frame(q, FEET[0], world), points)
    assert_agree(robot.world_to_frame(q, FEET[0], world[0]), points[0])
    with pytest.raises(InputError, match=r"points: shape \(2,\)"):
        robot.frame_to_world(q, FEET[0], [1.0, 2.0])


def test_zero_moment_point_of_a_robot_at_rest_is_below_its_center_of_mass(robot, state):
    q, zero = state[0], np.zeros(robot.nv)
    com = robot.center_of_mass(q)
    found = robot.zero_moment_point(q, zero, zero, point=(0.0, 0.0, 0.3))
    assert_agree(found, [com[0], com[1], 0.3])


def test_zero_moment_point_is_where_the_ground_presses(robot, state):
    """Two feet that are held carry the robot: their forces meet the plane at that point."""
    q, v, tau = state
    tau = tau.copy()
    tau[:6] = 0.0
    solution = robot.contact_dynamics(q, v, tau, [Contact(foot) for foot in FEET])
    for normal, point in (((0, 0, 1.0), (0, 0, 0.0)), ((0.3, 0.1, 2.0), (0.1, 0.2, 0.3))):
        pressure = solution.center_of_pressure(normal, point)
        found = robot.zero_moment_point(q, v, solution.a, normal, point)
        assert_agree(found, pressure, within=1e-7)
        assert abs(np.dot(normal, found - point)) < 1e-9


def test_zero_moment_point_in_any_coordinates(robot, state):
    q, v, _ = state
    chart = robot.chart("rpy")
    own_q, own_v = chart.from_native(q), chart.velocity_from_native(q, v)
    rest = np.zeros(robot.nv)
    acceleration = chart.A(q) @ rest + chart.A_rate(q, own_v) @ own_v
    assert_agree(
        robot.in_coordinates("rpy").zero_moment_point(own_q, own_v, rest),
        robot.zero_moment_point(q, v, acceleration),
        within=1e-9,
    )


def test_falling_robot_has_none(robot, state):
    q, zero = state[0], np.zeros(robot.nv)
    a = robot.forward_dynamics(q, zero, zero)
    with pytest.raises(NumericalError, match="the force along the normal is"):
        robot.zero_moment_point(q, zero, a)


def test_center_of_pressure_of_a_box_follows_what_is_put_on_it():
    robot = box(2.0)
    q, still = standing(robot, 0.2), np.zeros(6)
    tau = np.array([0.0, 0.3, 0.0, 0.0, 0.0, 0.0])  # a moment about y moves it along x
    solution = robot.friction_dynamics(q, still, tau, corners(0.5), 1e-3)
    assert_agree(center_of_pressure(solution.contacts), [0.3 / (2.0 * 9.81), 0, 0], 1e-6, size=1.0)
