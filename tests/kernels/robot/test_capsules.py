"""Distances between capsules on a robot's links."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torqued.kernels import InputError, Robot
from torqued.kernels.model.families import family
from torqued.kernels.robot.capsules import between

CHAIN = family("chain", 4, seed=1)
LINKS = [link.name for link in CHAIN.links]


def capsule(link, radius=0.1, end=(0.0, 0.0, 0.0)):
    return {"frame": link, "end": end, "radius": radius}


coordinate = st.floats(-2.0, 2.0).map(lambda x: round(x, 1))  # many are parallel, or points
point = st.tuples(coordinate, coordinate, coordinate).map(np.array)


@given(ends=st.tuples(point, point, point, point))
def test_distance_of_segments_is_the_least_over_their_points(ends):
    a, b, c, d = ends
    found = between(*(p[None] for p in ends))[0]
    s = np.linspace(0.0, 1.0, 41)[:, None]
    sampled = np.linalg.norm((a + s * (b - a))[:, None] - (c + s * (d - c))[None], axis=2).min()
    spacing = 0.5 * (np.linalg.norm(b - a) + np.linalg.norm(d - c)) / 40
    assert sampled - spacing - 1e-12 <= found <= sampled + 1e-12


def test_crossing_segments_touch():
    x, y = np.array([[1.0, 0, 0]]), np.array([[0, 1.0, 0]])
    assert between(-x, x, -y, y)[0] == 0.0
    above = np.array([0.0, 0.0, 0.3])
    assert between(-x, x, -y + above, y + above)[0] == pytest.approx(0.3)


def test_nearest_pair_comes_first_and_neighbours_are_left_out():
    robot = Robot.from_description(CHAIN, capsules=[capsule(name) for name in LINKS[1:]])
    q = np.array([0.1, 0.9, -0.4, 0.3])
    found = robot.clearances(q)
    places = {name: robot.frame_pose(q, name)[:3, 3] for name in LINKS}
    assert {(x.frame, x.other) for x in found} == {
        (LINKS[1], LINKS[3]),
        (LINKS[1], LINKS[4]),
        (LINKS[2], LINKS[4]),
    }
    assert [x.distance for x in found] == sorted(x.distance for x in found)
    for pair in found:
        apart = np.linalg.norm(places[pair.frame] - places[pair.other]) - 0.2
        assert pair.distance == pytest.approx(apart)


def test_robot_without_capsules_has_no_pairs():
    robot = Robot.from_description(CHAIN)
    assert robot.clearances(np.zeros(4)) == []
    with pytest.raises(InputError, match="q: shape"):
        robot.clearances([0.0])


@pytest.mark.parametrize(
    ("given_capsule", "problem"),
    [
        (3, r"capsules\[0\]: 3, expected a map of frame, start, end, radius"),
        (capsule("hand"), r"capsules\[0\].frame: frame 'hand' is unknown"),
        (capsule(LINKS[1], 0.0), r"capsules\[0\].radius is 0.0, expected a positive number"),
        (capsule(LINKS[1], end=(1, 2)), r"capsules\[0\].end: shape \(2,\), expected \(3,\)"),
        (capsule(LINKS[1], end=(1e308, 0, 0)), "numbers up to 1e"),
        (capsule(LINKS[1]) | {"size": 1}, r"capsules\[0\]: 'size' is unknown, allowed: frame, st"),
    ],
)
def test_capsules_are_checked(given_capsule, problem):
    with pytest.raises(InputError, match=problem):
        Robot.from_description(CHAIN, capsules=[given_capsule])
