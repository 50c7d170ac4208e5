"""What a kind of file does not carry is said, and nothing else is lost."""

from __future__ import annotations

import warnings
from dataclasses import replace

import numpy as np
import pytest

from support.agreement import assert_agree, largest
from support.robots import random_motion
from torqued.kernels import ModelWarning, Robot
from torqued.kernels.contacts.types import Contact
from torqued.kernels.formats.sources import read_whole
from torqued.kernels.formats.writers import write
from torqued.kernels.model.catalog import describe
from torqued.kernels.model.description import Description, Inertia, Joint, Limits, Link

HEAVY = Inertia(1.0, np.array([0.1, 0.2, 0.0]), np.diag([0.1, 0.2, 0.2]))
HIP = Joint(
    "hip",
    "generic",
    "base",
    "leg",
    motions=(("revolute", np.eye(3)[1]), ("prismatic", np.eye(3)[2])),
)
KNEE = Joint("knee", "revolute", "leg", "foot", limits=Limits(velocity=2.0))
FULL = Description(
    "robot",
    (Link("base"), Link("leg", HEAVY), Link("foot", HEAVY)),
    (HIP, KNEE),
    base="floating",
    gravity=(0.0, 0.0, -1.62),
    postures={"home": {"knee": (0.1,)}},
    constraints={"stance": (Contact("foot"),)},
)


@pytest.mark.parametrize("kind", ["urdf", "screws", "toml"])
def test_compound_joints_are_the_same_robot_in_every_kind(kind):
    text, _ = write(FULL, kind)
    read = read_whole(text, "robot.urdf" if kind == "urdf" else "robot.toml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        one, other = (Robot.from_description(each, "fixed") for each in (FULL, read))
    assert one.joint_names == other.joint_names
    q = np.array([0.3, -0.2, 0.5])
    assert_agree(other.mass_matrix(q), one.mass_matrix(q), within=1e-12)


@pytest.mark.parametrize("kind", ["urdf", "screws", "toml"])
@pytest.mark.parametrize("name", ["panda", "talos", "icub", "pr2", "biped12"])
def test_real_robot_is_the_same_in_every_kind(name, kind):
    written = describe(name)
    text, _ = write(written, kind)
    read = read_whole(text, "robot.urdf" if kind == "urdf" else "robot.toml")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        one, other = (Robot.from_description(each, "floating") for each in (written, read))
    assert (one.joint_names, one.frame_names) == (other.joint_names, other.frame_names)
    for key, value in vars(one.limits).items():
        np.testing.assert_array_equal(value, getattr(other.limits, key))
    q, v, _ = random_motion(one)
    M = one.mass_matrix(q)
    assert_agree(other.mass_matrix(q), M, within=1e-12)
    assert_agree(other.bias(q, v), one.bias(q, v), within=1e-12, size=10.0 * largest(M))


@pytest.mark.parametrize(
    ("kind", "lost"),
    [
        ("toml", []),
        ("urdf", ["sets of constraints", "floating base", "gravity", "postures", "types"]),
        ("screws", ["sets of constraints", "floating base", "gravity", "postures"]),
        ("mjcf", ["sets of constraints", "speed limits"]),
    ],
)
def test_what_is_lost_is_named(kind, lost):
    _, notes = write(FULL, kind)
    notes = [note for note in notes if "kg" not in note]
    assert len(notes) == len(lost)
    assert all(
        note.startswith(f"{kind} has no {what}") for note, what in zip(notes, lost, strict=True)
    ), notes


def test_long_lists_are_shortened():
    postures = {f"p{k}": {} for k in range(10)}
    _, notes = write(replace(FULL, base=None, gravity=None, postures=postures), "urdf")
    assert notes[1] == "urdf has no postures: p0, p1, p2, p3, p4, p5 and 4 more"
