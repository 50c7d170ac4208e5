"""MJCF files beside MuJoCo's own compilation of the same files."""

from __future__ import annotations

import math
import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from torqued.common.errors import ModelError
from torqued.kernels.formats.sources import read_file
from torqued.kernels.model.description import ROOT_JOINT, Description, Mimic

pytest.importorskip("mujoco")

import mujoco

from support.agreement import largest
from support.mjcf_agreement import difference, read_here, relative, robot_of

#: Relative to each quantity's size.
AGREES = 1e-9

BOX = '<geom type="box" size=".1 .2 .3" pos=".1 .1 .1"/>'
INERTIAL = '<inertial pos="0 .1 .2" mass="2" fullinertia=".1 .2 .15 .01 .02 .03"/>'
LINK = f'<body name="{{0}}" pos=".3 .1 0"><joint name="{{0}}" axis="0 1 {{1}}"/>{BOX}{{2}}</body>'
TWO = LINK.format("one", 1, LINK.format("two", 0, '<site name="tip" pos="0 .1 .2"/>'))


def model(bodies: str, head: str = "", tail: str = "") -> str:
    return f'<mujoco model="m">{head}<worldbody>{bodies}</worldbody>{tail}</mujoco>'


SEVERAL = f"""
<body name="a" pos="1 2 3" euler="10 20 30">
  <joint name="turn" axis="1 2 3" pos=".1 .2 .3" ref="20" armature=".2"/>
  <joint name="slide" type="slide" axis="1 0 3" ref=".3" damping="3"/>
  <joint name="ball" type="ball" pos="-.1 0 .3" frictionloss=".4"/>
  {BOX}<site name="s" pos=".1 .2 .3" euler="1 50 3"/>
  <body pos="0 1 0" euler="3 2 1"><geom size=".1"/></body>
  <body name="b">
    <joint axis="0 0 1" pos="0 .1 0"/><joint axis="1 0 0" pos="0 .1 0"/>{INERTIAL}</body>
</body>"""
FLOATING = f'<body name="base" pos="0 0 1" euler="0 40 0"><freejoint name="free"/>{BOX}{TWO}</body>'
THROWN = f'<body name="ball"><freejoint/><geom size=".1" pos=".1 0 .05"/></body>{TWO}'
CLASSES = """
<default><joint armature=".1"/><geom density="700"/><default class="leg">
  <joint axis="0 1 0" pos="0 0 .1"/><geom type="capsule" size=".05 .1"/></default></default>"""
LEGS = """
<body childclass="leg"><joint/><geom/>
  <frame euler="0 90 0" pos="1 0 0"><frame pos="0 1 0"><body pos="0 0 1"><joint/><geom class="main"
    type="ellipsoid" size=".1 .2 .1"/></body></frame></frame>
</body>"""
SPREAD = f'<replicate count="3" euler="0 0 .5" offset=".1 0 0" sep="-">{TWO}</replicate>'
TETRAHEDRON = '<asset><mesh name="t" vertex="0 0 0 1 0 0 0 1 0 0 0 1" scale=".1 .2 .3"/></asset>'
MESHED = '<body><joint axis="1 1 0"/><geom type="mesh" mesh="t" pos=".1 0 0" euler="1 2 3"/></body>'
FITTED = '<body><joint axis="1 1 0"/><geom type="capsule" mesh="t"/></body>'
MOTORS = '<actuator><motor joint="one" gear="3" armature=".2" damping=".1"/></actuator>'

CASES = {
    "several joints in a body": model(SEVERAL, '<compiler angle="degree"/>'),
    "euler angles of another order": model(SEVERAL, '<compiler angle="degree" eulerseq="ZyX"/>'),
    "a floating base": model(FLOATING),
    "a floating base with aligned inertia": model(FLOATING, '<compiler alignfree="true"/>'),
    "a free body beside an arm": model(THROWN),
    "free bodies in a row": model(THROWN + THROWN.replace("one", "x").replace("two", "y")
                                  .replace('"ball"', '"z"').replace("tip", "w")),
    "classes, frames": model(LEGS, CLASSES),
    "replicas": model(SPREAD),
    "a mesh": model(MESHED, TETRAHEDRON),
    "a primitive fitted to a mesh": model(FITTED, TETRAHEDRON),
    "a built-in mesh": model(MESHED, '<asset><mesh name="t" builtin="sphere" params="1"/></asset>'),
    "gravity": model(TWO, '<option gravity="1 2 3"/>'),
    "no gravity": model(TWO, '<option><flag gravity="disable"/></option>'),
    "total mass": model(TWO, '<compiler settotalmass="7"/>'),
    "least masses": model(TWO, '<compiler boundmass="9" boundinertia="3"/>'),
    "balanced inertia": model(
        f'<body><joint/><inertial pos="0 0 0" mass="1" diaginertia="1 2 9"/></body>{TWO}',
        '<compiler balanceinertia="true"/>',
    ),
    "inertia of geoms first": model(
        SEVERAL.replace(INERTIAL, INERTIAL + BOX), '<compiler inertiafromgeom="true"/>'
    ),
    "inertia of some groups": model(
        TWO.replace("<geom", '<geom group="1" mass="5" size="1"/><geom', 1),
        '<compiler inertiagrouprange="0 0"/>',
    ).replace('<geom group="1"', '<geom group="1" type="sphere"'),
    "fused bodies": model(SEVERAL, '<compiler fusestatic="true"/>'),
    "an actuator's rotor": model(TWO, tail=MOTORS),
    "a mocap body": model(f'<body mocap="true" name="m" pos="1 0 0">{BOX}</body>{TWO}'),
}  # fmt: skip


@pytest.mark.parametrize("name", CASES)
def test_dynamics_equal_mujocos(name):
    assert difference(read_here(CASES[name]), mujoco.MjModel.from_xml_string(CASES[name])) < AGREES


def test_differences_are_found():
    """Of the comparison itself: another file is not the same robot."""
    other = mujoco.MjModel.from_xml_string(CASES["gravity"].replace("-.1", ".1"))
    assert difference(read_here(CASES["no gravity"]), other) > 0.01
    heavier = CASES["gravity"].replace('size=".1 .2 .3"', 'size=".1 .2 .31"', 1)
    assert difference(read_here(heavier), other) > AGREES


def test_base_floats_where_one_free_body_carries_all_that_moves():
    floating = read_here(model(f'<body name="table">{BOX}</body>{FLOATING}<site name="origin"/>'))
    assert (floating.base, floating.links[0].name) == ("floating", "base")
    assert "body 'table': does not move" in "".join(floating.notes)
    assert "site 'origin': does not move" in "".join(floating.notes)
    for text in (CASES["a free body beside an arm"], model(TWO)):
        assert (read_here(text).base, read_here(text).links[0].name) == ("fixed", "world")


def test_helper_links_stand_only_where_a_joint_does_not_go_through_the_origin():
    names = [link.name for link in read_here(CASES["several joints in a body"]).links]
    assert [name for name in names if name.endswith("_link")] == [
        "turn_link", "slide_link", "ball_link", "joint3_link", "joint4_link"
    ]  # fmt: skip
    along = model(TWO.replace('axis="0 1 0"', 'axis="0 1 0" pos="0 .4 0"'))
    assert [link.name for link in read_here(along).links] == ["world", "one", "two", "tip"]


def test_names_that_clash_or_lack_are_made():
    text = model(
        f'<body><joint/>{BOX}<site name="body2"/><site name="s"/>'
        f'<body name="s"><joint name="joint0"/>{BOX}</body><body>{BOX}</body></body>'
    )
    description = read_here(text)
    names = [link.name for link in description.links]
    assert names == ["world", "body1", "s", "body3", "body2", "s_site"]
    assert len({joint.name for joint in description.joints}) == len(description.joints)
    assert any("'s': has the name of a body" in note for note in description.notes)
    robot_of(description)


def test_keyframes_are_postures_with_quaternions_x_y_z_w():
    key = '<keyframe><key name="home" qpos="1 2 3 0 0 .6 .8 4 5"/><key/></keyframe>'
    postures = read_here(model(FLOATING, tail=key)).postures
    assert list(postures) == ["home", "key1"]
    home = {ROOT_JOINT: (1.0, 2.0, 3.0, 0.0, 0.6, 0.8, 0.0), "one": (4.0,), "two": (5.0,)}
    assert postures["home"] == home
    in_tree = read_here(model(THROWN, tail=key)).postures["home"]
    assert in_tree == {"joint0": home[ROOT_JOINT], "one": (4.0,), "two": (5.0,)}


DRIVES = [
    ('<motor joint="one" gear="-3" forcerange="-1 2"/>', 3.0),
    ('<motor joint="one" gear="2" ctrlrange="-4 4"/>', 8.0),
    ('<general joint="one" gainprm="5" ctrlrange="-2 3"/>', 10.0),
    ('<motor joint="one" forcerange="-1 1"/><motor joint="one" forcerange="-2 2"/>', 3.0),
    ('<position joint="one" kp="5" ctrlrange="-1 1"/>', math.inf),
    ('<position joint="one" kp="5" forcerange="-6 6"/>', 6.0),
    ('<motor joint="one"/>', math.inf),
    ('<motor joint="two" ctrlrange="-1 1"/>', 0.0),
    ('<motor tendon="t"/>', math.inf),
    ('<motor site="tip" gear="0 0 1 0 0 0"/>', math.inf),
    ("", math.inf),
]


@pytest.mark.parametrize("drive, effort", DRIVES)
def test_efforts_are_those_of_actuators(drive, effort):
    tendon = '<tendon><fixed name="t"><joint joint="one" coef="2"/></fixed></tendon>'
    text = model(TWO, tail=f"{tendon}<actuator>{drive}</actuator>")
    assert joint(read_here(text), "one").limits.effort == effort
    capped = text.replace('<joint name="one"', '<joint name="one" actuatorfrcrange="-2.5 2.5"')
    driven = min(effort, 2.5) if drive else math.inf
    assert joint(read_here(capped), "one").limits.effort == driven


def joint(description: Description, name: str):
    return next(joint for joint in description.joints if joint.name == name)


def test_actuators_of_plugins_drive_joints():
    plugin = '<extension><plugin plugin="mujoco.pid"><instance name="x"/></plugin></extension>'
    pid = '<plugin joint="one" plugin="mujoco.pid" instance="x" actdim="2" forcerange="-2 2"/>'
    keys = '<keyframe><key name="home" qpos="1 2" act="3 4" ctrl="5"/></keyframe>'
    arm = read_here(model(TWO, plugin, f"<actuator>{pid}</actuator>{keys}"))
    assert joint(arm, "one").limits.effort == 2.0
    assert "actuator 'actuator0': its gains and dynamics are not used" in arm.notes
    assert arm.postures["home"] == {"one": (1.0,), "two": (2.0,)}


def test_joints_without_an_actuator_are_named_once():
    arm = read_here(model(TWO, tail='<actuator><motor joint="one" ctrlrange="-1 2"/></actuator>'))
    assert joint(arm, "two").limits.effort == 0.0
    assert "joint 'two': no actuator drives it, so its effort limit is 0" in arm.notes
    assert "joint 'one': its efforts differ by direction; the limit is the smaller one" in arm.notes


def test_free_objects_have_no_motors():
    thrown = model(THROWN, tail='<actuator><motor joint="one"/></actuator>')
    assert joint(read_here(thrown), "joint0").limits.effort == 0.0
    assert joint(read_here(model(THROWN)), "joint0").limits.effort == math.inf


def test_what_drives_a_follower_drives_its_leader():
    pair = '<joint joint1="{}" joint2="{}" polycoef="0 {} 0 0 0"/>'
    pairs = pair.format("three", "two", -3) + pair.format("two", "one", 2)
    bodies = TWO + LINK.format("three", 0, "")
    motor = '<motor joint="three" forcerange="-1 1"/>'
    text = model(bodies, tail=f"<equality>{pairs}</equality><actuator>{motor}</actuator>")
    assert joint(read_here(text), "one").limits.effort == 6.0


def test_losses_and_limits_are_the_joints():
    arm = read_here(CASES["several joints in a body"])
    assert joint(arm, "turn").armature == 0.2 and joint(arm, "slide").damping == 3.0
    assert joint(arm, "ball").friction == 0.4 and joint(arm, "turn").type == "continuous"
    rotor = joint(read_here(CASES["an actuator's rotor"]), "one")
    assert rotor.armature == pytest.approx(1.8) and rotor.damping == pytest.approx(0.9)
    bent = model(TWO, '<compiler angle="degree"/><default><joint range="-90 45"/></default>')
    limits = joint(read_here(bent), "one").limits
    assert (limits.lower, limits.upper) == pytest.approx((-math.pi / 2, math.pi / 4))


@pytest.mark.parametrize("beside", ["", TWO.replace("one", "x").replace("two", "y")])
def test_armature_of_a_free_joint_is_noted_and_all_that_m_lacks(beside):
    text = model(
        FLOATING.replace("<freejoint", '<joint type="free" armature=".5" damping="1"')
        + beside.replace("tip", "z")
    )
    description, compiled = read_here(text), mujoco.MjModel.from_xml_string(text)
    assert any("'free': is free: its armature" in note for note in description.notes)
    view, data = robot_of(description).in_coordinates("mujoco"), mujoco.MjData(compiled)
    mujoco.mj_forward(compiled, data)
    M = np.zeros((compiled.nv, compiled.nv))
    mujoco.mj_fullM(compiled, data, M)
    M -= np.diag(np.arange(compiled.nv) < 6) * 0.5
    assert relative(view.mass_matrix(data.qpos.copy()), M) < AGREES


def test_linear_couplings_follow_from_deviations():
    bodies = TWO.replace('name="one" axis', 'name="one" ref=".3" axis')
    bodies = bodies.replace('name="two" axis', 'name="two" ref="-.2" axis')
    pair = '<equality><joint joint1="one" joint2="two" polycoef=".1 2 0 0 0"/></equality>'
    text = model(bodies, tail=pair)
    mimic = joint(read_here(text), "one").mimic
    assert isinstance(mimic, Mimic) and (mimic.joint, mimic.multiplier) == ("two", 2.0)
    compiled = mujoco.MjModel.from_xml_string(text)
    data = mujoco.MjData(compiled)
    data.qpos[:] = mimic.multiplier * 0.7 + mimic.offset, 0.7
    mujoco.mj_forward(compiled, data)
    assert data.nefc == 1 and abs(data.efc_pos[0]) < 1e-12
    assert robot_of(read_here(text), mimic="follow").nv == 1


@pytest.mark.parametrize(
    "pairs, note",
    [
        ('<joint joint1="one" joint2="two" polycoef="0 1 2 0 0"/>', "is not linear"),
        ('<joint joint1="one"/>', "holds a joint still"),
        ('<joint joint1="one" joint2="two" active="false"/>', "is not active"),
        ('<joint joint1="two" joint2="one"/><joint joint1="one" joint2="two"/>', "closes a circle"),
        ('<joint joint1="two" joint2="one"/><joint joint1="two" joint2="one"/>', "follows another"),
        ('<weld body1="m" body2="n"/>', "holds what stands still"),
    ],
)
def test_couplings_without_a_counterpart_are_noted(pairs, note):
    rest = f'<body name="m">{BOX}</body><body name="n">{BOX}</body>'
    description = read_here(model(rest + TWO, tail=f"<equality>{pairs}</equality>"))
    assert any(line.startswith("equality ") and note in line for line in description.notes)
    robot_of(description, mimic="follow")


HOLDS = [
    '<connect body1="two" body2="other" anchor=".1 .2 .3"/>',
    '<connect body1="two" anchor=".1 .2 .3"/>',
    '<connect site1="tip" site2="mark"/>',
    '<weld body1="two" body2="other" anchor=".1 .2 .3" relpose=".1 .2 0 .5 .5 .5 .5"/>',
    '<weld body1="two" anchor=".1 .2 .3"/>',
    '<weld body1="table" body2="two"/>',
    '<weld site1="mark" site2="tip"/>',
]


@pytest.mark.parametrize("hold", HOLDS)
@pytest.mark.parametrize("base", ["", "<freejoint/>"])
def test_connections_have_mujocos_errors(hold, base):
    """Positions alike at any q; turns vanish together."""
    bodies = (
        f'<body name="table" pos="1 0 0" euler="0 0 1">{BOX}</body><site name="mark" pos="0 1 0"/>'
        f'<body name="other">{base}{BOX}{TWO}</body>'
    )
    text = model(bodies, tail=f"<equality>{hold}</equality>")
    description, compiled = read_here(text), mujoco.MjModel.from_xml_string(text)
    (loop,) = description.constraints["equality0"]
    view, data = robot_of(description).in_coordinates("mujoco"), mujoco.MjData(compiled)
    rng = np.random.default_rng(0)
    for k in range(3):
        if k:  # at the file's own posture first, where MuJoCo's relative poses are taken
            mujoco.mj_integratePos(compiled, data.qpos, rng.normal(size=compiled.nv), 1.0)
        mujoco.mj_forward(compiled, data)
        q, v = data.qpos.copy(), np.zeros(compiled.nv)
        errors = view.constraint_terms(q, v, [loop]).position
        expected = data.efc_pos[: data.ne]
        assert len(errors) == len(expected)
        assert math.isclose(
            np.linalg.norm(errors[-3:]), np.linalg.norm(expected[:3]), abs_tol=1e-12
        )
        if len(expected) == 6:
            assert (largest(errors[:3]) < 1e-9) == (largest(expected[3:]) < 1e-9)


def test_what_is_not_read_is_named():
    text = model(
        TWO.replace("<joint", '<joint stiffness="3"', 1).replace("<body", '<body gravcomp="1"', 1),
        '<option density="1"/><extension/>',
        '<tendon><fixed name="t" armature=".1"><joint joint="one" coef="1"/></fixed></tendon>'
        '<sensor><jointpos joint="one"/></sensor><contact/>',
    )
    notes = "\n".join(read_here(text).notes)
    for words in (
        "joint 'one': its spring is not read",
        "body 'one': its gravity compensation is not read",
        "tendon 't': has an armature",
        "forces of a fluid",
        "<contact>, <extension>, <sensor>: not read",
    ):
        assert words in notes
    many = model(
        SPREAD.replace('count="3"', 'count="20"').replace("<joint", '<joint stiffness="1"')
    )
    assert " … and 32 more: its spring is not read" in "\n".join(read_here(many).notes)


MENAGERIE = os.environ.get("TORQUED_MENAGERIE", "")


@pytest.mark.skipif(not MENAGERIE, reason="TORQUED_MENAGERIE does not name MuJoCo's menagerie")
def test_robots_of_the_menagerie_agree_or_are_refused_as_by_mujoco():
    for path in sorted(Path(MENAGERIE).glob("*/*.xml")):
        try:
            expected = mujoco.MjModel.from_xml_path(str(path))
        except ValueError:
            continue  # a part of another file, or one whose meshes are not there
        assert difference(read_file(path), expected, states=1) < AGREES, path


def test_a_description_is_refused_when_its_numbers_are_none():
    broken = replace(read_here(model(TWO.replace('pos=".3 .1 0"', 'pos=".3 nan 0"', 1))))
    with pytest.raises(ModelError, match="joint 'one'"):
        robot_of(broken)
