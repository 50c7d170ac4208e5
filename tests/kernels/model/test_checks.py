"""Every fault that makes a robot unusable, and every warning, provoked one by one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from support.model_cases import (
    LIMITS,
    NOTHING,
    SOLID,
    arm,
    joint,
    pair,
    problems,
    robot,
    rotational,
    three,
    warning,
)
from torqued.common.errors import ModelError
from torqued.kernels import Contact, Loop
from torqued.kernels.model.checks import MAX_DOFS, MAX_LINKS, check
from torqued.kernels.model.description import Limits, Link, Mimic, Pose


def test_sound_robot_has_no_warnings():
    assert check(arm(), strict=True) == ()


def test_robot_without_joints_is_sound():
    assert check(robot({"body": SOLID}), strict=True) == ()


def test_chain_longer_than_the_python_stack_is_checked():
    balanced = replace(SOLID, com=np.zeros(3))
    links = {str(n): balanced for n in range(MAX_DOFS + 1)}
    joints = [joint(f"j{n}", str(n), str(n + 1)) for n in range(MAX_DOFS)]
    assert check(robot(links, *joints)) == ()
    more = [*joints, joint("more", "0", "end")]
    with pytest.raises(ModelError, match="has 2001 degrees of freedom, at most 2000 are allowed"):
        check(robot({**links, "end": balanced}, *more))


def test_constraints_hold_frames_that_exist():
    held = {"grasp": (Contact("b"), Loop("c", "nope")), "stance": (Contact("b"),)}
    description = three(joint("elbow", "a", "b"), joint("wrist", "b", "c"))
    with pytest.raises(ModelError) as caught:
        check(replace(description, constraints=held))
    assert caught.value.problems == ("constraints 'grasp': frame 'nope' does not exist",)


def test_links_without_end_are_refused_at_once():
    links = {str(n): SOLID for n in range(MAX_LINKS + 1)}
    with pytest.raises(ModelError, match="has 10001 links, at most 10000 are allowed"):
        check(robot(links))


TREE_FAULTS = {
    "no links": (robot({}), "robot: has no links"),
    "same link": (
        replace(arm(), links=(*arm().links, Link("hand", SOLID))),
        "link 'hand': 2 links have this name",
    ),
    "same joint": (
        three(joint("elbow", "a", "b"), joint("elbow", "b", "c")),
        "joint 'elbow': 2 joints have this name",
    ),
    "parent": (
        three(joint("one", "a", "b"), joint("two", "x", "c")),
        "joint 'two': parent link 'x' does not exist",
    ),
    "child": (
        robot({"a": SOLID}, joint("one", "a", "x")),
        "joint 'one': child link 'x' does not exist",
    ),
    "two parents": (
        three(joint("one", "a", "b"), joint("two", "a", "c"), joint("three", "b", "c")),
        "link 'c': has 2 parents: 'a' by joint 'two', 'b' by joint 'three'",
    ),
    "two roots": (three(joint("one", "a", "b")), "robot: has 2 roots, expected one: 'a', 'c'"),
    "loop": (
        three(joint("one", "a", "b"), joint("two", "b", "c"), joint("three", "c", "a")),
        "robot: links form a loop: 'b' → 'c' → 'a' → 'b', and no link is the root",
    ),
    "loop beside a root": (
        three(joint("one", "b", "c"), joint("two", "c", "b")),
        "robot: links form a loop: 'c' → 'b' → 'c'",
    ),
    "own parent": (
        robot({"a": SOLID, "b": SOLID}, joint("one", "b", "b")),
        "robot: links form a loop: 'b' → 'b'",
    ),
}


@pytest.mark.parametrize(("description", "expected"), TREE_FAULTS.values(), ids=TREE_FAULTS)
def test_fault_of_the_tree_is_named(description, expected):
    assert problems(description) == (expected,)


NAN = math.nan
REFLECTION = Pose(np.diag([1.0, 1.0, -1.0]))
JOINT_FAULTS = {
    "type": ({"type": "hinge"}, "type 'hinge' is unknown; allowed: fixed, revolute,"),
    "axis zero": ({"axis": np.zeros(3)}, "axis is zero, but a revolute joint needs a direction"),
    "axis nan": ({"axis": np.array([NAN, 0, 0])}, "axis [nan, 0.0, 0.0] is not 3 finite"),
    "axis long": ({"axis": np.array([0.0, 0, 2])}, "axis [0.0, 0.0, 2.0] has length 2, not 1"),
    "pitch": ({"type": "helical", "pitch": NAN}, "pitch nan is not a finite number"),
    "limits": ({"limits": Limits(2.1, 1.9)}, "lower limit 2.1 is above upper limit 1.9"),
    "limit nan": ({"limits": Limits(NAN, 1.0)}, "limits nan to 1.0 are not numbers"),
    "velocity": ({"limits": replace(LIMITS, velocity=-1.0)}, "velocity limit -1.0 must be"),
    "effort": ({"limits": replace(LIMITS, effort=NAN)}, "effort limit nan must be"),
    "damping": ({"damping": -0.1}, "damping -0.1 must be finite and not negative"),
    "friction": ({"friction": math.inf}, "friction inf must be finite and not negative"),
    "armature": ({"armature": -1e-9}, "armature -1e-09 must be finite and not negative"),
    "position": ({"placement": Pose(position=np.array([0, NAN, 0]))}, "position [0.0, nan, 0.0]"),
    "far": ({"placement": Pose(position=np.array([0, 1e200, 0]))}, "finite numbers below 1e+30"),
    "rotation": ({"placement": Pose(2 * np.eye(3))}, "is not a rotation matrix"),
    "reflection": ({"placement": REFLECTION}, "placement is a reflection, not a rotation"),
}


@pytest.mark.parametrize(("changes", "expected"), JOINT_FAULTS.values(), ids=JOINT_FAULTS)
def test_fault_of_a_joint_is_named(changes, expected):
    changes = {"limits": Limits(velocity=2.0, effort=3.0), **changes}
    (sentence,) = problems(arm(**changes))
    assert sentence.startswith("joint 'elbow': ")
    assert expected in sentence


def test_joint_without_mass_is_reported_beside_wrong_limits():
    assert problems(arm(NOTHING, limits=Limits(2.1, 1.9, 1.0, 1.0), damping=-1.0)) == (
        "joint 'elbow': damping -1.0 must be finite and not negative",
        "joint 'elbow': lower limit 2.1 is above upper limit 1.9",
        "joint 'elbow': moves no mass: 'hand' and all that hangs from it have mass 0.0 and no "
        "inertia; give it inertia, armature, or a fixed joint",
    )


def test_axis_does_not_matter_where_it_is_not_used():
    for type in ("fixed", "spherical", "floating", "translation", "euler_zyx"):
        assert check(arm(type=type, axis=np.zeros(3))) == ()


MIMIC_FAULTS = {
    "unknown": (
        pair({}, {"mimic": Mimic("ghost")}),
        "joint 'two': mimics joint 'ghost', which does not exist",
    ),
    "itself": (pair({}, {"mimic": Mimic("two")}), "joint 'two': mimics itself"),
    "circle": (
        pair({"mimic": Mimic("two")}, {"mimic": Mimic("one")}),
        "joint 'one': mimic joints form a loop: 'one' → 'two' → 'one'",
    ),
    "of fixed": (
        pair({"type": "fixed"}, {"mimic": Mimic("one")}),
        "joint 'two': mimics 'one', a fixed joint; only revolute, continuous, prismatic, helical "
        "can be mimicked",
    ),
    "by spherical": (
        pair({}, {"type": "spherical", "mimic": Mimic("one")}),
        "joint 'two': spherical joints cannot mimic; revolute, continuous, prismatic, helical can",
    ),
    "multiplier": (
        pair({}, {"mimic": Mimic("one", multiplier=NAN)}),
        "joint 'two': mimic multiplier nan or offset 0.0 is not finite",
    ),
}


@pytest.mark.parametrize(("description", "expected"), MIMIC_FAULTS.values(), ids=MIMIC_FAULTS)
def test_fault_of_a_mimic_is_named(description, expected):
    assert problems(description) == (expected,)


def test_chain_of_mimics_is_sound():
    links = dict.fromkeys("abcd", SOLID)
    one = joint("one", "a", "b")
    two = joint("two", "b", "c", mimic=Mimic("one", -1.0))
    three = joint("three", "c", "d", mimic=Mimic("two", 0.5))
    assert check(robot(links, one, two, three), strict=True) == ()


WARNINGS = {
    "triangle": (
        arm(rotational(1.0, 2.0, 4.0)),
        "link 'hand': no body has the principal moments of inertia 1, 2, 4:",
    ),
    "rounding": (
        arm(rotational(1.0, 1.0, -1e-9)),
        "link 'hand': inertia has the eigenvalue -1e-09, negative within rounding",
    ),
    "no mass": (arm(replace(SOLID, mass=0.0)), "link 'hand': has rotational inertia but no mass"),
    "no limits": (
        arm(limits=Limits()),
        "joint 'elbow': revolute without a limit of position and velocity and effort",
    ),
    "no effort limit": (
        arm(type="prismatic", limits=replace(LIMITS, effort=math.inf)),
        "joint 'elbow': prismatic without a limit of effort",
    ),
    "zero effort": (arm(limits=replace(LIMITS, effort=0.0)), "joint 'elbow': effort limit is 0.0"),
    "zero velocity": (
        arm(limits=replace(LIMITS, velocity=0.0)),
        "joint 'elbow': velocity limit is 0.0",
    ),
    "locked": (
        arm(limits=replace(LIMITS, lower=0.5, upper=0.5)),
        "joint 'elbow': lower and upper limit are both 0.5: it may not move",
    ),
    "no pitch": (arm(type="helical"), "joint 'elbow': helical with pitch 0.0, so it only turns"),
    "still mimic": (
        pair({}, {"mimic": Mimic("one", 0.0, 0.3)}),
        "joint 'two': mimic multiplier is 0.0, so it stays at 0.3",
    ),
    "note": (replace(arm(), notes=("robot: has no name",)), "robot: has no name"),
}


@pytest.mark.parametrize(("description", "expected"), WARNINGS.values(), ids=WARNINGS)
def test_harmless_fault_is_a_warning_and_with_strict_a_fault(description, expected):
    assert warning(description).startswith(expected)


def test_flat_body_meets_the_triangle_inequality():
    assert check(arm(rotational(1.0, 2.0, 3.0)), strict=True) == ()


def test_inertia_of_rank_one_is_not_called_negative():
    """Its computed eigenvalues include tiny negative ones."""
    (sentence,) = check(arm(replace(SOLID, rotational=np.full((3, 3), 1e-6))))
    assert "principal moments of inertia 0, " in sentence
