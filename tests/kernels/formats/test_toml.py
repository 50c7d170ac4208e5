"""Descriptions as TOML: read back to the bit, and faults are named."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import fields, is_dataclass, replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.random_trees import random_tree
from torqued.kernels import ModelError, Robot
from torqued.kernels.constraints.types import Loop
from torqued.kernels.contacts.types import Contact
from torqued.kernels.formats import toml_records
from torqued.kernels.formats.sources import read_whole
from torqued.kernels.formats.toml_records import toml_table
from torqued.kernels.formats.toml_writer import to_toml
from torqued.kernels.model.checks import check
from torqued.kernels.model.description import Description, Joint, Link, LockedJoint, Mimic
from torqued.kernels.model.families import family


def same(one, other) -> bool:
    """Equal, and numbers to the bit."""
    if isinstance(one, np.ndarray):
        return one.shape == other.shape and one.tobytes() == np.asarray(other, float).tobytes()
    if isinstance(one, float):
        return type(other) is float and np.float64(one).tobytes() == np.float64(other).tobytes()
    if is_dataclass(one):
        names = [field.name for field in fields(one) if field.name != "source"]
        pairs = [(getattr(one, name), getattr(other, name)) for name in names]
        return type(one) is type(other) and all(same(*pair) for pair in pairs)
    if isinstance(one, dict):
        return list(one) == list(other) and all(same(one[key], other[key]) for key in one)
    if isinstance(one, tuple):
        return len(one) == len(other) and all(map(same, one, other))
    return type(one) is type(other) and one == other


NUMBERS = st.floats(allow_nan=False, allow_infinity=False)
TRIPLES = st.tuples(NUMBERS, NUMBERS, NUMBERS)
NAMES = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=6)
POSES = st.just(tuple(map(tuple, np.eye(4).tolist())))
CONTACTS = st.builds(
    Contact,
    NAMES,
    st.sampled_from(["normal", "frame"]),
    TRIPLES,
    other=st.none() | NAMES,
    target=st.none() | TRIPLES | POSES,
    friction=st.none() | NUMBERS,
    half_size=st.none() | st.tuples(NUMBERS, NUMBERS),
)
LOOPS = st.builds(
    Loop,
    NAMES,
    held=st.none() | st.just(("rx", "z")),
    axis=TRIPLES | st.tuples(TRIPLES, TRIPLES, TRIPLES),
    damping=NUMBERS,
)


@st.composite
def descriptions(draw) -> Description:
    """Random trees, with compound joints and with everything else that a file may say."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    tree = random_tree(rng, draw(st.integers(1, 8)), mimics=True)
    motions = (("revolute", rng.normal(size=3)), ("prismatic", np.array([0.0, -0.0, 1e-310])))
    last = Joint("last", "generic", tree.links[0].name, "end", motions=motions)
    postures = st.dictionaries(NAMES, st.lists(NUMBERS, max_size=7).map(tuple), max_size=2)
    return replace(
        tree,
        name=draw(NAMES),
        links=(*tree.links, Link("end")),
        joints=(*tree.joints, last),
        notes=tuple(draw(st.lists(NAMES, max_size=2))),
        locked=(LockedJoint(draw(NAMES), "prismatic", draw(NUMBERS)),),
        base=draw(st.sampled_from([None, "fixed", "floating"])),
        gravity=draw(st.none() | TRIPLES),
        postures=draw(st.dictionaries(NAMES, postures, max_size=2)),
        constraints=draw(
            st.dictionaries(NAMES, st.lists(CONTACTS | LOOPS, max_size=2).map(tuple), max_size=2)
        ),
    )


@settings(max_examples=150)
@given(descriptions())
def test_description_is_read_back_to_the_bit(description):
    text = to_toml(description)
    read = read_whole(text, "robot.toml")
    assert same(read, description)
    assert read.source == "robot.toml"
    assert to_toml(read) == text


@pytest.mark.parametrize("links", [(), (Link("alone"),)])
def test_description_without_joints_is_read_back(links):
    alone = Description("", links, ())
    assert same(read_whole(to_toml(alone), "robot.toml"), alone)


def test_comparison_to_the_bit_finds_one_bit():
    chain = family("chain", 2)
    joint = replace(chain.joints[0], damping=np.nextafter(chain.joints[0].damping, 1.0).item())
    assert same(chain, chain)
    assert not same(chain, replace(chain, joints=(joint, *chain.joints[1:])))
    assert not same(chain, replace(chain, gravity=(0.0, 0.0, -0.0)))


LEGGED = replace(
    family("chain", 2),
    joints=tuple(
        replace(joint, mimic=Mimic("joint_1") if joint.name == "joint_2" else None)
        for joint in family("chain", 2).joints
    ),
    postures={"home": {"joint_1": (0.5,)}},
    constraints={"stance": (Contact("link_2"),)},
)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ('format = "description"', 'format = "urdf"', "key 'format' is 'urdf', expected 'descr"),
        ('name = "chain2"', 'title = "x"', "the file: key 'title' is unknown, allowed: base, co"),
        ('name = "link_1"', "", "link number 2: 'name' is missing"),
        ("mass = ", 'mass = "', "cannot be read as TOML"),
        ("{ mass = ", "{ weight = ", "link 'link_1': 'inertia': key 'weight' is unknown, allowed"),
        ("{ mass = ", "{ com = 3, mass = ", "cannot be read as TOML"),
        ('type = "revolute"', "type = 3", "joint 'joint_1': 'type' is 3, expected a text"),
        ("{ lower = ", "{ lower = nan, low = ", "'limits': 'lower' is nan, expected a finite"),
        ('{ joint = "joint_1" }', "3", "joint 'joint_2': 'mimic' is 3, expected a table"),
        ("home = { joint_1 = [0.5] }", "home = [1]", "postures: 'home' is [1], expected a table"),
        ("[0.5]", '["a"]', "'home': 'joint_1' is ['a'], expected a finite number"),
        ("com = [", 'com = ["1", ', "link 'link_1': 'inertia': 'com' is ['1', "),
        ("com = [", "com = [[1], ", "expected 3 finite numbers"),
        ('type = "contact"', 'type = "glue"', "with the type 'contact' or 'loop'"),
        ('frame = "link_2"', 'fram = "link_2"', "constraints: 'stance' number 1: key 'fram' is"),
        ("[[links]]", "[[locked]]\nname = 1\n[[links]]", "locked number 1: 'position' is missing"),
    ],
)
def test_faults_are_named(old, new, message):
    text = to_toml(LEGGED)
    assert old in text
    with pytest.raises(ModelError) as caught:
        read_whole(text.replace(old, new, 1), "robot.toml")
    assert message in str(caught.value)
    assert str(caught.value).startswith("robot.toml: ")


def test_keys_without_end_are_refused(monkeypatch):
    monkeypatch.setattr(toml_records, "CPU_SECONDS", 1)
    with pytest.raises(ModelError, match="cannot be read within 1 s of CPU time, 2048 MiB"):
        read_whole(f"a{'.a' * 100_000} = 1", "robot.toml")


def test_long_texts_are_parsed_as_short_ones_are():
    names = [f"arm.{k}" for k in range(2000)]
    text = f"names = {names}\ndate = 2020-01-02\nlimits = [inf, -inf, 0.1, {10**400}]\n"
    table = toml_table(text, "robot.toml")
    assert len(text) > toml_records.SHORT and table["names"] == names
    short = toml_table(text.partition("\n")[2], "robot.toml")
    assert {key: table[key] for key in short} == short
    assert short["limits"][:3] == [np.inf, -np.inf, 0.1]
    for fault in ("x = = 1\n", "x = " + "[" * 5000):
        with pytest.raises(ModelError, match="cannot be read as TOML: "):
            toml_table(fault + "# " + "x" * toml_records.SHORT, "robot.toml")


def test_files_without_end_are_refused_unread(tmp_path):
    with open(tmp_path / "robot.toml", "wb") as file:
        file.truncate(20 << 30)
    with pytest.raises(ModelError, match=r"has \d+ bytes, at most 10000000 are read"):
        Robot.load(tmp_path / "robot.toml")


def test_all_faults_come_in_one_report():
    text = to_toml(LEGGED).replace("mass = ", "mas = ").replace('type = "rev', 'typ = "rev')
    with pytest.raises(ModelError) as caught:
        read_whole(text, "robot.toml")
    assert len(caught.value.problems) == 2 * 1 + 2 * 2


@settings(max_examples=200)
@given(st.data())
def test_damaged_texts_give_errors_of_torqued_only(data):
    text = to_toml(LEGGED)
    for _ in range(data.draw(st.integers(1, 3))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 12))
        text = text[:at] + data.draw(st.text(max_size=4)) + text[at + length :]
    with suppress(ModelError):
        check(read_whole(text, "robot.toml"))
