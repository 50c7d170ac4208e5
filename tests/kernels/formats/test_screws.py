"""Robots by screws: written and read back they are the same robot, and faults are named."""

from __future__ import annotations

import warnings
from contextlib import suppress

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.agreement import assert_agree, largest
from support.random_trees import random_tree
from support.robots import random_motion
from torqued.kernels import InputError, ModelError, ModelWarning, Robot
from torqued.kernels.formats.screws_writer import to_screws
from torqued.kernels.formats.sources import read_file, read_whole
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.catalog import urdf_files
from torqued.kernels.model.checks import check
from torqued.kernels.model.description import Description


def assert_same_robot(first: Robot, second: Robot, seed: int = 0) -> None:
    """Dynamics and frames agree to rounding, and the names and limits are the same."""
    assert (first.joint_names, first.frame_names) == (second.joint_names, second.frame_names)
    for name, value in vars(first.limits).items():
        np.testing.assert_array_equal(value, getattr(second.limits, name))
    q, v, a = random_motion(first, seed)
    size = largest(first.mass_matrix(q)) if first.nv else 1.0
    assert_agree(second.mass_matrix(q), first.mass_matrix(q), within=1e-12)
    tau = first.inverse_dynamics(q, v, a)
    assert_agree(second.inverse_dynamics(q, v, a), tau, within=1e-12, size=10.0 * size)
    for frame in first.frame_names:
        pose = first.frame_pose(q, frame)
        assert_agree(second.frame_pose(q, frame), pose, within=1e-13, size=1.0)


def loaded(description: Description, base: str) -> Robot:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        return Robot.from_description(description, base, accept_unphysical=True)


@settings(max_examples=40)
@given(st.integers(0, 2**32), st.integers(1, 12))
def test_random_tree_of_all_types_is_the_same_by_screws(seed, bodies):
    written = random_tree(np.random.default_rng(seed), bodies, mimics=True)
    read = read_whole(to_screws(written), "robot.toml")
    assert [link.name for link in read.links] == [link.name for link in written.links]
    assert [joint.mimic for joint in read.joints] == [joint.mimic for joint in written.joints]
    assert_same_robot(loaded(written, "floating"), loaded(read, "floating"), seed)


@pytest.mark.slow
def test_every_file_that_can_be_loaded_is_the_same_by_screws_and_back_as_urdf():
    count = 0
    for path in urdf_files().values():
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ModelWarning)
            try:
                robot = Robot.from_urdf(path, "floating", accept_unphysical=True)
            except ModelError:
                continue
            read = read_whole(to_screws(read_file(path)), "robot.toml")
            back = read_whole(to_urdf(read))
        assert_same_robot(robot, loaded(read, "floating"))
        assert_same_robot(robot, loaded(back, "floating"))
        count += 1
    assert count > 30


#: Two links and two axes, as somebody writes them down from a drawing: no frames at all.
DRAWING = """
name = "two"
[[link]]
name = "base"
[[link]]
name = "upper"
mass = 2.0
com = [0.5, 0, 0.2]
inertia = [0.01, 0, 0, 0.02, 0, 0.02]
[[link]]
name = "lower"
mass = 1.0
com = [1.4, 0, 0.2]
inertia = [0.01, 0, 0, 0.01, 0, 0.01]
[[joint]]
name = "shoulder"
type = "continuous"
parent = "base"
child = "upper"
axis = [0, 1, 0]
point = [0, 3, 0.2]
[[joint]]
name = "elbow"
type = "continuous"
parent = "upper"
child = "lower"
axis = [0, 1, 0]
point = [1, -1, 0.2]
"""


def test_robot_without_any_frames_is_that_of_its_drawing(tmp_path):
    path = tmp_path / "two.toml"
    path.write_text(DRAWING)
    robot = Robot.from_screws(path)
    q = np.array([0.3, -0.8])
    # By the textbook: planar arm, gravity along −z, positive rotation about y lowers the arm.
    l1, c1, c2, m1, m2, i1, i2 = 1.0, 0.5, 0.4, 2.0, 1.0, 0.02, 0.01
    cosine = np.cos(q[1])
    inner = i2 + m2 * c2 * (c2 + l1 * cosine)
    M = np.array(
        [
            [i1 + i2 + m1 * c1**2 + m2 * (l1**2 + c2**2 + 2 * l1 * c2 * cosine), inner],
            [inner, i2 + m2 * c2**2],
        ]
    )
    assert_agree(robot.mass_matrix(q), M)
    both = m2 * c2 * np.cos(q.sum())
    g = -9.81 * np.array([(m1 * c1 + m2 * l1) * np.cos(q[0]) + both, both])
    assert_agree(robot.gravity(q), g)
    # Frames of links are the reference frame while q = 0, and carried along.
    assert_agree(robot.frame_pose([0.0, 0.0], "lower"), np.eye(4))
    np.testing.assert_allclose(robot.frame_pose([0.0, 0.0], "elbow")[:3, 3], [1, -1, 0.2])
    assert_same_robot(robot, Robot.named(str(path)))


def test_screws_are_those_of_the_paper():
    """Y = (e, y × e) of [M18] eq. 94 is the spatial Jacobian with all coordinates zero."""
    robot = Robot.from_description(read_whole(DRAWING, "robot.toml"))
    J = robot.frame_jacobian(np.zeros(2), "lower", "spatial")
    e = np.array([0.0, 1.0, 0.0])
    for k, y in enumerate(([0, 3, 0.2], [1, -1, 0.2])):
        assert_agree(J[:, k], np.concatenate([e, np.cross(y, e)]))


def test_configuration_names_a_file_by_screws(tmp_path):
    (tmp_path / "two.toml").write_text(DRAWING)
    config = tmp_path / "robot.toml"
    config.write_text('screws = "two.toml"\ngravity = [0.0, 0.0, 0.0]\n')
    robot = Robot.from_config(config)
    assert robot.nv == 2
    assert not robot.gravity(np.ones(2)).any()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("mass = 2.0", 'mass = "2"', "link 'upper': 'mass' is '2', expected a finite number"),
        ("mass = 2.0", "mass = nan", "link 'upper': 'mass' is nan, expected a finite number"),
        ("com = [0.5, 0, 0.2]", "com = [1]", "'com' is [1], expected 3 finite numbers"),
        ("mass = 2.0", "weight = 2.0", "link 'upper': key 'weight' is unknown, allowed: com"),
        ('type = "continuous"', 'type = "ball"', "joint 'shoulder': type 'ball' is unknown"),
        (
            "axis = [0, 1, 0]",
            "",
            "joint 'shoulder': 'axis' is missing: a continuous joint requires",
        ),
        ("axis = [0, 1, 0]", "axis = [0, 0, 0]", "joint 'shoulder': 'axis' is zero"),
        ("axis = [0, 1, 0]", "axis = [0, 2, 0]", "axis [0.0, 2.0, 0.0] has length 2, not 1"),
        ("point = [0, 3, 0.2]", "", "joint 'shoulder': 'point' is missing"),
        ('child = "upper"', 'child = "upper"\nmimic = 3', "'mimic' is 3, expected a table"),
        ('parent = "base"', 'parent = "bse"', "bse"),
        ("mass = 2.0", "rotation = [2, 0, 0, 0, 1, 0, 0, 0, 1]", "'rotation' is not a rotation"),
        ('name = "two"', "name = 2", "the file: 'name' is 2, expected a text"),
        ('name = "two"', 'title = "two"', "the file: key 'title' is unknown, allowed: joint, li"),
        ('name = "two"', "[robot]", "configuration, with a key 'robot', not the file"),
        ('name = "base"', "", "link number 1: 'name' is missing"),
        ('name = "base"', 'name = "base"\n[[', "cannot be read as TOML"),
        ('name = "base"', 'name = "elbow_axis"', "whose name 'elbow_axis' is taken"),
    ],
)
def test_faults_are_named(old, new, message):
    with pytest.raises(ModelError) as caught:
        check(read_whole(DRAWING.replace(old, new, 1), "two.toml"))
    assert message in str(caught.value)
    assert str(caught.value).startswith("two.toml: ")


def test_all_faults_come_in_one_report():
    text = DRAWING.replace("mass = 2.0", "mass = []").replace("point = [1, -1, 0.2]", "")
    with pytest.raises(ModelError) as caught:
        read_whole(text, "robot.toml")
    assert len(caught.value.problems) == 2


def test_no_text_is_refused():
    with pytest.raises(InputError, match="text: 3, expected a text"):
        read_whole(3, "robot.toml")
    with pytest.raises(ModelError, match=r"\[\[link\]\] is missing"):
        read_whole("", "robot.toml")


@settings(max_examples=200)
@given(st.data())
def test_damaged_texts_give_errors_of_torqued_only(data):
    text = DRAWING
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 12))
        text = text[:at] + data.draw(st.text(max_size=4)) + text[at + length :]
    with suppress(ModelError):
        check(read_whole(text, "robot.toml"))
