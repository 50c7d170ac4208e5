"""Until a reference is given, what was there with the first state is held; by every law."""

import numpy as np
import pytest

from torqued.kernels import Robot
from torqued.kernels.control import Controller

pytestmark = pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")

ARMS = ("panda", "ur5", "z1", "kinova")
JOINT_LAWS = ("pd", "pd_plus", "computed_torque", "passivity")


@pytest.fixture(scope="module", params=ARMS)
def robot(request):
    return Robot.named(request.param)


def pose_at_rest(robot, seed=1):
    rng = np.random.default_rng(seed)
    return robot.random_state(rng)[0], np.zeros(robot.nv)


@pytest.mark.parametrize("law", JOINT_LAWS)
def test_law_without_reference_holds_the_state_it_is_given(robot, law):
    q, v = pose_at_rest(robot)
    answer = Controller(robot, law).torque(q, v)
    limit = robot.limits.effort
    assert np.allclose(answer.tau, np.clip(robot.gravity(q), -limit, limit), atol=1e-9)


def test_impedance_without_reference_holds_the_pose(robot):
    q, v = pose_at_rest(robot, seed=4)
    frame = [name for name in robot.frame_names if not robot.frame_table.is_fixed(name)][-1]
    controller = Controller(robot, "impedance", frame=frame)
    answer = controller.torque(q, v)
    assert np.abs(answer.error).max() < 1e-6
    start = robot.nq + robot.nv
    pose = robot.frame_pose(q, frame)
    assert np.allclose(controller.data.state[start : start + 3], pose[:3, 3])


def test_first_state_is_held_and_not_the_next(robot):
    q, v = pose_at_rest(robot)
    controller = Controller(robot, "pd", gains={"stiffness": 1.0, "damping": 1.0})
    controller.torque(q, v)
    other = q + 0.01
    answer = controller.torque(other, v)
    limit = robot.limits.effort
    expected = robot.gravity(other) - 0.01
    assert np.allclose(answer.tau, np.clip(expected, -limit, limit))
    controller.hold()
    expected = np.clip(robot.gravity(other), -limit, limit)
    assert np.allclose(controller.torque(other, v).tau, expected)


@pytest.mark.parametrize(
    "name, options",
    [
        (
            "wholebody",
            {
                "tasks": [
                    {"kind": "com"},
                    {"kind": "frame", "frame": "base_link"},
                    {"kind": "orientation", "frame": "torso_2_link", "name": "torso"},
                    {"kind": "point", "frame": "gripper_left_base_link", "name": "hand"},
                    {"kind": "posture"},
                    {"kind": "momentum"},
                ]
            },
        ),
        ("balance", {"contacts": [{"frame": "left_sole_link"}, {"frame": "right_sole_link"}]}),
    ],
)
def test_whole_body_laws_hold_what_their_own_hold_would(name, options):
    robot = Robot.named("talos", base="floating")
    q = robot.random_state(np.random.default_rng(3))[0]
    controller = Controller(robot, name, **options)
    controller.torque(q, np.zeros(robot.nv))
    expected = controller.prepared.owner.hold(q)
    start = robot.nq + robot.nv
    at = start
    for key, value in controller.references.items():
        found = controller.data.state[at : at + value.size]
        at += value.size
        wanted = np.ravel(expected[key])
        if key.endswith("orientation") and found @ wanted < 0.0:
            wanted = -wanted
        assert np.allclose(found, wanted, atol=1e-12), key


def test_reference_of_nan_is_none():
    robot = Robot.family("chain", 3)
    q, v = robot.neutral() + 0.3, np.zeros(3)
    controller = Controller(robot, "pd")
    controller.take_state(q, v)
    controller.data.command[:] = np.nan
    controller.compute()
    assert np.allclose(controller.data.state[6:9], q)
    assert not controller.data.state[9:].any()
