"""Descriptions written as URDF and read back."""

from __future__ import annotations

import math
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.random_trees import ALL_TYPES, random_tree
from torqued.kernels.formats.sources import read_whole
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.description import Description, Limits
from torqued.kernels.model.families import family

SEEDS = st.integers(0, 2**32)
BODIES = st.integers(1, 12)


def assert_same(actual: Description, expected: Description) -> None:
    """Equal numbers; rotations within rounding, because they pass through roll, pitch, yaw."""
    assert actual.name == expected.name
    assert [link.name for link in actual.links] == [link.name for link in expected.links]
    for ours, theirs in zip(actual.links, expected.links, strict=True):
        assert ours.inertia.mass == theirs.inertia.mass
        np.testing.assert_array_equal(ours.inertia.com, theirs.inertia.com)
        np.testing.assert_array_equal(ours.inertia.rotational, theirs.inertia.rotational)
    for one, other in zip(actual.joints, expected.joints, strict=True):
        for name in ("name", "type", "parent", "child", "pitch", "limits", "mimic"):
            assert getattr(one, name) == getattr(other, name)
        for name in ("damping", "friction", "armature"):
            assert getattr(one, name) == getattr(other, name)
        np.testing.assert_array_equal(one.axis, other.axis)
        np.testing.assert_array_equal(one.placement.position, other.placement.position)
        np.testing.assert_allclose(
            one.placement.rotation, other.placement.rotation, rtol=0, atol=2e-15
        )


@given(SEEDS, BODIES)
def test_random_tree_of_all_types_is_read_back_as_written(seed, bodies):
    written = random_tree(np.random.default_rng(seed), bodies, mimics=True)
    read = read_whole(to_urdf(written))
    assert_same(read, written)
    assert read.notes == ()


@pytest.mark.parametrize(
    "limits",
    [
        Limits(),
        Limits(upper=1.0),
        Limits(lower=0.0, velocity=2.0),
        Limits(-1.0, math.inf, effort=0.0),
    ],
)
def test_partial_limits_and_armature_are_read_back_as_written(limits):
    chain = family("chain", 1)
    joint = replace(chain.joints[0], limits=limits, armature=0.25)
    written = replace(chain, joints=(joint,))
    assert_same(read_whole(to_urdf(written)), written)


def test_other_programs_read_robots_whose_limits_are_unknown():
    """URDF's own parser, in Pinocchio, requires all limits as numbers, and losses beside rotors."""
    pinocchio = pytest.importorskip("pinocchio")
    chain = family("chain", 3)
    changes = ({"type": "continuous"}, {"limits": Limits(effort=7.0)}, {"limits": Limits(-1.0)})
    joints = [
        replace(joint, armature=0.25, **({"limits": Limits()} | change))
        for joint, change in zip(chain.joints, changes, strict=True)
    ]
    model = pinocchio.buildModelFromXML(to_urdf(replace(chain, joints=tuple(joints))))
    assert list(model.names)[1:] == [joint.name for joint in joints]
    assert model.effortLimit[1] == 7.0 and model.lowerPositionLimit[-1] == -1.0
    assert model.velocityLimit.min() > 1e200 and model.upperPositionLimit[-1] > 1e200


def test_names_with_special_characters_are_read_back_as_written():
    chain = family("chain", 1)
    name = "l\"1' <&> é\n\t"
    links = (chain.links[0], replace(chain.links[1], name=name))
    written = replace(chain, links=links, joints=(replace(chain.joints[0], child=name),))
    assert_same(read_whole(to_urdf(written)), written)


def test_random_trees_hold_every_type_mimic_chains_and_massless_links():
    trees = [random_tree(np.random.default_rng(seed), 12, mimics=True) for seed in range(40)]
    joints = [joint for tree in trees for joint in tree.joints]
    assert {joint.type for joint in joints} == set(ALL_TYPES)
    followers = {id(tree): {j.name for j in tree.joints if j.mimic} for tree in trees}
    assert any(
        j.mimic is not None and j.mimic.joint in followers[id(tree)]
        for tree in trees
        for j in tree.joints
    )
    moving = {(id(tree), j.child) for tree in trees for j in tree.joints if j.type != "fixed"}
    massless = {(id(tree), li.name) for tree in trees for li in tree.links if li.inertia.mass == 0}
    assert moving & massless
