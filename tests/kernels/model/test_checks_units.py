"""Numbers in wrong units get a warning with the unit that they look like; real robots get none."""

import math

import numpy as np
import pytest

from support.model_cases import SOLID, arm, joint, robot, warning
from support.robots import robot_urdfs
from torqued.kernels import ModelError, ModelWarning, Robot
from torqued.kernels.formats.sources import read_file
from torqued.kernels.model.checks import check
from torqued.kernels.model.checks_units import MAX_ANGLE, MAX_DEGREES, MAX_GRAVITY, MAX_LENGTH
from torqued.kernels.model.description import Inertia, Limits, Pose


def moved(x: float) -> Pose:
    return Pose(position=np.array([x, 0.0, 0.0]))


def strong(lower: float, upper: float) -> Limits:
    return Limits(lower, upper, 2.0, 150.0)


CASES = {
    "long": (
        robot(
            {"base": SOLID, "forearm": SOLID, "hand": SOLID},
            joint("elbow", "base", "forearm"),
            joint("wrist", "forearm", "hand", placement=moved(400.0)),
        ),
        "link 'forearm': is 400 m long up to joint 'wrist': millimetres?",
    ),
    "center": (
        arm(Inertia(4.0, np.array([0.0, 200.0, 0.0]), np.eye(3))),
        "link 'hand': center of mass is 200 m from its origin: millimetres?",
    ),
    "degrees": (
        arm(limits=strong(-120.0, 120.0)),
        "joint 'elbow': limits are -120 to 120 rad: degrees?",
    ),
    "inertia": (
        arm(Inertia(4.0, np.zeros(3), np.diag([4e4, 4e4, 3e4]))),
        "link 'hand': inertia 40000 kg m² is that of 4 kg at a distance of 100 m: kg mm²?",
    ),
    "mass": (
        arm(Inertia(3000.0, np.array([0.5, 0.0, 0.0]), np.eye(3)), limits=Limits(-1, 1, 2, 80.0)),
        "joint 'elbow': carries 3000 kg, which need up to 1.47e+04 N m, "
        "with an effort limit of 80 N m: grams?",
    ),
    "sliding mass": (
        arm(Inertia(3000.0, np.zeros(3), np.eye(3)), type="prismatic", limits=Limits(0, 1, 2, 80)),
        "joint 'elbow': carries 3000 kg, which need up to 2.94e+04 N, "
        "with an effort limit of 80 N: grams?",
    ),
}


@pytest.mark.parametrize(("description", "expected"), CASES.values(), ids=CASES)
def test_number_is_named_with_the_unit_that_it_looks_like(description, expected):
    assert warning(description) == expected


FINE = {
    "long base": arm(placement=moved(10.0 * MAX_LENGTH)),
    "turns": arm(limits=strong(-MAX_ANGLE, MAX_ANGLE)),
    "no limit": arm(limits=strong(-1e16, 1e16)),
    "beyond degrees": arm(limits=strong(-2 * MAX_DEGREES, 2 * MAX_DEGREES)),
    "one-sided": arm(limits=strong(-math.inf, 1.0)),
    "elsewhere in the world": robot(
        {"world": Inertia(), "base": SOLID, "hand": SOLID},
        joint("place", "world", "base", "fixed", placement=moved(30.0)),
        joint("elbow", "base", "hand"),
    ),
}


@pytest.mark.parametrize("description", FINE.values(), ids=FINE)
def test_unusual_robot_in_the_right_units_has_no_warning(description):
    assert check(description) == ()


def test_of_masses_in_grams_the_joint_with_most_to_carry_is_named():
    links = {name: Inertia(2000.0, np.array([0.1, 0.0, 0.0]), np.eye(3)) for name in "abc"}
    limits = Limits(-1.0, 1.0, 2.0, 10.0)
    joints = [
        joint("one", "a", "b", limits=limits, placement=moved(0.3)),
        joint("two", "b", "c", limits=limits, placement=moved(0.3)),
    ]
    assert "joint 'one': carries 2000 kg" in warning(robot(links, *joints))


@pytest.mark.parametrize("name", ["chain", "tree", "biped", "quadruped"])
def test_families_are_in_the_right_units(name):
    assert Robot.family(name, 132).warnings == ()


@pytest.mark.parametrize("path", robot_urdfs(), ids=lambda path: path.stem)
def test_real_robots_are_in_the_right_units(path):
    try:
        warnings = check(read_file(path), accept_unphysical=True)
    except ModelError:
        pytest.skip("its faults are reported before units are looked at")
    assert not [sentence for sentence in warnings if sentence.endswith("?")]


def test_gravity_in_millimetres_is_warned_of():
    expected = r"gravity: is 9810 m/s²: mm/s²\?"
    with pytest.warns(ModelWarning, match=expected):
        fallen = Robot.from_description(arm(), gravity=(0.0, 0.0, -9810.0))
    assert fallen.warnings == ("gravity: is 9810 m/s²: mm/s²?",)
    with pytest.raises(ModelError, match=expected):
        Robot.from_description(arm(), gravity=(0.0, 0.0, -9810.0), strict=True)
    assert Robot.from_description(arm(), gravity=(0.0, MAX_GRAVITY, 0.0)).warnings == ()
