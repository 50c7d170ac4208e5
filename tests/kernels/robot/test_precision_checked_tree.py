"""How far a robot may reach before rounding counts, and what is said past that."""

from __future__ import annotations

import re

import numpy as np
import pytest

from support.mechanisms import GYRATION, ball, wrist_on_a_slider
from torqued.kernels import Description, Joint, Link, NumericalError, Robot
from torqued.kernels.robot.precision_checked_tree import PrecisionCheckedTree, reach


@pytest.mark.parametrize("distance", [1.0, 1e3, 1e4])
def test_loss_stays_below_what_is_promised(distance):
    M = wrist_on_a_slider().mass_matrix([0.1, distance, 0.3])
    assert abs(M[2, 2] / GYRATION**2 - 1.0) < 1e-6


@pytest.mark.parametrize("distance", [1e5, 1e6])
def test_further_away_the_true_reason_is_given(distance):
    robot, zero = wrist_on_a_slider(), np.zeros(3)
    q = [0.1, distance, 0.3]
    for compute in (
        lambda: robot.mass_matrix(q),
        lambda: robot.forward_dynamics(q, zero, zero),
        lambda: robot.forward_dynamics_derivatives(q, zero, zero),
        lambda: robot.regressor(q, zero, zero),
    ):
        expected = re.escape(f"is {distance:.6g} m away from link 'table', allowed: 13421.8 m")
        with pytest.raises(NumericalError, match=expected):
            compute()
    assert np.isclose(robot.frame_pose(q, "hand")[0, 3], distance * np.cos(0.1))


def test_many_states_are_looked_at_too():
    robot = wrist_on_a_slider()
    q = np.array([[0.1, distance, 0.3] for distance in (1.0, 2.0, 1e6, 3.0)])
    for name in ("mass_matrix", "coriolis_matrix"):
        arguments = (q, np.zeros((4, 3))) if name == "coriolis_matrix" else (q,)
        with pytest.raises(NumericalError, match="is 1e\\+06 m away from link 'table'") as caught:
            getattr(robot.batch(), name)(*arguments)
        assert caught.value.state == 2


def test_ordinary_robots_are_not_looked_at():
    for robot in (wrist_on_a_slider(2.0), Robot.family("biped", 12), Robot.family("chain", 20)):
        assert reach(robot.tree) < 10.0
        assert (
            not isinstance(robot.checked_tree, PrecisionCheckedTree)
            and not robot.needs_precision_check
        )


def test_two_free_bodies_may_part():
    links = (Link("ground"), Link("one", ball(1)), Link("two", ball(1)))
    joints = tuple(Joint(f"free_{n}", "floating", "ground", n) for n in ("one", "two"))
    robot = Robot.from_description(Description("two", links, joints))
    q = robot.neutral()
    q[0] = q[7] = 1e7  # both of them far from the world's origin
    assert np.isclose(robot.mass_matrix(q)[6, 6], GYRATION**2)
    q[0] = 0.0
    with pytest.raises(NumericalError, match="link 'two' is 1e\\+07 m away from link 'one'"):
        robot.mass_matrix(q)
