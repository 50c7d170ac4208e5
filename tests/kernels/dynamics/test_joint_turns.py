"""Cosines and sines of all coordinates at once."""

from __future__ import annotations

import numpy as np
import pytest

from support.agreement import assert_agree
from torqued.kernels import Robot
from torqued.kernels.compilation.jit import _compile
from torqued.kernels.dynamics.joint_turns import fill_turns
from torqued.kernels.primitives.wide import WIDTH


@pytest.fixture(scope="module")
def fill():
    def run(q, turns):
        fill_turns(q, turns)

    return _compile(run, from_python=True)


COUNTS = [1, 2, WIDTH - 1, WIDTH, WIDTH + 1, 2 * WIDTH - 1, 3 * WIDTH]


def checked_turns(fill, q):
    """Cosines and sines of q, which lies between other numbers, and so do they."""
    count = len(q)
    around, memory = np.full(count + 2 * WIDTH, np.nan), np.full(2 * count + 2 * WIDTH, 9.0)
    around[:count] = q
    fill(around[:count], memory[: 2 * count].reshape(2, count))
    assert (memory[2 * count :] == 9.0).all()
    with np.errstate(invalid="ignore"):
        expected = np.array([np.cos(q), np.sin(q)])
    found = memory[: 2 * count].reshape(2, count)
    np.testing.assert_allclose(found, expected, rtol=0.0, atol=3e-16)


@pytest.mark.parametrize("count", COUNTS)
def test_cosine_and_sine_of_each_coordinate_and_of_none_beyond(fill, count):
    checked_turns(fill, np.random.default_rng(count).uniform(-50.0, 50.0, count))


@pytest.mark.parametrize("count", COUNTS)
def test_each_coordinate_has_its_own_whatever_its_neighbours_are(fill, count):
    q = np.random.default_rng(count).uniform(-50.0, 50.0, count)
    q[0], q[count // 2], q[-1] = 3e6, np.nan, np.inf  # beyond what is computed in line
    checked_turns(fill, q)


@pytest.mark.parametrize("count", [1, 2, WIDTH - 1, WIDTH, 2 * WIDTH + 3])
def test_rotations_are_products_of_the_joints_turns(count):
    robot = Robot.family("chain", count)
    q = np.linspace(-2.0, 3.0, count)
    robot.gravity(q)
    R = np.eye(3)
    for angle, body, state in zip(q, robot.model.bodies, robot.work.arrays.states, strict=True):
        c, s = np.cos(angle), np.sin(angle)
        turn = np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])
        R = R @ body.R.reshape(3, 3) @ turn
        assert_agree(state.R.reshape(3, 3), R)
