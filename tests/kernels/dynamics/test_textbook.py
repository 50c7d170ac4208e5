"""Robots whose equations of motion fit on a page: everything about them by hand."""

from __future__ import annotations

import numpy as np
import pytest

from support.agreement import assert_agree
from support.textbook import CartPole, DoublePendulum, G, Z, body, chain, free_body
from torqued.kernels import Robot

MOMENTS = np.array([0.1, 0.2, 0.25])
seeds = pytest.mark.parametrize("seed", range(5))


@seeds
def test_double_pendulum(seed):
    pendulum = DoublePendulum()
    robot, (q, v, a) = pendulum.robot, np.random.default_rng(seed).uniform(-3.0, 3.0, (3, 2))
    M, C, g = pendulum.mass_matrix(q), pendulum.coriolis_matrix(q, v), pendulum.gravity(q)
    tau = M @ a + C @ v + g
    assert_agree(robot.mass_matrix(q), M)
    assert_agree(robot.coriolis_matrix(q, v), C)
    assert_agree(robot.christoffel(q), pendulum.christoffel(q))
    assert_agree(robot.gravity(q), g)
    assert_agree(robot.bias(q, v), C @ v + g)
    assert_agree(robot.energy(q, v), pendulum.energy(q, v))
    assert_agree(robot.inverse_dynamics(q, v, a), tau)
    assert_agree(robot.forward_dynamics(q, v, tau), a)


@seeds
def test_cart_and_pole(seed):
    cart = CartPole()
    robot, (q, v, a) = cart.robot, np.random.default_rng(seed).uniform(-3.0, 3.0, (3, 2))
    M = cart.mass_matrix(q)
    tau = M @ a + cart.bias(q, v)
    C = np.zeros((2, 2))
    C[0, 1] = -cart.pole * cart.length * np.sin(q[1]) * v[1]
    assert_agree(robot.mass_matrix(q), M)
    assert_agree(robot.coriolis_matrix(q, v), C, size=1.0)
    assert_agree(robot.inverse_dynamics(q, v, a), tau)
    assert_agree(robot.forward_dynamics(q, v, tau), a)


@seeds
def test_ball_joint_obeys_eulers_equations(seed):
    ball = chain(("spherical", Z, 0.0 * Z, body(1.0, 0.0 * Z, *MOMENTS)))
    robot = Robot.from_description(ball)
    q, w = robot.random_state(np.random.default_rng(seed))
    a = np.array([0.3, -0.2, 0.1])
    assert_agree(robot.inverse_dynamics(q, w, a), MOMENTS * a + np.cross(w, MOMENTS * w))


@seeds
def test_free_body_obeys_newtons_and_eulers_equations_in_body_axes(seed):
    mass = 2.0
    robot = free_body(mass, tuple(MOMENTS))
    q, v = robot.random_state(np.random.default_rng(seed))
    a, w, u = np.arange(6.0) - 2.0, v[:3], v[3:]
    R = robot.frame_pose(q, "body")[:3, :3]
    moment = MOMENTS * a[:3] + np.cross(w, MOMENTS * w)
    force = mass * (a[3:] + np.cross(w, u) + R.T @ (G * Z))
    tau = np.hstack([moment, force])
    turning = mass * np.cross(w, np.eye(3)).T  # u̇ + ω × u: m ω× in the linear rows of C
    assert_agree(robot.mass_matrix(q), np.diag([*MOMENTS, mass, mass, mass]))
    assert_agree(robot.coriolis_matrix(q, v)[3:, 3:], turning)
    assert_agree(robot.inverse_dynamics(q, v, a), tau)
    assert_agree(robot.forward_dynamics(q, v, tau), a)
