"""Descriptions as MJCF: MuJoCo itself loads the text and computes the same."""

from __future__ import annotations

import warnings
from dataclasses import replace

import mujoco
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.agreement import assert_agree, largest
from support.mjcf_agreement import read_here
from support.random_trees import ALL_TYPES, random_tree
from torqued.kernels import ModelError, ModelWarning, Robot
from torqued.kernels.formats.mjcf_writer import mjcf_and_notes, to_mjcf
from torqued.kernels.model.catalog import describe
from torqued.kernels.model.description import (
    ROOT_JOINT,
    SINGLE_DOF,
    Description,
    Inertia,
    Joint,
    Limits,
    Link,
    Mimic,
)
from torqued.kernels.model.families import family

WRITABLE = [kind for kind in ALL_TYPES if kind != "helical"]


def assert_same_in_mujoco(description: Description, seed: int) -> None:
    """M, bias, Jacobians of all links and poses, of the robot whose joints all move freely."""
    model = mujoco.MjModel.from_xml_string(to_mjcf(description))
    data, M = mujoco.MjData(model), np.zeros((model.nv, model.nv))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        base = description.base or "fixed"
        robot = Robot.from_description(description, base, mimic="free")
    view = robot.in_coordinates("mujoco")
    q, v = view.random_state(np.random.default_rng(seed))
    data.qpos[:], data.qvel[:] = q, v
    mujoco.mj_forward(model, data)
    mujoco.mj_fullM(model, data, M)
    expected = view.mass_matrix(q)
    assert_agree(M, expected, within=1e-12)
    size = 10.0 * largest(expected)
    assert_agree(data.qfrc_bias, view.bias(q, v), within=1e-12, size=size)
    motors = {model.actuator(k).name: model.actuator(k).forcerange[1] for k in range(model.nu)}
    for joint in description.joints:
        if joint.type in SINGLE_DOF:
            ends = (joint.limits.lower, joint.limits.upper)
            limited = joint.type != "continuous" and not np.isinf(ends).all()
            assert bool(model.joint(joint.name).limited[0]) == limited
            assert not limited or tuple(model.joint(joint.name).range) == ends
            effort = np.inf if joint.mimic else joint.limits.effort
            assert motors.get(joint.name, np.inf) == effort
    for link in description.links:
        turn, shift = np.zeros((2, 3, model.nv))
        mujoco.mj_jacBody(model, data, shift, turn, model.body(link.name).id)
        J = view.frame_jacobian(q, link.name, "hybrid")
        assert_agree(np.vstack([turn, shift]), J, within=1e-12, size=1.0)
        pose = view.frame_pose(q, link.name)
        assert_agree(data.body(link.name).xpos, pose[:3, 3], within=1e-12, size=1.0)
        assert_agree(data.body(link.name).xmat.reshape(3, 3), pose[:3, :3], within=1e-12)


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 12), st.sampled_from(["fixed", "floating"]))
def test_random_tree_of_all_types_is_the_same_in_mujoco(seed, bodies, base):
    tree = random_tree(np.random.default_rng(seed), bodies, WRITABLE)
    moving = any(joint.type != "fixed" for joint in tree.joints)
    if moving or base == "floating":
        assert_same_in_mujoco(replace(tree, base=base), seed)


@pytest.mark.parametrize(
    ("name", "base"),
    [
        *(("panda", "fixed"), ("ur5", "fixed"), ("talos", "floating"), ("solo12", "floating")),
        *(("icub", "floating"), ("g1", "floating"), ("human", "floating")),
    ],
)
def test_real_robot_is_the_same_in_mujoco(name, base):
    assert_same_in_mujoco(replace(describe(name), base=base), 0)


def test_long_chain_is_as_deep_as_mujoco_reads():
    model = mujoco.MjModel.from_xml_string(to_mjcf(family("chain", 489)))
    assert model.nv == 489
    with pytest.raises(ModelError, match="'link_490': 490 links lead to it, more"):
        to_mjcf(family("chain", 490))


HEAVY = Inertia(1.0, np.array([0.1, 0.0, 0.0]), np.diag([0.1, 0.2, 0.2]))


def robot_of(joint: Joint, inertia: Inertia = HEAVY, **more: object) -> Description:
    links = (Link("base", HEAVY), Link("tip", inertia))
    return Description("robot", links, (joint,), **more)  # type: ignore[arg-type]


def test_limits_efforts_losses_and_gravity_are_mujocos():
    limits = Limits(-0.5, np.inf, effort=7.0)
    joint = Joint("j", "revolute", "base", "tip", limits=limits)
    joint = replace(joint, damping=0.1, friction=0.2, armature=0.3)
    text = to_mjcf(robot_of(joint, gravity=(0.0, 1.0, -2.0)))
    model = mujoco.MjModel.from_xml_string(text)
    assert model.jnt_limited[0] and model.jnt_range[0].tolist() == [-0.5, np.inf]
    assert model.actuator("j").forcerange.tolist() == [-7.0, 7.0]
    losses = (model.dof_damping[0], model.dof_frictionloss[0], model.dof_armature[0])
    assert losses == (0.1, 0.2, 0.3)
    assert model.opt.gravity.tolist() == [0.0, 1.0, -2.0]


def test_compound_joint_and_motors_of_a_ball():
    axes = {"axis": np.array([0.0, 0.0, 1.0]), "motions": (("revolute", np.eye(3)[0]),)}
    joint = Joint("hip", "universal", "base", "tip", limits=Limits(effort=3.0), **axes)
    model = mujoco.MjModel.from_xml_string(to_mjcf(robot_of(joint)))
    assert [model.joint(k).name for k in range(2)] == ["hip_1", "hip_2"]
    assert_same_in_mujoco(robot_of(replace(joint, type="spherical", motions=())), 1)
    ball = replace(joint, type="spherical", motions=())
    text, notes = mjcf_and_notes(robot_of(ball))
    assert notes == ["joint 'hip': effort of a ball joint, which is not read back"]
    model = mujoco.MjModel.from_xml_string(text)
    assert model.nu == 3
    data = mujoco.MjData(model)
    data.ctrl[:] = [1.0, -2.0, 9.0]
    mujoco.mj_forward(model, data)
    assert_agree(data.qfrc_actuator, [1.0, -2.0, 3.0])


@pytest.mark.parametrize(
    ("efforts", "motors"),
    [((7.0, np.inf, 0.0), 2), ((np.inf, 0.0, np.inf), 2), ((np.inf,) * 3, 0), ((0.0,) * 3, 0)],
)
def test_motors_tell_which_efforts_are_known(efforts, motors):
    chain = family("chain", 3)
    joints = zip(chain.joints, efforts, strict=True)
    joints = tuple(replace(joint, limits=Limits(effort=effort)) for joint, effort in joints)
    text, notes = mjcf_and_notes(replace(chain, base="floating", joints=joints))
    assert mujoco.MjModel.from_xml_string(text).nu == motors
    read = [joint.limits.effort for joint in read_here(text).joints]
    assert read == (list(efforts) if any(efforts) else [np.inf] * 3)
    assert len([note for note in notes if "without motors" in note]) == (0 if any(efforts) else 3)


def test_postures_are_keyframes_and_mimics_equalities():
    tree = random_tree(np.random.default_rng(0), 4, sorted(SINGLE_DOF - {"helical"}))
    names = [joint.name for joint in tree.joints]
    joints = [replace(joint, limits=Limits()) for joint in tree.joints]
    joints[1] = replace(joints[1], mimic=Mimic(names[0], -2.0, 0.5))
    turned = (0.1, 0.2, 0.3, 0.5, 0.5, 0.5, -0.5)
    posture = {names[0]: (0.25,), names[3]: (1.0,), ROOT_JOINT: turned}
    description = replace(
        tree, joints=tuple(joints), base="floating", postures={"home": posture, "zero": {}}
    )
    model = mujoco.MjModel.from_xml_string(to_mjcf(description))
    data = mujoco.MjData(model)
    mujoco.mj_resetDataKeyframe(model, data, model.key("home").id)
    mujoco.mj_forward(model, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = Robot.from_description(description, "floating")
    q = robot.q_from(posture)
    for link in description.links:
        assert_agree(data.body(link.name).xpos, robot.frame_pose(q, link.name)[:3, 3])
    assert_agree(data.efc_pos[data.efc_type == mujoco.mjtConstraint.mjCNSTR_EQUALITY], [0.0])
    zero = model.key("zero").qpos.tolist()
    assert sorted(zero) == sorted([0.0] * (model.nq - 2) + [0.5, 1.0])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"type": "helical", "pitch": 0.1}, "joint 'j': MJCF has no helical joints"),
        ({"child": "world"}, "link 'world': is not the root"),
    ],
)
def test_what_mjcf_lacks_is_refused_by_name(change, message):
    robot = robot_of(replace(Joint("j", "revolute", "base", "tip"), **change))
    links = (robot.links[0], replace(robot.links[1], name=robot.joints[0].child))
    with pytest.raises(ModelError, match=message):
        to_mjcf(replace(robot, links=links))


def test_moments_that_mujoco_refuses_are_joined_with_what_is_fixed_to_them_or_refused():
    joint, flat = Joint("j", "revolute", "base", "tip"), np.diag([0.1, 0.1, 0.3])
    wrong = robot_of(joint, replace(HEAVY, rotational=flat))
    with pytest.raises(ModelError, match="'tip': MuJoCo refuses the principal moments"):
        to_mjcf(wrong)
    links = (*wrong.links, Link("tool", HEAVY))
    mended = replace(wrong, links=links, joints=(joint, Joint("f", "fixed", "tip", "tool")))
    assert_same_in_mujoco(mended, 0)


def test_moments_of_a_base_that_cannot_move_do_not_matter():
    robot = robot_of(Joint("j", "revolute", "base", "tip"))
    heavy = Link("base", replace(HEAVY, rotational=np.diag([0.1, 0.1, 0.3])))
    assert_same_in_mujoco(replace(robot, links=(heavy, robot.links[1])), 0)


def test_posture_of_another_length_is_refused():
    robot = robot_of(Joint("j", "revolute", "base", "tip"), postures={"p": {"j": (1.0, 2.0)}})
    with pytest.raises(ModelError, match="posture 'p': joint 'j' has 2 coordinates, expected 1"):
        to_mjcf(robot)


def test_joints_of_a_posture_that_cannot_move_are_named():
    robot = robot_of(Joint("j", "revolute", "base", "tip"), postures={"p": {"finger": (1.0,)}})
    assert mjcf_and_notes(robot)[1] == ["posture 'p': finger cannot move"]


def test_root_called_world_is_mujocos_world():
    robot = robot_of(Joint("j", "floating", "world", "tip"))
    robot = replace(robot, links=(Link("world"), robot.links[1]))
    model = mujoco.MjModel.from_xml_string(to_mjcf(robot))
    assert (model.nbody, model.jnt_type[0]) == (2, mujoco.mjtJoint.mjJNT_FREE)
    assert_same_in_mujoco(robot, 0)
