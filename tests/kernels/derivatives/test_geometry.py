"""Derivatives by where joints are, against robots whose joints have been moved."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from oracles.finite_differences import derivative
from support.agreement import assert_agree, largest
from support.cases import GRAVITY, random_case
from torqued.kernels import InputError, Robot
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.integration import lie
from torqued.kernels.screws import convert


def displaced(case, name, m, h):
    """The robot with a joint's frame displaced by h along the m-th of its axes."""
    step = lie.exp(h * np.eye(6)[m])
    joints = []
    for joint in case.description.joints:
        if joint.name == name:
            R, p = joint.placement.rotation, joint.placement.position
            moved = replace(
                joint.placement, rotation=R @ step[:3, :3], position=p + R @ step[:3, 3]
            )
            joint = replace(joint, placement=moved)
        joints.append(joint)
    description = replace(case.description, joints=tuple(joints))
    return Robot.from_description(description, case.base, gravity=GRAVITY)


@pytest.mark.parametrize(("seed", "base"), [(1, "fixed"), (2, "floating"), (5, "fixed")])
def test_torques_change_as_those_of_a_robot_with_displaced_joints(seed, base):
    case = random_case(seed, 5, base, mimics=seed == 5)
    robot, q, v, a = case.robot, case.q, case.v, case.a
    found = robot.geometric_derivatives(q, v, a)
    names = [joint.name for joint in robot.model.joints]
    known = {joint.name for joint in case.description.joints}
    assert found.shape == (robot.nv, len(names), 6)
    checked = [name for name in names if name in known]
    assert len(checked) >= 3
    for name in checked:
        for m in range(6):

            def tau(h, name=name, m=m):
                return displaced(case, name, m, h).inverse_dynamics(q, v, a)

            expected = derivative(tau, 0.05, 3)
            ours = found[:, names.index(name), m]
            assert_agree(ours, expected, within=1e-7, size=largest(found))


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_frames_are_displaced_as_those_of_a_robot_with_displaced_joints(representation):
    case = random_case(2, 5, "floating")
    robot, q, frame = case.robot, case.q, case.robot.frame_names[-1]
    found = robot.frame_geometric_jacobian(q, frame, representation)
    pose = robot.frame_pose(q, frame)
    names = [joint.name for joint in robot.model.joints]
    for name in {joint.name for joint in case.description.joints} & set(names):
        for m in range(6):

            def twist(h, name=name, m=m):
                there = displaced(case, name, m, h).frame_pose(q, frame)
                return lie.log(np.linalg.inv(pose) @ there)  # in the frame's axes

            (expected,) = convert("body", representation, pose, derivative(twist, 0.05, 3))
            assert_agree(found[:, names.index(name), m], expected, within=1e-8, size=1.0)


def test_displacing_a_joint_along_its_own_axis_is_moving_it():
    """Of a joint of one degree of freedom at rest: π along the axis is q itself."""
    robot, rng = Robot.family("chain", 6), np.random.default_rng(0)
    q, _ = robot.random_state(rng)
    rest, a = np.zeros(6), rng.normal(size=6)
    dq, _ = robot.inverse_dynamics_derivatives(q, rest, a)
    by_geometry = robot.geometric_derivatives(q, rest, a)
    for k, joint in enumerate(robot.model.joints):
        at_zero = q.copy()
        at_zero[k] = 0.0  # where the axes of the joint's frame are those of π
        R = robot.frame_pose(at_zero, joint.name)[:3, :3]
        axis = R.T @ robot.frame_jacobian(at_zero, joint.name)[:3, k]
        assert_agree(by_geometry[:, k, :3] @ axis, dq[:, k], within=1e-9)


def test_bad_input_is_refused_by_name():
    robot = Robot.family("chain", 3)
    with pytest.raises(InputError, match=r"^a: "):
        robot.geometric_derivatives(np.zeros(3), np.zeros(3), "fast")
    with pytest.raises(InputError, match="frame 'nowhere'"):
        robot.frame_geometric_jacobian(np.zeros(3), "nowhere")
    with pytest.raises(InputError, match="representation: 'local' is unknown"):
        robot.frame_geometric_jacobian(np.zeros(3), robot.frame_names[-1], "local")
