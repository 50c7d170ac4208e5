"""Limits of frames come from what the robot's joints do at their speed limits."""

from itertools import product

import numpy as np
import pytest

from torqued.common.rotation import quaternion
from torqued.common.status import LIMITED_REFERENCE, status_names
from torqued.kernels import Robot
from torqued.kernels.control import Controller
from torqued.kernels.control.poses import poses_of

pytestmark = pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")

LIMITED = status_names(LIMITED_REFERENCE)[0]
ARMS = {"panda": "panda_hand", "ur5": "tool0", "kinova": "j2s6s200_end_effector", "z1": "link06"}


def limits_of(robot, frame, **limits):
    controller = Controller(robot, "impedance", frame=frame, reference_limits=limits)
    return controller.data.motions[0].limits.copy()


@pytest.fixture(scope="module", params=ARMS)
def arm(request):
    return Robot.named(request.param), ARMS[request.param]


def test_largest_speeds_are_those_of_joints_all_at_their_limits(arm):
    """Against all combinations of signs, pose by pose."""
    robot, frame = arm
    limits = limits_of(robot, frame)
    corners = np.array(list(product((-1.0, 1.0), repeat=robot.nv))) * robot.limits.velocity
    largest = np.zeros(2)
    for q in poses_of(robot).q:
        twists = corners @ robot.frame_jacobian(q, frame).T
        sizes = np.linalg.norm(twists[:, :3], axis=1), np.linalg.norm(twists[:, 3:], axis=1)
        largest = np.maximum(largest, np.max(sizes, axis=1))
    assert (limits[:2] <= largest * (1 + 1e-9)).all()
    assert (limits[:2] >= 0.97 * largest).all(), "the search finds nearly all of it"


def test_jumps_go_as_fast_as_joints_move_the_frame_straight_ahead(arm):
    """In half of the poses and directions, joints at their limits are faster."""
    robot, frame = arm
    _, _, _, linear, *_ = limits_of(robot, frame)
    rng, faster = np.random.default_rng(8), []
    for _ in range(300):
        J = robot.frame_jacobian(robot.random_state(rng)[0], frame)
        way = rng.normal(size=3)
        twist = np.concatenate([np.zeros(3), linear * way / np.linalg.norm(way)])
        v = np.linalg.lstsq(J, twist, rcond=1e-3)[0]
        faster.append((np.abs(v) <= robot.limits.velocity).all())
    assert 0.25 < np.mean(faster) < 0.75


def test_frame_that_moves_as_joints_allow_passes_unchanged(arm):
    """Every joint reaches half of its speed limit."""
    robot, frame = arm
    controller = Controller(robot, "impedance", frame=frame, walls=False)
    pose, still = robot.random_state(np.random.default_rng(3))[0], np.zeros(robot.nv)
    omega = np.linspace(2.0, 4.0, robot.nv)
    size = 0.5 * robot.limits.velocity / omega
    for k in range(1500):
        t = 1e-3 * k
        ease = 1.0 - np.exp(-10.0 * t**2)
        rise = 20.0 * t * np.exp(-10.0 * t**2)
        swing = size * np.sin(omega * t)
        q = pose + ease * swing
        v = ease * size * omega * np.cos(omega * t) + rise * swing
        T = robot.frame_pose(q, frame)
        given = {"position": T[:3, 3], "orientation": quaternion(T[:3, :3])}
        given["velocity"] = robot.frame_velocity(q, v, frame)
        answer = controller.step(pose, still, 1e-3, **given)
        seen = controller.data.state[robot.nq + robot.nv :]
        assert LIMITED not in answer.status, k
        assert np.array_equal(seen[:3], T[:3, 3])


def test_given_speeds_replace_those_of_the_robot():
    robot = Robot.named("panda")
    limits = limits_of(robot, "panda_hand", linear=0.3)
    assert limits[1] == limits[3] == 0.3
    assert limits[0] == limits_of(robot, "panda_hand")[0]
