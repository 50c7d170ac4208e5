"""References go no faster than motors can follow, and not where these cannot hold the robot."""

import numpy as np
import pytest

from torqued.common.errors import InputError
from torqued.common.status import LIMITED_REFERENCE, status_names
from torqued.kernels import Robot
from torqued.kernels.control import Controller

pytestmark = pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")

DT = 1e-3
LIMITED = status_names(LIMITED_REFERENCE)[0]


def weak(robot, times):
    """The robot's efforts, all lowered alike: `times` what the heaviest of some poses takes."""
    rng = np.random.default_rng(0)
    poses = [robot.random_state(rng)[0] for _ in range(300)]
    heaviest = max(load_of(robot, robot.limits.effort, q) for q in poses)
    return times * heaviest * robot.limits.effort


def load_of(robot, effort, q):
    return float((np.abs(robot.gravity(q)) / effort).max())


def course(robot, start, goal, seconds, effort, **options):
    """References in effect (p, w, a) of a robot that does not move, and the last status."""
    controller = Controller(robot, "pd_plus", walls=False, effort_limit=effort, **options)
    nq, nv = robot.nq, robot.nv
    rows, status = [], []
    for k in range(round(seconds / DT)):
        references = {"q_ref": goal} if k > 2 else {}
        status = controller.step(start, np.zeros(nv), DT, **references).status
        rows.append(controller.data.state[nq + nv :][: nq + 2 * nv].copy())
    seen = np.array(rows)
    return seen[:, :nq], seen[:, nq : nq + nv], seen[:, nq + nv :], status


def pairs(robot, effort, heavy, count=2, seed=4):
    """Poses that are easily held, and others that take more or less than a share `heavy`."""
    rng = np.random.default_rng(seed)
    found = []
    while len(found) < count:
        start, goal = (robot.random_state(rng)[0] for _ in range(2))
        light = load_of(robot, effort, start) < 0.4
        if light and (load_of(robot, effort, goal) > 1.1) == heavy:
            found.append((start, goal))
    return found


@pytest.mark.parametrize("name, seed", [("ur5", 4), ("z1", 1), ("z1", 7), ("talos_left_arm", 6)])
def test_reference_stands_before_what_motors_cannot_hold(name, seed):
    robot = Robot.named(name, locked=())
    effort = weak(robot, 0.8)
    for start, goal in pairs(robot, effort, heavy=True, seed=seed):
        p, w, _, status = course(robot, start, goal, 6.0, effort)
        assert max(load_of(robot, effort, q) for q in p[::20]) < 0.82
        assert LIMITED in status
        assert np.abs(w[-1]).max() < 1e-3, "it waits there"


@pytest.mark.parametrize("name", ["ur5", "z1", "talos_left_arm"])
def test_torques_of_a_limited_reference_are_within_efforts(name):
    """By inverse dynamics of the reference; without the pace they are far beyond."""
    robot = Robot.named(name, locked=())
    effort = weak(robot, 1.2)
    for start, goal in pairs(robot, effort, heavy=False):
        p, w, a, _ = course(robot, start, goal, 2.0, effort)
        needed = [robot.inverse_dynamics(p[k], w[k], a[k]) for k in range(0, len(p), 10)]
        assert (np.abs(needed) / effort).max() < 1.0


def test_reference_leaves_a_pose_that_is_too_heavy():
    robot = Robot.named("ur5")
    effort = weak(robot, 0.8)
    ((light, heavy),) = pairs(robot, effort, heavy=True, count=1)
    p, _, _, status = course(robot, heavy, light, 20.0, effort)
    np.testing.assert_allclose(p[-1], light, atol=1e-6)
    assert LIMITED not in status


def test_strong_robots_move_as_fast_as_limits_allow():
    robot = Robot.named("ur5")
    start = np.array([0.0, -1.2, 1.2, 0.0, 0.5, 0.0])
    _, w, _, _ = course(robot, start, start + 1.0, 1.5, robot.limits.effort)
    assert np.abs(w[:, 0]).max() > 0.85 * min(robot.limits.velocity[0], 2.5)


def test_share_of_weight_can_be_chosen():
    robot = Robot.named("ur5")
    effort = weak(robot, 0.8)
    ((start, goal),) = pairs(robot, effort, heavy=True, count=1)
    p, _, _, _ = course(robot, start, goal, 6.0, effort, reference_limits={"load": 0.5})
    # The way ahead leaves out what the jerk takes to build: faster references stand a little late.
    assert max(load_of(robot, effort, q) for q in p[::20]) < 0.53
    with pytest.raises(InputError, match="load"):
        Controller(robot, "pd_plus", reference_limits={"load": -1.0})
