"""External forces at arbitrary points: the torque of a force is its point's Jacobian transposed."""

from __future__ import annotations

import numpy as np
import pytest

from support.agreement import assert_agree
from support.robots import random_motion
from torqued.kernels import InputError, Robot, Wrench


@pytest.fixture(scope="module")
def robot():
    return Robot.family("quadruped", 8)


@pytest.fixture(scope="module")
def state(robot):
    return random_motion(robot, 1)


def frame_of(robot):
    return robot.frame_names[-1]


def test_force_at_a_point_pulls_with_that_points_jacobian(robot, state):
    q, v, a = state
    force, moment, point = np.array([1.0, -2, 3]), np.array([0.5, 0.1, -0.2]), (0.1, 0.2, -0.3)
    J = robot.frame_jacobian(q, frame_of(robot), point=point)
    found = robot.inverse_dynamics(q, v, a, {frame_of(robot): Wrench(force, moment, point)})
    expected = robot.inverse_dynamics(q, v, a) - J.T @ np.concatenate([moment, force])
    assert_agree(found, expected)


def test_several_forces_on_one_frame_add_up(robot, state):
    q, v, a = state
    pulls = [Wrench((1, 0, 0), point=(0.1, 0, 0)), Wrench((0, 2, 0), point=(0, 0.3, 0))]
    together = robot.inverse_dynamics(q, v, a, {frame_of(robot): pulls})
    free = robot.inverse_dynamics(q, v, a)
    alone = [robot.inverse_dynamics(q, v, a, {frame_of(robot): pull}) - free for pull in pulls]
    assert_agree(together, free + sum(alone))


def test_list_of_plain_wrenches_adds_up(robot, state):
    q, v, a = state
    one, two = np.arange(6.0), np.array([3.0, -1, 2, 0.5, 0, 1])
    sum_of_both = robot.inverse_dynamics(q, v, a, {frame_of(robot): one + two})
    for both in ([one, two], (one, two), [one.tolist(), two], [one, Wrench(two[3:], two[:3])]):
        assert_agree(robot.inverse_dynamics(q, v, a, {frame_of(robot): both}), sum_of_both)


def test_forward_dynamics_feels_the_same_force(robot, state):
    q, v, a = state
    pull = {frame_of(robot): Wrench((1, 2, 3), point=(0.1, -0.1, 0.4))}
    tau = robot.inverse_dynamics(q, v, a, pull)
    assert_agree(robot.forward_dynamics(q, v, tau, pull), a)


def test_plain_numbers_are_a_wrench_at_the_frames_origin(robot, state):
    q, v, a = state
    plain = robot.inverse_dynamics(q, v, a, {frame_of(robot): [1, 2, 3, 4, 5, 6]})
    same = robot.inverse_dynamics(q, v, a, {frame_of(robot): Wrench((4, 5, 6), (1, 2, 3))})
    assert_agree(plain, same)


def test_wrong_force_is_named(robot, state):
    q, v, a = state
    with pytest.raises(InputError, match=r"force.*\(2,\).*\(3,\)"):
        robot.inverse_dynamics(q, v, a, {frame_of(robot): Wrench((1, 2))})
