"""Masses that no matter could have, and joints that move none, provoked one by one."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest

from support.model_cases import (
    NOTHING,
    SOLID,
    arm,
    joint,
    pair,
    problems,
    robot,
    rotational,
    warning,
)
from torqued.common.errors import ModelError
from torqued.kernels.model.checks import check
from torqued.kernels.model.description import Description, Inertia, Limits, Link, Mimic

NAN = math.nan
LINK_FAULTS = {
    "negative mass": (replace(SOLID, mass=-2.0), "mass -2.0 must be from 0 to 1e+30"),
    "mass nan": (replace(SOLID, mass=NAN), "mass nan must be"),
    "mass huge": (replace(SOLID, mass=1e200), "mass 1e+200 must be"),
    "com": (replace(SOLID, com=np.array([0, 0, math.inf])), "center of mass [0.0, 0.0, inf] is"),
    "com shape": (replace(SOLID, com=np.zeros(2)), "center of mass [0.0, 0.0] is not 3"),
    "inertia nan": (rotational(NAN, 1, 1), "is not 3 x 3 finite numbers"),
    "inertia shape": (replace(SOLID, rotational=np.zeros((2, 2))), "is not 3 x 3 finite numbers"),
    "asymmetric": (
        replace(SOLID, rotational=np.eye(3) + np.eye(3, k=1)),
        "inertia [[1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.0, 0.0, 1.0]] is not symmetric",
    ),
    "indefinite": (rotational(1, -0.25, 1), "inertia has the negative eigenvalue -0.25"),
}


@pytest.mark.parametrize(("inertia", "expected"), LINK_FAULTS.values(), ids=LINK_FAULTS)
def test_fault_of_a_link_is_named(inertia, expected):
    (sentence,) = problems(arm(inertia))
    assert sentence.startswith("link 'hand': ")
    assert expected in sentence


def test_negative_eigenvalue_of_an_off_diagonal_inertia_is_named():
    inertia = np.eye(3)
    inertia[0, 1] = inertia[1, 0] = 3.0
    (sentence,) = problems(arm(replace(SOLID, rotational=inertia)))
    assert sentence == "link 'hand': inertia has the negative eigenvalue -2"


def test_negative_eigenvalue_is_harmless_where_fixed_links_make_up_for_it():
    antenna = Inertia(1e-6, np.zeros(3), np.diag([1e-8, 1e-8, -1e-8]))
    description = robot(
        {"base": SOLID, "hand": SOLID, "antenna": antenna},
        joint("elbow", "base", "hand"),
        joint("glue", "hand", "antenna", "fixed"),
    )
    expected = "inertia has the negative eigenvalue -1e-08; the links fixed to it compensate"
    assert warning(description).startswith(f"link 'antenna': {expected}")


MASSLESS = {
    "nothing": (arm(NOTHING), "moves no mass: 'hand' and all that hangs from it have mass 0.0"),
    "prismatic": (arm(replace(SOLID, mass=0.0), type="prismatic"), "of mass 0, has none about it"),
    "point mass on the axis": (
        arm(Inertia(2.0, np.array([0.3, 0, 0]))),
        "moves no inertia: 'hand', of mass 2, has none about it",
    ),
    "rod in a ball": (
        arm(Inertia(2.0, np.array([0, 0, 0.3])), type="spherical"),
        "moves no inertia: 'hand', of mass 2, has none about it",
    ),
    "point that floats": (
        arm(Inertia(2.0, np.array([0.1, 0.2, 0.3])), type="floating"),
        "moves no inertia: 'hand'",
    ),
    "point in a plane": (
        arm(Inertia(2.0, np.array([0.1, 0.2, 0.3])), type="planar"),
        "moves no inertia: 'hand'",
    ),
}


@pytest.mark.parametrize(("description", "expected"), MASSLESS.values(), ids=MASSLESS)
def test_joint_that_moves_no_inertia_is_refused_unless_accepted(description, expected):
    found = [sentence for sentence in problems(description) if "moves no" in sentence]
    assert len(found) == 1
    assert found[0].startswith("joint 'elbow': ")
    assert expected in found[0]
    assert found[0] in check(description, accept_unphysical=True)
    with pytest.raises(ModelError):
        check(description, strict=True, accept_unphysical=True)


def test_indefinite_inertia_can_be_accepted():
    (sentence,) = check(arm(rotational(1, -0.25, 1)), accept_unphysical=True)
    assert sentence == "link 'hand': inertia has the negative eigenvalue -0.25"


def test_accepting_the_unphysical_leaves_other_faults():
    with pytest.raises(ModelError, match="lower limit"):
        check(arm(NOTHING, limits=Limits(2.0, 1.0)), accept_unphysical=True)


@pytest.mark.parametrize("type", ["revolute", "helical", "prismatic"])
def test_armature_gives_a_massless_link_its_inertia(type):
    assert check(arm(NOTHING, type=type, armature=0.01, pitch=0.1)) == ()


def test_point_mass_beside_the_axis_is_inertia_enough():
    assert check(arm(Inertia(2.0, np.array([0, 0.3, 0])))) == ()


def test_point_mass_on_a_helical_axis_is_inertia_enough():
    assert check(arm(Inertia(2.0), type="helical", pitch=0.1)) == ()


def test_massless_link_is_sound_where_the_next_has_mass():
    description = pair({}, {})
    links = (Link("a", SOLID), Link("b", NOTHING), Link("c", SOLID))
    assert check(replace(description, links=links), strict=True) == ()


def test_massless_link_is_sound_where_a_fixed_one_has_mass():
    description = pair({}, {"type": "fixed"})
    links = (Link("a", SOLID), Link("b", NOTHING), Link("c", SOLID))
    assert check(replace(description, links=links), strict=True) == ()


def hands(leader: Inertia, follower: Inertia, multiplier: float = 1.0) -> Description:
    return robot(
        {"base": SOLID, "left": leader, "right": follower},
        joint("lead", "base", "left"),
        joint("follow", "base", "right", mimic=Mimic("lead", multiplier)),
    )


def test_massless_follower_is_sound_and_massless_leader_too_while_one_of_them_has_mass():
    assert check(hands(SOLID, NOTHING), strict=True) == ()
    assert check(hands(NOTHING, SOLID), strict=True) == ()


def test_leader_and_followers_without_mass_are_one_fault_of_the_leader():
    (sentence,) = problems(hands(NOTHING, NOTHING))
    assert sentence.startswith("joint 'lead': moves no mass")


def test_follower_that_stands_still_moves_no_mass_for_its_leader():
    found = problems(hands(NOTHING, SOLID, multiplier=0.0))
    assert found[0].startswith("joint 'lead': moves no mass")


def test_no_inertia_at_zero_only_is_a_warning():
    """A massless shoulder whose point-mass hand lies on its axis until the elbow bends."""
    point = Inertia(1.0, np.array([0.5, 0.0, 0.0]))
    bends = joint("bend", "shoulder", "hand", axis=np.array([0.0, 0.0, 1.0]))
    description = robot(
        {"base": SOLID, "shoulder": NOTHING, "hand": point},
        joint("roll", "base", "shoulder"),
        bends,
    )
    expected = (
        "joint 'roll': 'shoulder' and all that hangs from it have no inertia about it at q = 0"
    )
    assert warning(description).startswith(expected)
