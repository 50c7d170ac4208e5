"""Inverse dynamics, bias and gravity."""

from __future__ import annotations

import numpy as np

from support.agreement import assert_agree, largest
from support.cases import cases, examples, random_case
from support.textbook import G, X, Y, Z, body, chain
from torqued.kernels import Robot
from torqued.kernels.model.families import family


def test_screw_shares_its_weight_between_turning_and_sliding():
    """A nut on a vertical screw: τ = (I + p² m) a + p m g."""
    pitch, mass, inertia = 0.05, 1.2, 0.03
    nut = body(mass, 0.0 * Z, 0.02, 0.02, inertia)
    robot = Robot.from_description(chain(("helical", Z, 0.0 * Z, nut), pitch=pitch))
    tau = (inertia + pitch**2 * mass) * 2.0 + pitch * mass * G
    assert_agree(robot.inverse_dynamics([0.7], [1.5], [2.0]), [tau])


@examples(25, case=cases())
def test_gravity_is_the_bias_at_rest(case):
    robot, q = case.robot, case.q
    g = robot.gravity(q)
    assert_agree(robot.bias(q, np.zeros(robot.nv)), g, size=1e-2 * robot.total_mass)


@examples(25, case=cases(mimics=False))
def test_robot_in_free_fall_needs_no_torque(case):
    """On a floating base, accelerated as gravity does: [0; Rᵀ g] at rest."""
    robot = Robot.from_description(case.description, "floating", gravity=(1.0, -2.0, 3.0))
    q = robot.neutral()
    q[:7] = random_case(0, 1, "floating").q[:7]
    R = robot.frame_pose(q, robot.frame_names[0])[:3, :3]
    a = np.zeros(robot.nv)
    a[3:6] = R.T @ robot.gravity_vector
    tau = robot.inverse_dynamics(q, np.zeros(robot.nv), a)
    assert_agree(tau, np.zeros(robot.nv), size=robot.total_mass)


def test_gravity_is_linear_in_the_vector_that_was_set():
    description = family("chain", 5)
    q = np.linspace(-1.0, 1.0, 5)

    def g(*vector: float) -> np.ndarray:
        return Robot.from_description(description, gravity=vector).gravity(q)

    np.testing.assert_array_equal(g(0.0, 0.0, 0.0), np.zeros(5))
    combined = 1.5 * g(1.0, 0.0, 0.0) - 2.0 * g(0.0, 1.0, 0.0) + 3.0 * g(0.0, 0.0, 1.0)
    assert_agree(g(1.5, -2.0, 3.0), combined)


class TestExternalForces:
    @examples(25, case=cases(mimics=False))
    def test_links_held_up_by_their_weights_need_no_torque(self, case):
        robot, q = case.robot, case.q
        f_ext = {}
        for link in case.description.links:
            com = robot.frame_pose(q, link.name, link.inertia.com)[:3, 3]
            force = -link.inertia.mass * robot.gravity_vector
            arm = com - robot.frame_pose(q, link.name)[:3, 3]
            f_ext[link.name] = np.hstack([np.cross(arm, force), force])
        rest = np.zeros(robot.nv)
        tau = robot.inverse_dynamics(q, rest, rest, f_ext)
        assert_agree(tau, rest, size=largest(robot.gravity(q)) + robot.total_mass)

    def test_force_on_the_fixed_world_does_nothing(self):
        robot = Robot.family("chain", 3)
        q, v = robot.random_state(np.random.default_rng(0))
        forced = robot.inverse_dynamics(q, v, v, {"base": np.ones(6)})
        np.testing.assert_array_equal(forced, robot.inverse_dynamics(q, v, v))

    def test_no_forces_is_like_none(self):
        robot = Robot.family("chain", 3)
        q, v = robot.random_state(np.random.default_rng(0))
        np.testing.assert_array_equal(
            robot.inverse_dynamics(q, v, v, {}), robot.inverse_dynamics(q, v, v)
        )

    def test_force_acts_at_the_frames_origin_in_world_axes(self):
        """A pendulum about y that points along x, pulled up at its tip by 3 N."""
        description = chain(
            ("revolute", Y, 0.0 * Z, body(1.0, 0.1 * X, 0.01, 0.01, 0.01)),
            ("revolute", Y, 0.5 * X, body(1.0, 0.1 * X, 0.01, 0.01, 0.01)),
        )
        robot = Robot.from_description(description, gravity=(0.0, 0.0, 0.0))
        rest = np.zeros(2)
        up = np.hstack([np.zeros(3), 3.0 * Z])
        tau = robot.inverse_dynamics(rest, rest, rest, {"l2": up})
        assert_agree(tau, [1.5, 0.0], size=1.0)  # up at +x turns about −y, so +y must hold it
        turned = robot.inverse_dynamics([np.pi / 2, 0.0], rest, rest, {"l2": up})
        assert_agree(turned, [0.0, 0.0], size=1.0)
