"""What a configuration puts right: limits by joint, which joints have motors, postures."""

from dataclasses import replace

import numpy as np
import pytest

from support.agreement import assert_agree
from torqued.kernels import InputError, ModelError, Robot
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.description import Mimic
from torqued.kernels.model.families import family

pytestmark = pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")

ARM = family("chain", 3, seed=2)
LEGS = family("biped", 4, seed=2)


def test_given_limits_replace_those_of_the_file_and_no_others():
    given = {"joint_2": {"lower": -0.5, "effort": 7.0, "velocity": np.inf}}
    before, after = Robot.from_description(ARM).limits, Robot.from_description(ARM, joints=given)
    for name, value in (("lower", -0.5), ("effort", 7.0), ("velocity", np.inf), ("upper", None)):
        expected = getattr(before, name).copy()
        if value is not None:
            expected[1] = value
        np.testing.assert_array_equal(getattr(after.limits, name), expected)


def test_joints_without_motors_have_no_effort():
    given = {"joint_1": {"effort": 5.0}, "joint_3": {"effort": 6.0}}
    robot = Robot.from_description(ARM, joints=given, actuated=["joint_3"])
    np.testing.assert_array_equal(robot.limits.effort, [0.0, 0.0, 6.0])
    assert any("effort limit is 0.0" in warning for warning in robot.warnings)


def test_posture_has_its_joints_and_others_neutral():
    robot = Robot.from_description(ARM, postures={"up": {"joint_3": 0.4}, "zero": {}})
    assert robot.postures == ("up", "zero")
    np.testing.assert_array_equal(robot.posture("up"), [0.0, 0.0, 0.4])
    np.testing.assert_array_equal(robot.posture("zero"), robot.neutral())


def test_posture_of_a_floating_base_names_its_joint():
    pose = [0.1, 0.2, 0.8, 0.0, 0.0, 0.6, 0.8]
    robot = Robot.from_description(LEGS, "floating", postures={"stand": {"root_joint": pose}})
    np.testing.assert_array_equal(robot.posture("stand")[:7], pose)
    held = Robot.from_description(LEGS, "fixed", postures={"stand": {"root_joint": pose}})
    np.testing.assert_array_equal(held.posture("stand"), held.neutral())


def test_posture_beyond_limits_is_a_warning():
    joints = {"joint_3": {"lower": -1.0, "upper": 1.5}}
    postures = {"bent": {"joint_3": 1.5}, "far": {"joint_2": 0.9, "joint_3": 2.0}}
    warnings = Robot.from_description(ARM, joints=joints, postures=postures).warnings
    beyond = [warning for warning in warnings if "beyond" in warning]
    assert beyond == ["posture 'far': joint_3 at 2 is beyond its limits -1 to 1.5"]


def test_posture_leaves_out_locked_joints():
    postures = {"up": {"joint_1": 0.1, "joint_2": 0.2, "joint_3": 0.3}}
    robot = Robot.from_description(ARM, postures=postures, locked={"joint_2": 0.7})
    np.testing.assert_array_equal(robot.posture("up"), [0.1, 0.3])


@pytest.mark.parametrize("mimic", ["follow", "free"])
def test_posture_leaves_out_joints_that_follow_others(mimic):
    follower = replace(ARM.joints[1], mimic=Mimic("joint_1", 0.5))
    arm = replace(ARM, joints=(ARM.joints[0], follower, ARM.joints[2]))
    postures = {"up": {"joint_1": 0.1, "joint_2": 0.05, "joint_3": 0.3}}
    robot = Robot.from_description(arm, postures=postures, mimic=mimic)
    expected = [0.1, 0.3] if mimic == "follow" else [0.1, 0.05, 0.3]
    np.testing.assert_array_equal(robot.posture("up"), expected)


def test_chart_gives_the_posture_in_its_coordinates():
    pose = [0.1, 0.2, 0.8, 0.0, 0.0, 0.6, 0.8]
    robot = Robot.from_description(LEGS, "floating", postures={"stand": {"root_joint": pose}})
    q = robot.in_coordinates("mujoco").posture("stand")
    np.testing.assert_allclose(q[:7], [0.1, 0.2, 0.8, 0.8, 0.0, 0.0, 0.6], atol=1e-15)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"joints": {"joint_9": {}}}, "joint 'joint_9' is unknown; did you mean 'joint_3'"),
        ({"joints": {"joint_1": 3}}, "joints.joint_1: 3, expected a map of lower, upper, velo"),
        ({"joints": {"joint_1": {"max": 1}}}, "joints.joint_1: 'max' is unknown, allowed: lower"),
        ({"joints": {"joint_1": {"upper": "1"}}}, "joints.joint_1.upper: '1', expected a number"),
        ({"joints": {"joint_1": {"upper": np.nan}}}, "joints.joint_1.upper: nan, expected a numb"),
        ({"joints": {"joint_1": {"upper": 10**400}}}, "joints.joint_1.upper: "),
        ({"locked": {"joint_1": 10**400}}, "joint 'joint_1': locked at "),
        ({"postures": {"up": {"joint_1": [[1], [2, 3]]}}}, "postures.up.joint_1: "),
        ({"joints": {"joint_1": {"lower": 1, "upper": 0}}}, "lower limit 1.0 is above upper lim"),
        ({"actuated": ["joint_1", "wheel"]}, "actuated: joint 'wheel' is unknown, allowed: joi"),
        ({"postures": {"up": {"joint_9": 1}}}, "postures.up: joint 'joint_9' is unknown; did you"),
        (
            {"postures": {"up": {"joint_1": [1, 2]}}},
            "postures.up.joint_1: shape (2,), exp",
        ),
        ({"postures": {"up": 3}}, "postures.up: 3, expected a map"),
    ],
)
def test_what_makes_no_sense_is_one_fault_with_its_place(options, problem):
    with pytest.raises(ModelError) as caught:
        Robot.from_description(ARM, **options)
    (found,) = caught.value.problems
    assert problem in found


def test_rotor_of_no_finite_inertia_is_refused():
    rotor = {"motor_inertia": 1.0, "gear_ratio": 1e200}
    with pytest.raises(ModelError, match=r"joint 'joint_1': 1.0 kg m² behind a gear of 1e\+200"):
        Robot.from_description(ARM, armature={"joint_1": rotor})


def test_orientation_of_a_posture_is_a_unit_quaternion():
    postures = {"up": {"root_joint": [0, 0, 1, 0, 0, 0, 2]}}
    with pytest.raises(ModelError, match=r"postures.up.root_joint: .*expected a unit quaternion"):
        Robot.from_description(LEGS, "floating", postures=postures)


def test_configuration_names_the_file_of_a_robot_not_another_configuration(tmp_path):
    for name, model in (("outer", "inner.toml"), ("inner", "chain3"), ("self", "self.toml")):
        (tmp_path / f"{name}.toml").write_text(f'[robot]\nmodel = "{model}"\n')
    assert Robot.load(tmp_path / "inner.toml").nv == 3
    for name, named in (("outer", "inner"), ("self", "self")):
        with pytest.raises(ModelError, match=rf"{named}.toml is a configuration, expected the fi"):
            Robot.load(tmp_path / f"{name}.toml")


def test_configuration_may_begin_with_a_byte_order_mark(tmp_path):
    (tmp_path / "robot.toml").write_text('[robot]\nmodel = "chain3"\n', encoding="utf-8-sig")
    assert Robot.load(tmp_path / "robot.toml").nv == 3


@pytest.mark.parametrize("options", [{"links": 3}, {"attach": 0}, {"capsules": np.zeros(3)}])
def test_lists_are_lists(options):
    with pytest.raises(InputError, match=r", expected a list of maps"):
        Robot.from_description(ARM, **options)


def test_faults_of_all_corrections_come_together():
    with pytest.raises(ModelError) as caught:
        Robot.from_description(
            ARM, joints={"a": {}}, actuated=["b"], postures={"c": {"d": 1}}, locked={"e": 1}
        )
    assert len(caught.value.problems) == 4


def test_configuration_puts_a_file_right(tmp_path):
    (tmp_path / "arm.urdf").write_text(to_urdf(ARM))
    (tmp_path / "robot.toml").write_text(
        '[robot]\nmodel = "arm.urdf"\nactuated = ["joint_1", "joint_2"]\n'
        "gravity = [0, -9.81, 0]\n"
        "[robot.joints]\njoint_1 = { upper = 0.5, effort = inf }\n"
        "[robot.postures.home]\njoint_1 = 0.25\n"
        "[robot.locked]\njoint_2 = -0.1\n"
    )
    robot = Robot.load(tmp_path / "robot.toml")
    assert robot.limits.upper[0] == 0.5 and robot.limits.effort.tolist() == [np.inf, 0.0]
    assert robot.posture("home").tolist() == [0.25, 0.0]
    full = Robot.from_description(ARM, gravity=[0, -9.81, 0])
    assert_agree(robot.gravity([0.3, 0.2]), full.gravity([0.3, -0.1, 0.2])[[0, 2]], within=1e-13)


def test_options_of_the_call_override_the_configuration(tmp_path):
    path = tmp_path / "robot.toml"
    path.write_text('model = "chain3"\nlocked = ["joint_1"]\ngravity = [0, 0, -1]\n')
    robot = Robot.load(path, locked=(), gravity=[0, 0, -2.0])
    assert robot.nv == 3 and robot.gravity_vector[2] == -2.0
