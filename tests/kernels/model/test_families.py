"""The families of [EW21]: their shape, size and that matter could build them."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torqued.common.errors import InputError
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.checks import check
from torqued.kernels.model.description import Description
from torqued.kernels.model.families import FAMILIES, family


def parents(description: Description) -> dict[str, str]:
    return {joint.child: joint.parent for joint in description.joints}


def depth(description: Description, link: str) -> int:
    above = parents(description)
    count = 0
    while link in above:
        link, count = above[link], count + 1
    return count


def leg_lengths(description: Description) -> list[int]:
    ends = set(parents(description)) - set(parents(description).values())
    return sorted(depth(description, link) for link in ends)


@given(st.sampled_from(sorted(FAMILIES)), st.integers(1, 40), st.integers(0, 2**32))
def test_every_member_is_sound_without_warnings(kind, dofs, seed):
    description = family(kind, dofs, seed)
    assert check(description, strict=True) == ()
    assert len(description.joints) == dofs
    assert {joint.type for joint in description.joints} == {"revolute"}
    assert description.name == f"{kind}{dofs}"


@pytest.mark.parametrize("kind", FAMILIES)
def test_same_seed_gives_the_same_robot_and_another_seed_another(kind):
    assert to_urdf(family(kind, 8, seed=3)) == to_urdf(family(kind, 8, seed=3))
    assert to_urdf(family(kind, 8, seed=3)) != to_urdf(family(kind, 8, seed=4))


def test_chain_is_one_line_on_a_massless_base():
    chain = family("chain", 20)
    assert [depth(chain, link.name) for link in chain.links] == list(range(21))
    assert chain.links[0].name == "base"
    assert chain.links[0].inertia.mass == 0.0


@pytest.mark.parametrize("dofs", [1, 2, 3, 7, 20, 31])
def test_tree_branches_in_two_with_logarithmic_depth(dofs):
    tree = family("tree", dofs)
    branches = Counter(parents(tree).values())
    assert branches.pop("base") == 1
    assert all(count <= 2 for count in branches.values())
    assert sum(count == 1 for count in branches.values()) <= 1
    assert max(depth(tree, link.name) for link in tree.links) == dofs.bit_length()


@pytest.mark.parametrize("kind", FAMILIES)
def test_document_order_is_depth_first_and_alphabetical(kind):
    """Alphabetical is how Pinocchio orders siblings, so both number the joints alike."""
    description = family(kind, 20)
    below: dict[str, list[str]] = {link.name: [] for link in description.links}
    for joint in description.joints:
        below[joint.parent].append(joint.child)
    visited: list[str] = []

    def visit(link: str) -> None:
        visited.append(link)
        for child in below[link]:
            visit(child)

    visit(description.links[0].name)
    assert visited == [link.name for link in description.links]
    names = [joint.name for joint in description.joints]
    assert names == sorted(names)


@pytest.mark.parametrize(
    ("kind", "dofs", "lengths"),
    [
        ("biped", 20, [10, 10]),
        ("biped", 7, [3, 4]),
        ("biped", 1, [1]),
        ("quadruped", 20, [5, 5, 5, 5]),
        ("quadruped", 6, [1, 1, 2, 2]),
    ],
)
def test_legs_share_the_joints_evenly(kind, dofs, lengths):
    description = family(kind, dofs)
    assert leg_lengths(description) == lengths
    assert description.links[0].name == "body"
    assert description.links[0].inertia.mass > 1.0


@pytest.mark.parametrize("kind", FAMILIES)
def test_placements_and_masses_are_of_a_robots_size(kind):
    description = family(kind, 20)
    reaches = [np.linalg.norm(joint.placement.position) for joint in description.joints]
    assert min(reaches) >= 0.1 and max(reaches) <= 0.5
    masses = [link.inertia.mass for link in description.links[1:]]
    assert min(masses) >= 0.5 and max(masses) <= 1.5


def test_unknown_kind_is_refused_with_the_known_ones():
    with pytest.raises(InputError, match="'snake' is unknown, allowed: 'chain', 'tree', 'biped'"):
        family("snake", 3)


@pytest.mark.parametrize("dofs", [0, -1, 2.5, True, "3"])
def test_number_of_dofs_that_is_no_count_is_refused(dofs):
    with pytest.raises(InputError, match=f"^dofs is {dofs!r}, expected a whole number"):
        family("chain", dofs)
