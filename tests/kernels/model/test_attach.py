"""Two robots as one tree."""

import re
from dataclasses import replace

import numpy as np
import pytest

from support.agreement import assert_agree
from torqued.kernels import Contact, InputError, Loop, ModelError, Robot
from torqued.kernels.formats.toml_writer import to_toml
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.description import Joint, Pose
from torqued.kernels.model.families import family
from torqued.kernels.model.rotations import rotation_from_rpy

ARM, TOOL = family("chain", 3, seed=2), family("tree", 4, seed=5)
TIP = ARM.links[-1].name
POSE = np.eye(4)
POSE[:3, :3], POSE[:3, 3] = rotation_from_rpy(0.3, -0.2, 0.9), [0.1, 0.2, -0.3]


@pytest.fixture(scope="module")
def by_hand() -> Robot:
    """The same tree, written into one description."""
    names = {link.name: f"t_{link.name}" for link in TOOL.links}
    root = ({*names} - {joint.child for joint in TOOL.joints}).pop()
    mount = Joint("m", "fixed", TIP, names[root], Pose(POSE[:3, :3], POSE[:3, 3]))
    joints = [
        replace(j, name=f"t_{j.name}", parent=names[j.parent], child=names[j.child])
        for j in TOOL.joints
    ]
    links = [replace(link, name=names[link.name]) for link in TOOL.links]
    tree = replace(ARM, links=(*ARM.links, *links), joints=(*ARM.joints, mount, *joints))
    return Robot.from_description(tree)


def test_attached_robot_is_the_tree_of_both(by_hand):
    robot = Robot.from_description(ARM).attach(Robot.from_description(TOOL), TIP, POSE, "t_")
    assert robot.joint_names == by_hand.joint_names
    q, v = robot.random_state(np.random.default_rng(0))
    np.testing.assert_array_equal(robot.mass_matrix(q), by_hand.mass_matrix(q))
    np.testing.assert_array_equal(robot.bias(q, v), by_hand.bias(q, v))


def test_each_part_moves_as_it_does_alone(by_hand):
    tool = Robot.from_description(TOOL)
    q, _ = by_hand.random_state(np.random.default_rng(1))
    carried = by_hand.frame_pose(q, TIP) @ POSE
    for name in tool.frame_names:
        expected = carried @ tool.frame_pose(q[3:], name)
        assert_agree(by_hand.frame_pose(q, f"t_{name}"), expected, within=1e-14)


def test_configuration_attaches_files_and_names(tmp_path, by_hand):
    (tmp_path / "tool.urdf").write_text(to_urdf(TOOL))
    (tmp_path / "arm.urdf").write_text(to_urdf(ARM))
    (tmp_path / "robot.toml").write_text(
        f'model = "arm.urdf"\n[[attach]]\nmodel = "tool.urdf"\nframe = "{TIP}"\nprefix = "t_"\n'
        "position = [0.1, 0.2, -0.3]\nrpy = [0.3, -0.2, 0.9]\n"
    )
    robot = Robot.load(tmp_path / "robot.toml")
    q, v = robot.random_state(np.random.default_rng(2))
    assert_agree(robot.bias(q, v), by_hand.bias(q, v), within=1e-13)
    entry = {"model": "tree4", "frame": TIP, "prefix": "b_"}
    assert Robot.from_description(ARM, attach=[entry, entry | {"prefix": "c_"}]).nv == 11


def test_capsules_come_along_with_the_prefix():
    arm, tool = (
        Robot.from_description(d, capsules=[{"frame": d.links[-1].name, "radius": 0.1}])
        for d in (ARM, TOOL)
    )
    robot = arm.attach(tool, ARM.links[1].name, prefix="t_")
    (pair,) = robot.clearances(np.zeros(7))
    assert {pair.frame, pair.other} == {TIP, f"t_{TOOL.links[-1].name}"}


def test_floating_base_of_the_other_robot_is_left_out_with_a_note():
    legs = Robot.from_description(family("biped", 4, seed=1), "floating")
    with pytest.warns(match="the floating base of 'biped4' is left out: its root link is fixed"):
        assert Robot.from_description(ARM).attach(legs, TIP, prefix="l_").nv == 7


@pytest.mark.parametrize("other", [None, "panda"])
def test_only_a_robot_can_be_attached(other):
    with pytest.raises(InputError, match="expected a robot"):
        Robot.from_description(ARM).attach(other, TIP)


def test_names_of_all_kinds_get_the_prefix():
    sets = {
        "loop": (Loop(TOOL.links[1].name, TOOL.links[2].name),),
        "floor": (Contact(TOOL.links[1].name),),
    }
    postures = {"open": {TOOL.joints[0].name: (0.3,), "root_joint": (0, 0, 0, 0, 0, 0, 1)}}
    tool = Robot.from_description(replace(TOOL, constraints=sets, postures=postures))
    with pytest.warns(match="constraints floor hold 'tree4' in the world"):
        robot = Robot.from_description(ARM).attach(tool, TIP, prefix="t_")
    (loop,) = robot.constraints["t_loop"]
    assert (loop.frame, loop.other) == (f"t_{TOOL.links[1].name}", f"t_{TOOL.links[2].name}")
    assert [*robot.constraints] == ["t_loop"]
    assert robot.posture("t_open").tolist() == [0, 0, 0, 0.3, 0, 0, 0]


@pytest.mark.parametrize(
    ("frame", "prefix", "problem"),
    [
        ("tip", "t_", "attach.frame: frame 'tip' is unknown"),
        (TIP, "", "both robots have a link base, link_1, link_2, link_3; expected a prefix other"),
        (TIP, 3, "attach.prefix: 3, expected a text"),
    ],
)
def test_names_that_make_no_sense_are_refused(frame, prefix, problem):
    with pytest.raises(InputError, match=problem):
        Robot.from_description(ARM).attach(
            Robot.from_description(family("chain", 4)), frame, prefix=prefix
        )


@pytest.mark.parametrize(
    ("entry", "problem"),
    [
        ({"frame": TIP}, r"attach\[0\]: .*, expected a map of model, frame"),
        ({"model": "tree4", "frame": TIP, "at": 1}, r"attach\[0\]: 'at' is unknown, allowed: mod"),
        ({"model": "tree4"}, r"attach\[0\].frame: None is not a frame's name"),
        ({"model": "tree4", "frame": TIP, "rpy": [1]}, r"attach\[0\].rpy: shape \(1,\)"),
        ({"model": "nothing.urdf", "frame": TIP}, "robot 'nothing.urdf': no such file"),
    ],
)
def test_entries_of_a_configuration_are_checked(entry, problem):
    with pytest.raises((InputError, ModelError), match=problem):
        Robot.from_description(ARM, attach=[entry])


FAULTY = {
    "<robot name='r'/>": r"other.urdf: 1 problem\n  - robot: has no links",
    "<robot name='r'><link name='a'/><link name='b'/></robot>": "other.urdf: .*has 2 roots",
}


@pytest.mark.parametrize("text", FAULTY)
def test_faults_of_the_other_file_are_told_by_its_name(tmp_path, text):
    (tmp_path / "other.urdf").write_text(text)
    entry = {"model": str(tmp_path / "other.urdf"), "frame": TIP, "prefix": "t_"}
    with pytest.raises(ModelError, match=re.compile(FAULTY[text], re.DOTALL)):
        Robot.from_description(ARM, attach=[entry])


def test_joints_of_several_motions_come_along(tmp_path):
    """As those of the robot that carries them."""
    motions = tuple(("revolute", axis) for axis in np.eye(3)[:2])
    hip = replace(ARM.joints[0], type="generic", motions=motions)
    other = replace(ARM, joints=(hip, *ARM.joints[1:]))
    (tmp_path / "other.toml").write_text(to_toml(other))
    entry = {"model": str(tmp_path / "other.toml"), "frame": TIP, "prefix": "t_"}
    robot = Robot.from_description(ARM, attach=[entry])
    assert robot.nv == 7 and "t_joint_1_1" in robot.joint_names


def test_robot_that_was_changed_is_refused():
    arm, tool = Robot.from_description(ARM), Robot.from_description(TOOL)
    heavy = arm.with_payload({"frame": TIP, "mass": 1.0})
    with pytest.raises(InputError, match="this robot has been changed, expected a robot as it w"):
        heavy.attach(tool, TIP, prefix="t_")
    with pytest.raises(InputError, match="other has been changed"):
        arm.attach(tool.with_friction({"viscous": 1.0}), TIP, prefix="t_")
