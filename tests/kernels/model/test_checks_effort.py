"""Effort limits that limit nothing are told of, those of real arms are not."""

from dataclasses import replace

import pytest

from torqued.kernels.formats.sources import read_file
from torqued.kernels.model.catalog import find_file
from torqued.kernels.model.checks import check
from torqued.kernels.model.families import family


def told(description):
    return [warning for warning in check(description) if "it has no effect" in warning]


@pytest.mark.parametrize(("name", "joints"), [("solo12", 12), ("finger_edu", 3), ("baxter", 1)])
def test_efforts_of_a_simulator_are_told_of(name, joints):
    assert len(told(read_file(find_file(name)))) == joints


@pytest.mark.parametrize("name", ["panda", "ur10", "ur3", "talos_left_arm", "tiago", "xarm7"])
def test_efforts_of_motors_are_not(name):
    assert not told(read_file(find_file(name)))


def test_limit_counts_by_what_the_whole_robot_needs():
    description = family("chain", 4, 0)
    joint = description.joints[-1]
    strong = replace(joint, limits=replace(joint.limits, effort=1e6))
    changed = replace(description, joints=(*description.joints[:-1], strong))
    (warning,) = told(changed)
    assert repr(joint.name) in warning and "1e+06" in warning
    assert not told(description)
