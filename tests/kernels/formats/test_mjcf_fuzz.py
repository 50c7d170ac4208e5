"""Whatever is in an MJCF file, it gives a description or a `ModelError`."""

from __future__ import annotations

import random
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torqued.common.errors import ModelError
from torqued.kernels.model.checks import check
from torqued.kernels.model.description import Description

pytest.importorskip("mujoco")

from support.mjcf_agreement import read_here

JOINTS = """<mujoco><compiler angle="degree" eulerseq="zyx"/>
<option gravity="1 2 -9"><flag gravity="enable"/></option>
<default><joint armature=".1" damping=".2"/><default class="leg"><joint axis="0 1 0"/>
<geom type="capsule" size=".05"/></default></default><worldbody><site name="w" pos="1 0 0"/>
<body name="a" pos="1 2 3" childclass="leg"><joint name="a1" pos=".1 .2 .3" ref="20"/>
<joint name="a2" type="slide" ref=".3"/><joint name="a3" type="ball" pos="-.1 0 .3"/>
<geom type="box" size=".1 .2 .3"/><site name="s" pos=".1 .2 .3"/><replicate count="3" sep="-">
<body name="r"><joint name="rj"/><geom fromto="0 0 0 .1 0 .2"/></body></replicate>
<frame euler="0 10 0"><body name="b"><joint name="b" range="-30 60"/><geom type="mesh" mesh="none"/>
<inertial pos="0 .1 .2" mass="2" fullinertia=".1 .2 .15 .01 .02 .03"/>
<body name="c"><joint name="c" ref="10"/><geom fromto="0 0 0 .4 0 0"/></body></body></frame></body>
<body name="fr"><freejoint name="ff"/><geom size=".3" pos=".1 0 0" class="main"/></body></worldbody>
<asset><mesh name="none" file="none.stl"/></asset>
<equality><joint joint1="b" joint2="c" polycoef="0 2 0 0 0"/><weld site1="s" site2="w"/>
<connect body1="a" body2="fr" anchor="1 0 0"/></equality>
<tendon><fixed name="t"><joint joint="b" coef="1"/><joint joint="c" coef="2"/></fixed></tendon>
<actuator><motor joint="b" gear="-3" forcerange="-1 2"/><position tendon="t" kp="3"/>
<motor site="s" gear="0 0 1 0 0 0"/><general joint="c" dyntype="filter"/></actuator>
<keyframe><key name="home" qpos="0 0 1 0 0 0 0 0 0 0 0 0 0 0 1 0 0 0"/></keyframe></mujoco>"""
FILES = """<mujoco><compiler inertiafromgeom="true" balanceinertia="true" boundmass=".1"/>
<asset><mesh name="tet" vertex="0 0 0 1 0 0 0 1 0 0 0 1"/>
<mesh name="m" builtin="sphere" params="2"/><mesh file="box.obj"/>
<model name="sub" file="sub.xml"/></asset><worldbody><include file="part.xml"/>
<body name="m"><freejoint/><geom type="mesh" mesh="tet"/><geom type="mesh" mesh="box"/>
<body name="n"><joint type="ball"/><geom type="mesh" mesh="m"/>
<attach model="sub" prefix="q"/></body></body></worldbody>
<contact><exclude body1="m" body2="n"/></contact></mujoco>"""
BESIDE = {
    "box.obj": "v 0 0 0\nv 1 0 0\nv 0 1 0\nv 0 0 1\nf 1 3 2\nf 1 2 4\nf 1 4 3\nf 2 3 4\n",
    "sub.xml": '<mujoco><worldbody><body><joint/><geom size=".1"/></body></worldbody></mujoco>',
    "part.xml": '<x><body name="p"><joint name="pj" type="slide"/><geom size=".1"/></body></x>',
}
WORDS = """1e308 1e-320 nan inf -1 0 1 2 99999999 2147483648 1e9 true hinge ball free mesh sdf
box hfield a b world tet ../x /etc/passwd t s filter muscle é model flex flexcomp
attach key body geom"""
ELEMENT, NUMBER = re.compile(r"<\w[^<>]*/>"), re.compile(r"-?[0-9]*\.?[0-9]+")
VALUE, NAME = re.compile(r'(?<=")[^"]*(?=")'), re.compile(r"\b\w+(?==)")


def mutated(seed: int) -> str:
    """A file with one to three faults: of bytes, numbers, values, names, elements."""
    chance = random.Random(seed)
    text = chance.choice((JOINTS, FILES))
    for _ in range(chance.choice((1, 1, 2, 3))):
        what = chance.choice((ELEMENT, NUMBER, NUMBER, VALUE, NAME, None))
        if what is None:
            place = chance.randrange(len(text))
            flipped = chr(ord(text[place]) ^ 1 << chance.randrange(7))
            text = text[:place] + flipped + text[place + 1 :]
            continue
        found = chance.choice(list(what.finditer(text)) or [re.search("", text)])
        if what is ELEMENT:
            new, end = found[0] * chance.choice((0, 2, 3)), found.end()
        elif what is NAME:
            new, end = chance.choice(NAME.findall(JOINTS)), found.end()
        else:
            new, end = chance.choice(WORDS.split()), found.end()
        text = text[: found.start()] + new + text[end:]
    return text


@pytest.fixture(scope="module")
def load(tmp_path_factory):
    """Reads a text as a file; anything but two outcomes is an error of the reader."""
    folder = tmp_path_factory.mktemp("mjcf")
    for name, text in BESIDE.items():
        (folder / name).write_text(text)

    def load(data: bytes) -> Description | ModelError:
        (folder / "robot.xml").write_bytes(data)
        try:
            description = read_here(folder / "robot.xml")
            check(description, accept_unphysical=True)
        except ModelError as error:
            assert error.problems
            return error
        return description

    return load


@pytest.mark.parametrize("text", [JOINTS, FILES])
def test_the_texts_that_fuzzing_starts_from_are_sound(load, text):
    assert isinstance(load(text.encode()), Description)


def test_mutated_files_give_a_description_or_a_model_error(load):
    sound = [isinstance(load(mutated(seed).encode()), Description) for seed in range(400)]
    assert 0.1 < np.mean(sound) < 0.9


@given(st.one_of(st.binary(), st.text().map(str.encode)), st.integers(0, len(JOINTS)))
def test_any_bytes_in_a_file_give_a_description_or_a_model_error(load, data, place):
    load(JOINTS[:place].encode() + data + JOINTS[place:].encode())
