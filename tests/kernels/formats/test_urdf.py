"""URDF text into descriptions, and every way in which it can be wrong."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from torqued.common.errors import ModelError
from torqued.kernels.formats.sources import read_file, read_whole
from torqued.kernels.formats.urdf import parse_with_faults
from torqued.kernels.model.description import Joint, Limits, Mimic

MASS = '<mass value="1"/><inertia ixx="1" iyy="2" izz="2.5" ixy="0" ixz="0" iyz="0"/>'
ENDS = '<parent link="a"/><child link="b"/>'


def robot(body: str) -> str:
    return f'<robot name="r">{body}</robot>'


def with_joint(inside: str, type: str = "revolute") -> str:
    links = '<link name="a"/><link name="b"/>'
    return robot(f'{links}<joint name="elbow" type="{type}">{ENDS}{inside}</joint>')


def with_link(inside: str) -> str:
    return robot(f'<link name="arm">{inside}</link>')


def joint_of(text: str) -> Joint:
    return read_whole(text).joints[0]


def problems(text: str) -> tuple[str, ...]:
    """Of reading alone."""
    try:
        return tuple(parse_with_faults(text, "robot.urdf")[1])
    except ModelError as error:  # nothing of it can be read
        assert error.source == "robot.urdf"
        return error.problems


def problem(text: str) -> str:
    (only,) = problems(text)
    return only


def test_products_of_inertia_that_are_missing_are_told():
    text = with_link(
        '<inertial><mass value="1"/><inertia ixx="1" iyy="2" izz="2" ixz="0"/></inertial>'
    )
    description = read_whole(text)
    assert description.notes == (
        "link 'arm': <inertial>: <inertia>: ixy, iyz missing, assumed to be 0",
    )
    np.testing.assert_array_equal(description.links[0].inertia.rotational, np.diag([1.0, 2, 2]))


def test_links_and_joints_keep_document_order_and_names():
    text = robot(
        '<link name="z"/><link name="a"/><link name="m"/>'
        '<joint name="second" type="fixed"><parent link="z"/><child link="m"/></joint>'
        '<joint name="first" type="continuous"><parent link="m"/><child link="a"/></joint>'
    )
    description = read_whole(text, source="here.urdf")
    assert (description.name, description.source, description.notes) == ("r", "here.urdf", ())
    assert [link.name for link in description.links] == ["z", "a", "m"]
    ends = [(j.name, j.type, j.parent, j.child) for j in description.joints]
    assert ends == [("second", "fixed", "z", "m"), ("first", "continuous", "m", "a")]


def test_absent_tags_take_the_defaults_of_the_specification():
    joint = joint_of(with_joint(""))
    assert joint.placement.rotation.tolist() == np.eye(3).tolist()
    assert joint.placement.position.tolist() == [0, 0, 0]
    assert joint.axis.tolist() == [1, 0, 0]
    assert joint.limits == Limits()
    assert (joint.damping, joint.friction, joint.armature, joint.mimic) == (0, 0, 0, None)
    link = read_whole(with_link("")).links[0]
    assert link.inertia.mass == 0 and not link.inertia.rotational.any()


def test_rpy_turns_about_fixed_x_then_y_then_z():
    placement = joint_of(with_joint('<origin xyz="1 2 3" rpy="0.1 0.2 0.3"/>')).placement
    c, s = np.cos([0.1, 0.2, 0.3]), np.sin([0.1, 0.2, 0.3])
    Rx = np.array([[1, 0, 0], [0, c[0], -s[0]], [0, s[0], c[0]]])
    Ry = np.array([[c[1], 0, s[1]], [0, 1, 0], [-s[1], 0, c[1]]])
    Rz = np.array([[c[2], -s[2], 0], [s[2], c[2], 0], [0, 0, 1]])
    np.testing.assert_allclose(placement.rotation, Rz @ Ry @ Rx, atol=1e-16)
    assert placement.position.tolist() == [1, 2, 3]


def test_quaternion_origin_equals_the_same_turn_as_rpy():
    half = math.sqrt(0.5)
    quaternion = joint_of(with_joint(f'<origin quat_xyzw="0 0 {half!r} {half!r}"/>')).placement
    rpy = joint_of(with_joint(f'<origin rpy="0 0 {math.pi / 2!r}"/>')).placement
    np.testing.assert_allclose(quaternion.rotation, rpy.rotation, atol=1e-15)


def test_rotational_inertia_is_turned_into_link_axes():
    turn = f'<origin xyz="0.1 0.2 0.3" rpy="0 0 {math.pi / 2!r}"/>'
    inertia = read_whole(with_link(f"<inertial>{turn}{MASS}</inertial>")).links[0].inertia
    np.testing.assert_allclose(inertia.rotational, np.diag([2, 1, 2.5]), atol=1e-15)
    assert inertia.com.tolist() == [0.1, 0.2, 0.3]
    assert inertia.mass == 1


def test_off_diagonal_inertias_sit_in_both_triangles():
    moments = '<inertia ixx="1" iyy="2" izz="3" ixy="0.1" ixz="0.2" iyz="0.3"/>'
    link = read_whole(with_link(f'<inertial><mass value="2"/>{moments}</inertial>')).links[0]
    expected = [[1, 0.1, 0.2], [0.1, 2, 0.3], [0.2, 0.3, 3]]
    assert link.inertia.rotational.tolist() == expected


@pytest.mark.parametrize("scale", [2.0, 1e-200, 1e200, 1e308])
def test_axis_is_normalised_with_a_note(scale):
    description = read_whole(with_joint(f'<axis xyz="0 {scale!r} {scale!r}"/>'))
    np.testing.assert_allclose(description.joints[0].axis, [0, math.sqrt(0.5), math.sqrt(0.5)])
    (note,) = description.notes
    assert note.startswith("joint 'elbow': axis '0 ") and "normalised" in note


def test_axis_off_by_rounding_is_normalised_without_a_note():
    description = read_whole(with_joint('<axis xyz="0.173651 0 0.984807"/>'))
    assert abs(np.linalg.norm(description.joints[0].axis) - 1.0) < 1e-15
    assert description.notes == ()


def test_limits_and_losses_are_read():
    joint = joint_of(
        with_joint(
            '<limit lower="-1" upper="2" velocity="3" effort="4"/>'
            '<dynamics damping="5" friction="6" armature="7"/>'
        )
    )
    assert joint.limits == Limits(-1, 2, 3, 4)
    assert (joint.damping, joint.friction, joint.armature) == (5, 6, 7)


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ('upper="1.5"', Limits(lower=0.0, upper=1.5)),
        ('lower="-1.5"', Limits(lower=-1.5, upper=0.0)),
        ('velocity="2" effort="3"', Limits(velocity=2.0, effort=3.0)),
        ('lower="-inf" upper="1"', Limits(upper=1.0)),
    ],
)
def test_partial_limits(attributes, expected):
    assert joint_of(with_joint(f"<limit {attributes}/>")).limits == expected


def test_mimic_is_read_with_defaults():
    other = '<joint name="other" type="revolute"><parent link="b"/><child link="c"/>'
    full = '<mimic joint="elbow" multiplier="-2" offset="0.5"/></joint>'
    text = with_joint("").replace("</robot>", "{}</robot>")
    assert read_whole(text.format(other + full)).joints[1].mimic == Mimic("elbow", -2, 0.5)
    bare = '<mimic joint="elbow"/></joint>'
    assert read_whole(text.format(other + bare)).joints[1].mimic == Mimic("elbow", 1, 0)


IGNORED = {
    "limits": (
        with_joint('<limit lower="-1" upper="1" velocity="2" effort="3"/>', "continuous"),
        {"limits": Limits(velocity=2, effort=3)},
        "lower and upper limits are ignored on a continuous joint",
    ),
    "unknown mimic": (
        with_joint('<mimic joint="ghost"/>'),
        {"mimic": None},
        "mimics unknown joint 'ghost', so it moves freely",
    ),
    "fixed mimic": (
        with_joint('<mimic joint="elbow"/>', "fixed"),
        {"mimic": None},
        "<mimic> is ignored on a fixed joint",
    ),
    "pitch": (
        with_joint('<pitch value="0.02"/>'),
        {"pitch": 0},
        "<pitch> is ignored on a revolute joint",
    ),
    "second axis": (
        with_joint('<axis xyz="0 0 1"/><axis xyz="0 1 0"/>'),
        {"axis": [0, 0, 1]},
        "has 2 <axis> tags; only the first is used",
    ),
}


@pytest.mark.parametrize(("text", "read", "note"), IGNORED.values(), ids=IGNORED)
def test_what_makes_no_sense_on_a_joint_is_ignored_with_a_note(text, read, note):
    description = read_whole(text)
    for name, value in read.items():
        assert np.array_equal(getattr(description.joints[0], name), value)
    assert description.notes == (f"joint 'elbow': {note}",)


def test_extension_types_are_read():
    assert joint_of(with_joint('<pitch value="0.02"/>', "helical")).pitch == 0.02
    for type in ("spherical", "translation", "euler_zyx", "euler_zxz", "planar", "floating"):
        assert joint_of(with_joint("", type)).type == type


def test_tags_of_other_programs_and_axes_of_fixed_joints_are_ignored_in_silence():
    others = "".join(f"<{tag}/>" for tag in ("gazebo", "transmission", "ros2_control", "material"))
    text = robot(f'<link name="a"><visual/><collision/></link>{others}')
    assert read_whole(text).notes == ()
    assert read_whole(with_joint('<axis xyz="0 0 0"/>', "fixed")).notes == ()


def test_unknown_tags_are_noted_once_with_their_number():
    text = robot('<link name="a"><glue/></link><link name="b"><glue/></link><wheel/>')
    assert set(read_whole(text).notes) == {
        "robot: unknown tag <glue> in <link> is ignored (2 times)",
        "robot: unknown tag <wheel> in <robot> is ignored (once)",
    }


def test_robot_without_a_name_is_noted():
    assert read_whole('<robot><link name="a"/></robot>').notes == ("robot: has no name",)


def test_default_namespace_changes_nothing():
    text = with_joint('<axis xyz="0 0 1"/>').replace("<robot", '<robot xmlns="http://ros.org"')
    assert joint_of(text).axis.tolist() == [0, 0, 1]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (with_joint('<origin xyz="1 2"/>'), "xyz has 2 numbers instead of 3: '1 2'"),
        (with_joint('<origin rpy="1 2 3 4"/>'), "rpy has 4 numbers instead of 3: '1 2 3 4'"),
        (with_joint('<axis xyz="up"/>'), "<axis>: xyz has 1 numbers instead of 3: 'up'"),
        (with_joint('<axis xyz="1 b 3"/>'), "<axis>: xyz is 'b', not a finite number"),
        (with_joint('<origin xyz="1 nan 3"/>'), "<origin>: xyz is 'nan', not a finite number"),
        (with_joint('<origin xyz="1 inf 3"/>'), "<origin>: xyz is 'inf', not a finite number"),
        (with_joint('<origin xyz="1 1e999 3"/>'), "xyz is '1e999', too large for a number"),
        (with_joint('<origin xyz="1 1_0 3"/>'), "xyz is '1_0', not a finite number"),
        (with_joint('<limit lower="low"/>'), "<limit>: lower is 'low', not a finite number"),
        (with_joint('<limit effort="nan"/>'), "<limit>: effort is 'nan', not a finite number"),
        (with_joint('<limit velocity=""/>'), "<limit>: velocity is '', not a finite number"),
        (with_joint('<dynamics damping="x"/>'), "<dynamics>: damping is 'x'"),
        (with_joint("<mimic/>"), "<mimic>: joint is missing"),
        (with_joint('<mimic joint="elbow" offset="?"/>'), "<mimic>: offset is '?'"),
        (with_joint("", "helical"), '<pitch value="…"> is missing'),
        (with_joint("<pitch/>", "helical"), "<pitch>: value is missing"),
        (with_joint("", "hinge"), "type 'hinge' is unknown; allowed: fixed, revolute,"),
        (with_joint('<origin quat_xyzw="0 0 0 0"/>'), "quat_xyzw '0 0 0 0' is not a unit"),
        (with_joint('<origin quat_xyzw="0 0 0 1" rpy="0 0 0"/>'), "both rpy and quat_xyzw"),
    ],
)
def test_fault_in_a_joint_is_named(text, expected):
    message = problem(text)
    assert message.startswith("joint 'elbow': ")
    assert expected in message


@pytest.mark.parametrize(
    ("inside", "expected"),
    [
        ('<inertia ixx="1" iyy="1" izz="1"/>', '<inertial>: <mass value="…"> is missing'),
        (MASS.replace('value="1"', ""), "<inertial>: <mass>: value is missing"),
        (
            MASS.replace("1", "heavy", 1),
            "<inertial>: <mass>: value is 'heavy', not a finite number",
        ),
        ('<mass value="1"/>', '<inertial>: <inertia ixx="…" iyy="…" izz="…"> is missing'),
        ('<mass value="1"/><inertia ixx="1" iyy="1"/>', "<inertial>: <inertia>: izz is missing"),
    ],
)
def test_fault_in_a_link_is_named(inside, expected):
    assert problem(with_link(f"<inertial>{inside}</inertial>")) == f"link 'arm': {expected}"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (robot("<link/>"), "link number 1: name is missing"),
        (robot('<link name=" "/>'), "link ' ': name is missing"),
        (robot(f'<joint type="fixed">{ENDS}</joint>'), "joint number 1: name is missing"),
        (robot(f'<joint name="j">{ENDS}</joint>'), "joint 'j': type is missing"),
        (
            robot('<joint name="j" type="fixed"><child link="b"/></joint>'),
            "joint 'j': <parent link=\"…\"> is missing",
        ),
        (
            robot('<joint name="j" type="fixed"><parent link="a"/><child/></joint>'),
            "joint 'j': <child>: link is missing",
        ),
    ],
)
def test_missing_name_type_or_end_is_named(text, expected):
    assert problem(text) == expected


@pytest.mark.parametrize("text", ["", "  \n "])
def test_empty_text_is_refused(text):
    assert problem(text) == "is empty"


def test_malformed_xml_names_line_and_column():
    message = problem('<robot name="r">\n<link name="a">\n</robot>')
    assert message == "malformed XML at line 3, column 2: mismatched tag"


def test_other_root_element_is_refused():
    assert "root element is <sdf>" in problem("<sdf/>")


BOMB = (
    '<!DOCTYPE robot [<!ENTITY a "ha"><!ENTITY b "&a;&a;&a;&a;">]>'
    '<robot name="&b;"><link name="a"/></robot>'
)
EXTERNAL = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/hostname">]><robot name="r">&x;</robot>'
DOCTYPE = '<!DOCTYPE robot SYSTEM "http://example.org/robot.dtd"><robot name="r"/>'


@pytest.mark.parametrize("text", [BOMB, EXTERNAL, DOCTYPE], ids=["bomb", "external", "doctype"])
def test_entities_and_document_types_are_refused(text):
    assert "which is unsafe" in problem(text)


@pytest.mark.parametrize(
    "text",
    [
        '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><xacro:arm/></robot>',
        '<robot name="r"><xacro:arm/></robot>',
        '<robot name="r"><link name="${prefix}arm"/></robot>',
    ],
    ids=["tag", "undeclared", "expression"],
)
def test_unexpanded_xacro_says_to_expand(text):
    assert "expand it with `xacro robot.urdf > out.urdf`" in problem(text)


def test_expanded_xacro_that_still_declares_the_namespace_is_read():
    text = '<robot name="r" xmlns:xacro="http://www.ros.org/wiki/xacro"><link name="a"/></robot>'
    assert read_whole(text).links[0].name == "a"


def test_file_is_read_with_its_path_as_source(tmp_path):
    path = tmp_path / "robot.urdf"
    path.write_bytes(b"\xef\xbb\xbf" + with_link("").encode())
    assert read_file(path).source == str(path)
    assert read_file(str(path)).links[0].name == "arm"


@pytest.mark.parametrize(
    ("make", "expected"),
    [
        (lambda path: None, "no such file"),
        (lambda path: path.mkdir(), "is a directory or device, not a file"),
        (lambda path: path.write_bytes(b"<robot>\xff"), "is not UTF-8 text: byte 0xff at 7"),
        (lambda path: path.write_bytes(b""), "is empty"),
    ],
    ids=["missing", "directory", "bytes", "empty"],
)
def test_unreadable_file_is_named(tmp_path: Path, make, expected):
    path = tmp_path / "robot.urdf"
    make(path)
    with pytest.raises(ModelError, match=r"robot\.urdf") as caught:
        read_file(path)
    assert caught.value.problems == (expected,)


def test_path_that_no_file_can_have_is_refused():
    with pytest.raises(ModelError, match="cannot be read"):
        read_file("robot\0.urdf")


def test_lone_surrogate_is_refused():
    assert "not valid Unicode" in problem('<robot name="\ud800"/>')
