"""Legs as they are found in a description."""

import pytest

from support.walkers import walker
from torqued.tools.demos.generalize_robots import load
from torqued.tools.demos.generalize_stance import stance_of


@pytest.mark.parametrize("waist", [False, True])
def test_legs_end_at_the_foot_and_begin_below_joints_that_both_have(waist):
    """Also where the foot begins at the same place as the ankle."""
    description = walker(waist)
    robot = load(description, "floating")
    legs = stance_of(robot, description, flat=True).legs
    assert [leg.frame for leg in legs] == ["left_foot", "right_foot"]
    assert [leg.hip for leg in legs] == ["left_hip", "right_hip"]
    first = 6 + waist
    assert [leg.joints for leg in legs] == [
        tuple(range(first, first + 6)),
        tuple(range(first + 6, first + 12)),
    ]
