"""What `impedance` does with the joints that its frame leaves free."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.robots import without_effort_limits
from torqued.common.rotation import quaternion
from torqued.kernels import Robot
from torqued.kernels.control import Controller
from torqued.kernels.control.laws.joint_ends import STIFFER
from torqued.tools.demos.models import panda
from torqued.tools.demos.plant import Plant

pytestmark = pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")

FRAME = "panda_hand"
READY = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8])
PANDA = Robot.named("panda", armature={})


def test_joints_are_led_away_from_their_ends_without_moving_the_frame():
    """Against N K (e + STIFFER x), by numpy: x is what a joint is inside its zone and beyond its
    posture. One joint has its posture outside of the zone, one inside; one is at its posture."""
    robot = without_effort_limits(PANDA)
    q, posture, upper, lower = READY.copy(), READY.copy(), robot.limits.upper, robot.limits.lower
    q[6], posture[6] = upper[6] - 0.46, upper[6] - 0.52
    q[4], posture[4] = lower[4] + 0.45, lower[4] + 0.48
    q[2] = posture[2] = upper[2] - 0.1
    x = np.array([0.0, 0.0, 0.0, 0.0, -0.03, 0.0, 0.04])
    controller = Controller(robot, "impedance", frame=FRAME, gains={"posture_limit": 10.0})
    K, pose = controller.gains["posture_stiffness"], robot.frame_pose(q, FRAME)
    at = {"position": pose[:3, 3], "orientation": quaternion(pose[:3, :3]), "posture": posture}
    found = controller.torque(q, np.zeros(7), **at)
    J, M = robot.frame_jacobian(q, FRAME), robot.mass_matrix(q)
    X = np.linalg.solve(M, J.T)
    null = np.eye(7) - J.T @ np.linalg.solve(J @ X, X.T)
    e = q - posture
    expected = robot.gravity(q) - null @ K @ (e + STIFFER * x)
    np.testing.assert_allclose(found.tau, expected, atol=1e-8)
    assert float(found.storage) == pytest.approx(0.5 * e @ K @ e + 0.5 * STIFFER * x @ K @ x)


@pytest.mark.parametrize(
    ("joint", "end", "shift"),
    [(2, 0.34, (0.0, 0.35, 0.0)), (2, 0.25, (0.1, 0.3, -0.2)), (0, 0.03, (0.1, 0.3, -0.2))],
)
def test_a_streamed_pose_is_reached_where_the_shortest_way_ends_at_a_joint_end(joint, end, shift):
    """The joint would go about twice as far as its end."""
    upper = PANDA.limits.upper.copy()
    upper[joint] = end
    robot = Robot(replace(PANDA.model, dofs=replace(PANDA.model.dofs, upper=upper)))
    plant, controller = Plant(panda()), Controller(robot, "impedance", frame=FRAME)
    plant.reset(READY, np.zeros(7))
    pose = robot.frame_pose(READY, FRAME)
    turn = quaternion(pose[:3, :3])
    for k in range(2800):
        t = min(k / 2000.0, 1.0)
        goal = pose[:3, 3] + t**3 * (10.0 - 15.0 * t + 6.0 * t * t) * np.array(shift)
        answer = controller.step(plant.q, plant.v, 1e-3, position=goal, orientation=turn)
        assert "WALL" not in answer.status
        plant.step(answer.tau)
    assert np.linalg.norm(robot.frame_pose(plant.q, FRAME)[:3, 3] - goal) < 2e-3


def test_a_frame_does_not_lag_where_its_posture_comes_with_it():
    """Joints swing with half of their speed limits; speeds of the posture are differences."""
    plant, controller = Plant(panda()), Controller(PANDA, "impedance", frame=FRAME)
    rate, phase, dt = 4.0, np.arange(7.0), 1e-3
    swing = 0.5 * PANDA.limits.velocity / rate

    def joints(t):
        x = min(t, 1.0)
        return READY + x**3 * (10.0 - 15.0 * x + 6.0 * x * x) * swing * np.sin(rate * t + phase)

    def twist(t):
        q, v = joints(t), (joints(t + 1e-5) - joints(t - 1e-5)) / 2e-5
        return PANDA.frame_jacobian(q, FRAME) @ v

    plant.reset(READY, np.zeros(7))
    for t in dt * np.arange(2500):
        q = joints(t)
        pose = PANDA.frame_pose(q, FRAME)
        at = {"position": pose[:3, 3], "orientation": quaternion(pose[:3, :3]), "posture": q}
        bend = (twist(t + 1e-4) - twist(t - 1e-4)) / 2e-4
        at |= {"velocity": twist(t), "acceleration": bend}
        plant.step(controller.step(plant.q, plant.v, dt, **at).tau)
        off = PANDA.frame_pose(plant.q, FRAME) - PANDA.frame_pose(joints(t + dt), FRAME)
        assert np.linalg.norm(off[:3, 3]) < 2e-3
    assert np.abs(plant.q - joints(2.5)).max() < 0.01


@pytest.mark.parametrize(
    ("name", "frame", "q"),
    [("ur5", "tool0", [0.0, -1.2, 1.6, -0.4, 1.2, 0.3]), ("panda", FRAME, READY)],
)
def test_a_far_jump_of_the_posture_does_not_move_the_frame(name, frame, q):
    """Its joints would be faster than those that keep the frame may be."""
    robot = Robot.named(name)
    q, far = np.array(q), np.array(q) + [1.5, -0.6, 0.7, -1.2, 0.9, 1.4, 0.5][: len(q)]
    v, held = np.zeros(len(q)), np.linalg.inv(robot.frame_pose(q, frame))
    controller = Controller(robot, "impedance", frame=frame)
    controller.step(q, v, 1e-3)
    for _ in range(1500):
        tau = controller.step(q, v, 1e-3, posture=far).tau
        v = v + 1e-3 * robot.forward_dynamics(q, v, tau)
        q = q + 1e-3 * v
        off = held @ robot.frame_pose(q, frame)
        assert np.linalg.norm(off[:3, 3]) < 2e-3 and np.trace(off[:3, :3]) > 2.9998
