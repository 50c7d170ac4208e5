"""Batches of several ranges and pieces, into arrays of any alignment."""

import numpy as np
import pytest

from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.kernels.batch.computation import GRAIN
from torqued.kernels.input_checks import QUATERNION_TOLERANCE

MATRICES = ("M", "Mdot", "C")


def states(robot, count):
    rng = np.random.default_rng(3)
    q, v = zip(*(robot.random_state(rng) for _ in range(64)), strict=True)
    return (np.resize(x, (count, len(x[0]))) for x in (q, v))


def within(shape, numbers):
    """An array that begins so many numbers into a line, and what lies around it."""
    size = int(np.prod(shape))
    whole = np.full(size + 64, -7.0)
    start = (-whole.ctypes.data // 8) % 8 + 8 + numbers
    return whole[start : start + size].reshape(shape), (whole[:start], whole[start + size :])


@pytest.mark.parametrize("name, joints", [("chain", 20), ("chain", 21), ("quadruped", 12)])
@pytest.mark.parametrize("numbers", [0, 3])
def test_large_matrices_are_those_of_small_batches_to_the_last_bit(name, joints, numbers):
    robot = Robot.family(name, joints)
    n = robot.nv
    count = 2 * GRAIN.share + 5  # not a whole number of chunks
    q, v = states(robot, count)
    out, around = {}, []
    for key in MATRICES:
        out[key], beside = within((count, n, n), numbers)
        around += beside
    robot.batch(threads=3).dynamics(q, v, MATRICES, out=out)
    assert all((part == -7.0).all() for part in around)
    small = robot.batch(threads=1)
    for first in range(0, count, 100):
        part = slice(first, first + 100)
        expected = small.dynamics(q[part], v[part], MATRICES)
        for key in MATRICES:
            assert np.array_equal(out[key][part], expected[key])


@pytest.mark.parametrize("threads", [1, 3])
def test_states_that_only_a_single_call_can_judge_are_computed_among_the_others(threads):
    robot = Robot.family("quadruped", 12)
    q, _ = states(robot, 3 * GRAIN.piece + 5)
    plain = robot.batch(threads=1).gravity(q)
    doubtful = [0, GRAIN.share - 1, 777, GRAIN.piece - 1, GRAIN.piece, len(q) - 1]
    q[doubtful, 3:7] *= 1.0 + 0.9995 * QUATERNION_TOLERANCE  # within, but not surely so
    found = robot.batch(threads).gravity(q)
    others = np.setdiff1d(np.arange(len(q)), doubtful)
    assert np.array_equal(found[doubtful], [robot.gravity(q[k]) for k in doubtful])
    scale = np.abs(plain).max()
    assert np.abs(found[others] - plain[others]).max() <= 1e-12 * scale
    assert np.array_equal(found, robot.batch(threads=2).gravity(q))


def test_numbers_that_no_quantity_depends_on_are_looked_at_too():
    robot = Robot.family("chain", 4)
    q, v = states(robot, 40)
    v[23, 1] = np.nan
    with pytest.raises(InputError, match=r"^state 23: v\[1\] is nan"):
        robot.batch().dynamics(q, v, want=("g",))
