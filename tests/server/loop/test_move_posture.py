"""A movement of `impedance` to a pose reaches it within the limits of joints."""

import numpy as np
import pytest
from numba import njit

from torqued.common.rotation import quaternion
from torqued.kernels import Robot
from torqued.kernels.control import Controller
from torqued.kernels.control.references.follow import move
from torqued.kernels.control.session_arrays import arrays_of, control_at, sizes_of
from torqued.server.loop.move_posture import with_posture
from torqued.server.loop.move_time import min_seconds
from torqued.tools.demos.models import panda
from torqued.tools.demos.plant import Plant

pytestmark = pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")

FRAME = "panda_hand"
READY = np.array([0.0, -0.5, 0.0, -2.0, 0.0, 1.6, 0.8])


@njit
def order_move(address, seconds):
    """As the loop does."""
    control = control_at(address)
    move(control, sizes_of(control), arrays_of(control), seconds)


#: Behind position, orientation, velocity and acceleration.
POSTURE = slice(19, 26)


def ordered(controller, pose):
    target = np.full(len(controller.data.ordered), np.nan)
    target[:3], target[3:7] = pose[:3, 3], quaternion(pose[:3, :3])
    return target


@pytest.mark.parametrize("seed", range(4))
def test_far_poses_are_reached_in_mujoco(seed):
    robot = Robot.named("panda", armature={})
    rng = np.random.default_rng(seed)
    lower, upper = robot.limits.lower, robot.limits.upper
    pose = robot.frame_pose(rng.uniform(lower + 0.1, upper - 0.1), FRAME)
    plant = Plant(panda())
    plant.reset(READY, np.zeros(7))
    controller = Controller(robot, "impedance", frame=FRAME)
    controller.step(plant.q, plant.v, 1e-3)
    target = with_posture(controller, ordered(controller, pose))
    posture = target[POSTURE]
    assert ((lower <= posture) & (posture <= upper)).all()
    np.testing.assert_allclose(robot.frame_pose(posture, FRAME), pose, atol=1e-5)
    seconds = 1.2 * min_seconds(controller, target)
    controller.data.ordered[:] = target
    order_move(np.uint64(controller.record.ctypes.data), seconds)
    for _ in range(round(1e3 * seconds) + 1500):
        answer = controller.step(plant.q, plant.v, 1e-3)
        assert "WALL" not in answer.status
        plant.step(answer.tau)
    off = np.linalg.inv(robot.frame_pose(plant.q, FRAME)) @ pose
    assert np.linalg.norm(off[:3, 3]) < 5e-3
    assert np.trace(off[:3, :3]) > 1.0 + 2.0 * np.cos(np.radians(1.0))


def test_orders_of_joints_and_poses_out_of_reach_are_left_as_they_are():
    robot = Robot.named("panda")
    controller = Controller(robot, "impedance", frame=FRAME)
    controller.step(READY, np.zeros(7), 1e-3)
    pose = robot.frame_pose(READY, FRAME)
    both = ordered(controller, pose)
    both[POSTURE] = READY + 0.1
    np.testing.assert_array_equal(with_posture(controller, both), both)
    pose[:3, 3] = 2.0, 0.0, 0.5
    away = ordered(controller, pose)
    np.testing.assert_array_equal(with_posture(controller, away), away)
    joints = Controller(robot, "pd_plus")
    joints.step(READY, np.zeros(7), 1e-3)
    goal = np.concatenate([READY, np.full(14, np.nan)])
    np.testing.assert_array_equal(with_posture(joints, goal), goal)
