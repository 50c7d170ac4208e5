"""Inverse kinematics: forward kinematics says whether targets are reached."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.agreement import assert_agree
from support.robots import robots_folder
from torqued.kernels import Description, InputError, Joint, Limits, Link, Pose, Robot, Target
from torqued.kernels.model.description import Mimic

real = pytest.mark.skipif(
    not robots_folder().exists(), reason="example-robot-data is not installed"
)
Y = np.array([0.0, 1.0, 0.0])


def middle(robot):
    """Joints in the middle of their limits."""
    lower, upper = robot.limits.lower, robot.limits.upper
    bounded = np.isfinite(lower) & np.isfinite(upper)
    return np.where(bounded, 0.5 * (lower + upper), robot.neutral())


def within_limits(robot, q):
    return (q >= robot.limits.lower).all() and (q <= robot.limits.upper).all()


@real
@pytest.mark.parametrize(("name", "frame"), [("panda", "panda_hand"), ("ur5", "tool0")])
def test_reachable_poses_of_arms_are_reached_within_limits(name, frame):
    robot, rng = Robot.named(name), np.random.default_rng(5)
    for _ in range(40):
        pose = robot.frame_pose(robot.random_state(rng)[0], frame)
        found = robot.inverse_kinematics([Target(pose, frame)], middle(robot), restarts=100)
        assert found.success and found.reached == (True,)
        assert within_limits(robot, found.q)
        assert np.abs(robot.frame_pose(found.q, frame) - pose).max() < 3e-6
        assert found.errors[0] <= 1e-6


@pytest.fixture(scope="module")
def biped():
    return Robot.family("biped", 16)


@pytest.fixture(scope="module")
def places(biped):
    rng = np.random.default_rng(1)
    q, _ = biped.random_state(rng)
    start = biped.integrate(q, 0.4 * rng.normal(size=biped.nv), 1.0)
    return q, start


def test_several_targets_of_a_floating_robot(biped, places):
    q, start = places
    left, right, middle_link = "link_left_08", "link_right_08", "link_left_03"
    point = (0.1, -0.2, 0.05)
    targets = [
        Target(biped.frame_pose(q, left), left),
        Target(biped.frame_pose(q, right, point)[:3, 3], right, "position", point),
        Target(biped.frame_pose(q, middle_link)[:3, :3], middle_link, "orientation"),
        Target(biped.center_of_mass(q), kind="com", axes="xy"),
    ]
    found = biped.inverse_kinematics(targets, start)
    assert found.success
    assert_agree(biped.frame_pose(found.q, left), targets[0].value, within=1e-5)
    assert_agree(biped.frame_pose(found.q, right, point)[:3, 3], targets[1].value, within=1e-5)
    assert_agree(biped.frame_pose(found.q, middle_link)[:3, :3], targets[2].value, within=1e-5)
    assert_agree(biped.center_of_mass(found.q)[:2], targets[3].value[:2], within=1e-5, size=1.0)
    assert [len(x) for x in found.left_over] == [6, 3, 3, 2]


@pytest.mark.parametrize(("axes", "free"), [("xy", [2]), ("z", [0, 1])])
def test_single_axes_of_positions(biped, places, axes, free):
    _, start = places
    wanted = biped.frame_pose(start, "link_left_08")[:3, 3] + [0.1, -0.1, 0.05]
    target = Target(wanted, "link_left_08", "position", axes=axes)
    found = biped.inverse_kinematics([target], start)
    off = biped.frame_pose(found.q, "link_left_08")[:3, 3] - wanted
    assert found.success
    assert np.abs(np.delete(off, free)).max() < 1e-6 < np.abs(off[free]).min()


def test_orientation_about_two_axes_points_the_third(biped, places):
    q, start = places
    R = biped.frame_pose(q, "link_right_05")[:3, :3]
    found = biped.inverse_kinematics([Target(R, "link_right_05", "orientation", axes="xy")], start)
    new = biped.frame_pose(found.q, "link_right_05")[:3, :3]
    assert found.success
    assert_agree(new[:, 2], R[:, 2], within=1e-5)
    assert np.abs(new[:, 0] - R[:, 0]).max() > 1e-3


WIDE = Limits(-2.5, 2.5, 1.0, 1.0)


def arm(wide=WIDE, **last):
    """Three links of half a metre in a plane, with other fields of the last joint."""
    links = [Link("base"), *(Link(f"link{k}") for k in range(3)), Link("tip")]
    joints = [
        Joint(f"j{k}", "revolute", names[0], names[1], Pose(position=p), Y, limits=wide)
        for k, (names, p) in enumerate(
            [
                (("base", "link0"), np.zeros(3)),
                (("link0", "link1"), np.array([0.5, 0.0, 0.0])),
                (("link1", "link2"), np.array([0.5, 0.0, 0.0])),
            ]
        )
    ]
    joints[-1] = replace(joints[-1], **last)
    joints.append(Joint("flange", "fixed", "link2", "tip", Pose(position=np.array([0.5, 0, 0]))))
    return Robot.from_description(
        Description("arm", tuple(links), tuple(joints)), accept_unphysical=True
    )


@pytest.fixture(scope="module")
def planar():
    with pytest.warns():
        return arm()


def position(where, **options):
    return Target(where, "tip", "position", **options)


def test_unreachable_target_is_approached_and_told(planar):
    """Stretched towards it, which is a singularity."""
    found = planar.inverse_kinematics([position([2.0, 0.0, 0.0])], [0.3, -0.5, 0.8])
    assert found.status == "nearest" and not found.success
    assert_agree(planar.frame_pose(found.q, "tip")[:3, 3], [1.5, 0.0, 0.0], within=1e-4)
    assert_agree(found.left_over[0], [-0.5, 0.0, 0.0], within=1e-4)


def test_target_at_the_edge_of_reach_is_reached(planar):
    where = 1.5 * np.array([np.cos(0.7), 0.0, -np.sin(0.7)])
    found = planar.inverse_kinematics([position(where)], [0.3, -0.5, 0.8], iterations=1000)
    assert found.errors[0] < 1e-6
    assert_agree(planar.frame_pose(found.q, "tip")[:3, 3], where, within=2e-6)


def test_start_at_a_singularity_gets_away(planar):
    found = planar.inverse_kinematics([position([0.7, 0.0, 0.2])], np.zeros(3), restarts=0)
    assert found.success


def test_limits_stop_joints_and_the_others_go_on(planar):
    with pytest.warns():
        stiff = arm(Limits(-0.4, 0.4, 1.0, 1.0))
    where = planar.frame_pose([0.35, 0.4, 0.1], "tip")[:3, 3]
    found = stiff.inverse_kinematics([position(where)], np.zeros(3))
    assert found.success and (np.abs(found.q) <= 0.4).all()
    away = position(planar.frame_pose([1.0, 1.0, 1.0], "tip")[:3, 3])
    held = stiff.inverse_kinematics([away], np.zeros(3))
    assert not held.success and (np.abs(held.q) <= 0.4).all()
    assert_agree(held.q, [0.4, 0.4, 0.4])
    free = stiff.inverse_kinematics([away], np.zeros(3), limits=False)
    assert free.success and np.abs(free.q).max() > 0.4


def test_earlier_priority_is_untouched_by_later_ones(planar):
    """The tip comes first; of all ways to have it there, that nearest to the posture."""
    where, posture = np.array([0.8, 0.0, 0.4]), np.array([0.5, -1.0, -1.5])
    first = position(where)
    found = planar.inverse_kinematics(
        [Target(posture, kind="posture", priority=1), first], [0.3, -0.5, -0.8]
    )
    assert found.success and found.reached == (False, True)
    assert_agree(planar.frame_pose(found.q, "tip")[:3, 3], where, within=1e-5)
    J = planar.frame_jacobian(found.q, "tip")[[3, 5]]
    free = np.linalg.svd(J)[2][-1]
    assert abs(free @ (posture - found.q)) < 1e-3
    assert_agree(found.left_over[0], posture - found.q)


def test_priorities_of_conflicting_targets(planar):
    near, far = np.array([0.6, 0.0, 0.6]), np.array([-0.6, 0.0, 0.6])
    for first, second in ((near, far), (far, near)):
        targets = [position(first), position(second, priority=1)]
        found = planar.inverse_kinematics(targets, [0.3, -0.5, 0.8])
        assert found.success
        assert_agree(planar.frame_pose(found.q, "tip")[:3, 3], first, within=1e-5)


def test_weights_share_between_conflicting_targets(planar):
    one, two = np.array([0.6, 0.0, 0.6]), np.array([0.8, 0.0, 0.6])
    found = planar.inverse_kinematics(
        [position(one, weight=2.0), position(two, weight=1.0)], [0.3, -0.5, 0.8]
    )
    assert found.status == "nearest"
    middle = (4.0 * one + two) / 5.0  # squares of weights
    assert_agree(planar.frame_pose(found.q, "tip")[:3, 3], middle, within=1e-3)


def test_three_levels(biped, places):
    q, start = places
    left, right = "link_left_08", "link_right_08"
    targets = [
        Target(biped.frame_pose(q, left), left),
        Target(biped.frame_pose(q, right)[:3, 3], right, "position", priority=3),
        Target(q, kind="posture", priority=7),
    ]
    found = biped.inverse_kinematics(targets, start)
    assert found.reached[:2] == (True, True)
    assert_agree(biped.frame_pose(found.q, left), targets[0].value, within=1e-5)
    without = biped.inverse_kinematics(targets[:2], start)
    far = np.abs(biped.difference(found.q, q)).max()
    assert far < np.abs(biped.difference(without.q, q)).max()


def test_posture_alone_is_taken(planar):
    found = planar.inverse_kinematics([Target([0.1, 0.2, 0.3], kind="posture")], np.zeros(3))
    assert found.success
    assert_agree(found.q, [0.1, 0.2, 0.3], within=1e-5)


def test_followers_go_along():
    from support.cases import random_case

    case = random_case(4, 9, "floating", mimics=True)
    robot, rng = case.robot, np.random.default_rng(0)
    tip = robot.frame_names[-1]
    pose = robot.frame_pose(case.q, tip)
    start = robot.integrate(case.q, 0.3 * rng.normal(size=robot.nv), 1.0)
    found = robot.inverse_kinematics([Target(pose, tip)], start)
    assert found.success
    assert_agree(robot.frame_pose(found.q, tip), pose, within=1e-5)


def test_followers_keep_within_their_limits():
    with pytest.warns():
        robot = arm(limits=Limits(-0.5, 1.5, 1.0, 1.0), mimic=Mimic("j1", -2.0, 0.5))
    ahead = robot.frame_pose([0.2, 2.0], "tip")
    found = robot.inverse_kinematics([Target(ahead, "tip")], np.zeros(2))
    assert not found.success and found.q[1] <= 0.5  # which the last joint follows by −2 q + 0.5
    free = robot.inverse_kinematics([Target(ahead, "tip")], np.zeros(2), limits=False)
    assert free.success


@pytest.mark.parametrize("seed", range(20))
def test_start_that_reached_wins(seed):
    """Turns count so little that one which is missed may cost less than a place that is reached."""
    robot, rng = Robot.family("chain", 7), np.random.default_rng(seed)
    tip = robot.frame_names[-1]
    pose = robot.frame_pose(robot.random_state(rng)[0], tip)
    found = robot.inverse_kinematics(
        [Target(pose, tip, radian=0.01)], np.zeros(7), tolerance=1e-2, iterations=10, restarts=100
    )
    assert found.success or found.starts == 101


@pytest.mark.parametrize("chart", ["pinocchio", "mujoco", "rpy"])
def test_any_coordinates(biped, places, chart):
    q, start = places
    other = biped.chart(chart)
    targets = [
        Target(biped.frame_pose(q, "link_left_08"), "link_left_08"),
        Target(other.from_native(q), kind="posture", priority=1),
    ]
    found = biped.in_coordinates(chart).inverse_kinematics(targets, other.from_native(start))
    own = biped.inverse_kinematics([targets[0], replace(targets[1], value=q)], start)
    assert found.success
    assert np.abs(biped.difference(other.to_native(found.q), own.q)).max() < 1e-5


SHIFTED = np.eye(4) + 0.5 * np.eye(4, k=3)

WRONG = {
    "no targets": ([], "targets: 0, expected 1 to 256"),
    "no list": (Target(np.eye(4), "tip"), "(?s)targets: .*expected a list of targets"),
    "no target": (["tip"], r"targets\[0\]: 'tip', expected a Target"),
    "kind": ([Target(np.eye(4), "tip", "place")], r"targets\[0\].kind: 'place' is unknown, allowe"),
    "frame": ([Target(np.eye(4), "hand")], r"targets\[0\].frame: frame 'hand' is unknown"),
    "no frame": ([Target(np.eye(4))], r"targets\[0\].frame: None is not a frame's name"),
    "frame of com": ([Target([0, 0, 0], "tip", "com")], "the center of mass has no frame"),
    "pose": ([Target(np.eye(3), "tip")], r"targets\[0\].value: shape \(3, 3\)"),
    "rotation": ([Target(2 * np.eye(4), "tip")], r"targets\[0\].value: .*not a rotation"),
    "reflection": ([Target(np.diag([1.0, 1, -1, 1]), "tip")], "not a rotation but a reflection"),
    "transposed": ([Target(SHIFTED.T, "tip")], r"targets\[0\].value: not a pose, .*transposed"),
    "millimetres": ([position([700.0, 0, 200.0])], r"728 m from the base, expected at most"),
    "com in mm": ([Target([9e2, 0, 0], kind="com")], r"900 m from the base, expected at most"),
    "axes": ([position([0, 0, 0], axes="xw")], r"targets\[0\].axes: 'xw', expected some of 'xyz'"),
    "axis twice": ([position([0, 0, 0], axes="xx")], r"targets\[0\].axes: 'xx'"),
    "weight": ([position([0, 0, 0], weight=0.0)], "weight and radian must be positive"),
    "negative weight": ([position([0, 0, 0], weight=-1.0)], r"targets\[0\].weight is -1.0"),
    "priority": ([position([0, 0, 0], priority=-1)], r"targets\[0\].priority is -1"),
    "posture": ([Target([0, 0], kind="posture")], r"targets\[0\].value: shape \(2,\)"),
    "postures": ([Target(np.zeros(3), kind="posture")] * 2, r"targets\[1\]: a second posture"),
    "not finite": ([position([0, np.nan, 0])], r"targets\[0\].value\[1\] is nan"),
}


@pytest.mark.parametrize("wrong", WRONG)
def test_wrong_targets_are_named(planar, wrong):
    targets, message = WRONG[wrong]
    with pytest.raises(InputError, match=message):
        planar.inverse_kinematics(targets, np.zeros(3))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"q0": [0.0]}, r"q0: shape \(1,\)"),
        ({"tolerance": -1.0}, "tolerance is -1.0"),
        ({"iterations": 0}, "iterations is 0, expected a whole number from 1"),
        ({"restarts": -1}, "restarts is -1"),
        ({"seed": -1}, "seed is -1"),
    ],
)
def test_wrong_options_are_named(planar, options, message):
    q0 = options.pop("q0", np.zeros(3))
    with pytest.raises(InputError, match=message):
        planar.inverse_kinematics([position([2.0, 0.0, 0.0])], q0, **options)


def test_joint_past_its_limit_starts_at_it(planar):
    found = planar.inverse_kinematics([position([0.7, 0.0, 0.2])], [3.0, 0.0, 0.0])
    assert found.success and (np.abs(found.q) <= 2.5).all()
