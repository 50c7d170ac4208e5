"""Universal, cylindrical and generic joints: chains of simple ones."""

from __future__ import annotations

import numpy as np
import pytest

from support.agreement import assert_agree
from torqued.kernels import Description, Inertia, Joint, Limits, Link, ModelError, Pose, Robot
from torqued.kernels.charts.rotation import quaternion_of

X, Y, Z = np.eye(3)
BODY = Inertia(2.0, np.array([0.1, 0.2, 0.3]), np.diag([0.2, 0.3, 0.4]))
KNOWN = Limits(-2.0, 2.0, 1.0, 5.0)


def robot_with(kind, axis=Z, motions=()):
    joint = Joint("hip", kind, "base", "leg", Pose(position=X), axis, limits=KNOWN, motions=motions)
    links = (Link("base"), Link("leg", BODY))
    return Robot.from_description(Description("r", links, (joint,)))


def test_universal_turns_about_two_axes_in_a_row():
    robot = robot_with("universal", X, (("revolute", Y),))
    assert robot.joint_names == ("hip_1", "hip_2") and robot.nv == 2
    pose = robot.frame_pose([0.3, -0.5], "leg")
    one = robot.frame_pose([0.3, 0.0], "leg")[:3, :3]
    two = robot.frame_pose([0.0, -0.5], "leg")[:3, :3]
    assert_agree(pose[:3, :3], one @ two)
    assert_agree(one @ X, X)
    assert_agree(two @ Y, Y)
    assert_agree(pose[:3, 3], X)
    assert (robot.limits.lower == -2.0).all() and (robot.limits.effort == 5.0).all()


def test_cylindrical_slides_along_and_turns_about_one_axis():
    robot = robot_with("cylindrical", Y)
    pose = robot.frame_pose([0.4, 0.7], "leg")
    assert_agree(pose[:3, 3], X + 0.4 * Y)
    assert_agree(pose[:3, :3] @ Y, Y)
    assert_agree(robot.mass_matrix([0.4, 0.7])[0, 0], 2.0)


def test_six_motions_in_a_row_are_a_free_body():
    kinds = [("prismatic", axis) for axis in (X, Y, Z)] + [("revolute", a) for a in (Z, Y, X)]
    robot = robot_with("generic", motions=tuple(kinds))
    q = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6])
    v, a = np.random.default_rng(0).normal(size=(2, 6))
    J = robot.frame_jacobian(q, "leg", "body")
    Jdot = robot.frame_jacobian_rate(q, v, "leg", "body")
    free = Robot.from_description(Description("f", (Link("leg", BODY),), ()), "floating")
    pose = robot.frame_pose(q, "leg")
    own = np.concatenate([pose[:3, 3], quaternion_of(pose[:3, :3])])
    tau = free.inverse_dynamics(own, J @ v, J @ a + Jdot @ v)
    assert_agree(robot.inverse_dynamics(q, v, a), J.T @ tau)


def test_urdf_has_them():
    text = """<robot name="r"><link name="base"/><link name="leg"><inertial><mass value="1"/>
      <inertia ixx="1" iyy="1" izz="1" ixy="0" ixz="0" iyz="0"/></inertial></link>
      <joint name="hip" type="universal"><parent link="base"/><child link="leg"/>
      <axis xyz="0 0 2"/><motion type="revolute" xyz="0 1 0"/>
      <limit lower="-1" upper="1" velocity="1" effort="9"/></joint></robot>"""
    robot = Robot.from_xml(text.replace('xyz="0 0 2"', 'xyz="0 0 1"'))
    assert robot.joint_names == ("hip_1", "hip_2")
    assert "hip_link_1" in robot.frame_names


@pytest.mark.parametrize(
    ("kind", "motions", "message"),
    [
        ("universal", (), "universal without a second axis"),
        ("universal", (("revolute", Z),), "axes that are not at right angles"),
        ("generic", (("revolute", Z),), "generic with 1 motions, allowed: 2 to 6"),
        ("generic", (("revolute", Z),) * 7, "generic with 7 motions"),
        ("generic", (("revolute", Z), ("ball", X)), "motion 'ball' is unknown"),
        ("generic", (("revolute", Z), ("revolute", 0 * X)), "axis is zero"),
    ],
)
def test_wrong_ones_are_refused(kind, motions, message):
    with pytest.raises(ModelError, match=message):
        robot_with(kind, motions=motions)
