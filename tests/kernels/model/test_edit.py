"""Inertias and joint frames changed at run time: as if the robot had been loaded so."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.agreement import assert_agree
from support.random_trees import random_tree
from support.robots import random_motion
from torqued.kernels import Inertia, InputError, Pose, Robot
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.edit import with_links
from torqued.kernels.model.families import family
from torqued.kernels.model.rotations import rotation_from_rpy

ARM = family("chain", 5, seed=3)
BODY = {"mass": 2.5, "center": [0.1, -0.2, 0.05], "inertia": [0.03, 0, 0, 0.04, 0, 0.05]}


def same(one, two, seed=0):
    q, v, a = random_motion(one, seed)
    assert_agree(one.mass_matrix(q), two.mass_matrix(q))
    assert_agree(one.inverse_dynamics(q, v, a), two.inverse_dynamics(q, v, a))
    for frame in one.frame_names:
        assert_agree(one.frame_pose(q, frame), two.frame_pose(q, frame))


def test_inertia_is_that_of_a_robot_loaded_with_it():
    robot = Robot.from_description(ARM)
    link = ARM.links[3]
    new = Inertia(2.5, np.array([0.1, -0.2, 0.05]), np.diag([0.03, 0.04, 0.05]))
    robot.set_inertia(link.name, new.mass, new.com, new.rotational)
    links = tuple(replace(x, inertia=new) if x is link else x for x in ARM.links)
    same(robot, Robot.from_description(replace(ARM, links=links)))
    assert robot.total_mass != Robot.from_description(ARM).total_mass


@pytest.mark.parametrize(
    ("links", "problem"),
    [
        ([{"mass": 2.0}], r"links\[0\]\.center is missing"),
        ([{"mass": 2.0, "center": [0, 0, 0]}], r"links\[0\]\.inertia is missing"),
        ([BODY, BODY], r"links\[1\]\.frame '.*' is on the same body as links\[0\]"),
    ],
)
def test_links_of_a_configuration_are_whole_and_each_there_once(links, problem):
    given = [{"frame": ARM.links[2].name} | link for link in links]
    with pytest.raises(InputError, match=problem):
        with_links(Robot.from_description(ARM).model, "links", given)


def test_links_of_a_configuration_are_those_of_a_robot_loaded_with_them(tmp_path):
    tool = {"frame": ARM.links[3].name, "mass": 0.5}
    links = [{"frame": ARM.links[k].name, **BODY} for k in (2, 3)]
    (tmp_path / "arm.urdf").write_text(to_urdf(ARM))
    config = {"source": tmp_path / "arm.urdf", "base": "fixed", "tool": tool, "links": links}
    text = [
        f"[[links]]\nframe = {x['frame']!r}\nmass = 2.5\ncenter = {x['center']}\n" for x in links
    ]
    text = [f"{table}inertia = {BODY['inertia']}\n" for table in text]
    tables = "".join(text) + f"[tool]\nframe = {tool['frame']!r}\nmass = 0.5\n"
    (tmp_path / "arm.toml").write_text(f'urdf = "arm.urdf"\nbase = "fixed"\n{tables}')
    expected = Robot.from_description(ARM)
    for link in links:
        expected.set_inertia(**link)
    expected = expected.with_payload(tool)
    same(Robot.load(**config), expected)
    same(Robot.from_config(tmp_path / "arm.toml"), expected)
    links[1]["mass"] = 0.0
    with pytest.raises(InputError, match=r"links\[1\]"):
        Robot.load(**config | {"links": links})


def test_joint_frame_is_that_of_a_robot_loaded_with_it():
    robot = Robot.from_description(ARM)
    joint = ARM.joints[2]
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation_from_rpy(0.3, -0.4, 1.0), [0.1, 0.2, 0.3]
    robot.set_joint_frame(joint.name, pose)
    moved = replace(joint, placement=Pose(pose[:3, :3], pose[:3, 3]))
    joints = tuple(moved if x is joint else x for x in ARM.joints)
    same(robot, Robot.from_description(replace(ARM, joints=joints)))


@pytest.mark.parametrize("seed", [1, 2, 5])
def test_joints_of_every_kind_can_be_moved(seed):
    tree = random_tree(np.random.default_rng(seed), 8)
    pose = np.eye(4)
    pose[:3, :3], pose[:3, 3] = rotation_from_rpy(0.5, 0.2, -1.0), [0.1, -0.2, 0.3]
    for joint in tree.joints:
        if joint.type == "fixed":
            continue
        robot = Robot.from_description(tree, accept_unphysical=True)
        robot.set_joint_frame(joint.name, pose, relative_to=joint.parent)
        moved = replace(joint, placement=Pose(pose[:3, :3], pose[:3, 3]))
        joints = tuple(moved if x is joint else x for x in tree.joints)
        same(robot, Robot.from_description(replace(tree, joints=joints), accept_unphysical=True))


def test_batches_charts_and_screws_follow():
    robot = Robot.from_description(ARM)
    Q, V = np.full((9, 5), 0.3), np.full((9, 5), 0.1)
    batch, screws, chart = robot.batch(threads=2), robot.screws, robot.in_coordinates("mujoco")
    state_by_state = chart.batch(threads=1)

    def matrices():
        q = chart.chart.from_native(Q[0])
        return (
            batch.mass_matrix(Q)[8],
            batch.mass_matrix(Q[:1])[0],
            batch.coriolis_matrix(Q, V, "direct")[8] + batch.coriolis_matrix(Q, V, "direct")[8].T,
            screws.mass_matrix(Q[0]),
            chart.mass_matrix(q),
            state_by_state.mass_matrix(np.array([q, q]))[1],
        )

    before = matrices()
    robot.set_inertia(ARM.links[3].name, 9.0, [0, 0, 0.1])
    robot.set_joint_frame(ARM.joints[2].name, np.eye(4))
    for M, former in zip(matrices(), before, strict=True):
        assert np.abs(M - former).max() > 0.01
    M, Mdot = robot.mass_matrix(Q[0]), robot.mass_matrix_rate(Q[0], V[0])
    for found, expected in zip(matrices(), (M, M, Mdot, M, M, M), strict=True):
        assert_agree(found, expected)


def test_copies_keep_what_they_were():
    robot = Robot.from_description(ARM)
    before, q = robot.copy(), np.full(5, 0.3)
    M = before.mass_matrix(q)
    robot.set_inertia(ARM.links[3].name, 9.0, [0, 0, 0.1])
    np.testing.assert_array_equal(before.mass_matrix(q), M)
    assert np.abs(robot.mass_matrix(q) - M).max() > 0.1
    assert_agree(
        robot.in_coordinates("pinocchio")
        .mass_matrix(robot.chart("pinocchio").from_native(q))
        .shape,
        M.shape,
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda r: r.set_inertia("nowhere", 1.0), "frame 'nowhere' is unknown"),
        (lambda r: r.set_inertia(ARM.links[0].name, 1.0), "does not move"),
        (lambda r: r.set_inertia(ARM.links[2].name, -1.0), "mass is -1.0"),
        (lambda r: r.set_inertia(ARM.links[2].name, 0.0), "mass is 0.0, expected a positive"),
        (lambda r: r.set_inertia(ARM.links[2].name, np.nan), "mass is nan"),
        (lambda r: r.set_inertia(ARM.links[2].name, 1.0, [0, 0, 0], -np.eye(3)), "inertia"),
        (lambda r: r.set_joint_frame("elbow", np.eye(4)), "joint 'elbow' is unknown"),
        (lambda r: r.set_joint_frame(ARM.joints[1].name, np.eye(3)), r"pose: shape \(3, 3\)"),
        (lambda r: r.set_joint_frame(ARM.joints[1].name, 2 * np.eye(4)), "pose: .*not a rotation"),
        (
            lambda r: r.set_joint_frame(ARM.joints[1].name, np.eye(4), ARM.links[4].name),
            "relative_to: frame .* is not on the joint's parent body",
        ),
    ],
)
def test_wrong_changes_are_refused_and_leave_all_as_it_was(change, message):
    robot = Robot.from_description(ARM)
    M = robot.mass_matrix(np.zeros(5))
    with pytest.raises(InputError, match=message):
        change(robot)
    np.testing.assert_array_equal(robot.mass_matrix(np.zeros(5)), M)


def test_joint_of_a_floating_base_has_no_other_place():
    robot = Robot.from_description(ARM, "floating")
    with pytest.raises(InputError, match="joint 'root_joint' is the floating base"):
        robot.set_joint_frame("root_joint", np.eye(4))
