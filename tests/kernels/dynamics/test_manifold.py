"""integrate and difference: quaternions, small and large turns, many steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st

from oracles import literal_joints
from support.agreement import assert_agree
from support.cases import examples
from support.textbook import Z, body, chain, free_body
from torqued.kernels import InputError, Robot
from torqued.kernels.input_checks import QUATERNION_TOLERANCE
from torqued.kernels.model.description import Array

#: About the angle below which series are used, and about half a turn, as well as in between.
ANGLES = [0.0, 1e-300, 1e-12, 1e-5, 0.00999, 0.01, 0.01001, 0.5, 3.0, np.pi - 1e-9]

FREE = free_body()
BALL = Robot.from_description(chain(("spherical", Z, 0.0 * Z, body(1.0, 0.0 * Z, 0.1, 0.2, 0.25))))

angles = pytest.mark.parametrize("angle", ANGLES)
any_seed = examples(25, seed=st.integers(0, 2**32 - 1))


def random_pose(rng: np.random.Generator) -> Array:
    quaternion = rng.normal(size=4)
    return np.hstack([rng.normal(size=3), quaternion / np.linalg.norm(quaternion)])


def turn(rng: np.random.Generator, angle: float) -> Array:
    axis = rng.normal(size=3)
    return angle * axis / np.linalg.norm(axis)


@angles
@any_seed
def test_floating_body_moves_along_the_exponential_of_its_twist(angle, seed):
    rng = np.random.default_rng(seed)
    q, v = random_pose(rng), np.hstack([turn(rng, angle), rng.normal(size=3)])
    expected = literal_joints.integrate("floating", q, v, 1.0)
    expected[3:] /= np.linalg.norm(expected[3:])
    assert_agree(FREE.integrate(q, v, 1.0), expected, within=1e-14, size=1.0)


@angles
@any_seed
def test_difference_finds_the_step_back_at_every_angle(angle, seed):
    rng = np.random.default_rng(seed)
    q, v = random_pose(rng), np.hstack([turn(rng, angle), rng.normal(size=3)])
    # Near half a turn the axis comes from a quaternion whose w vanishes: digits stay.
    assert_agree(FREE.difference(q, FREE.integrate(q, v, 1.0)), v, within=1e-13, size=1.0)
    assert_agree(BALL.difference(q[3:], BALL.integrate(q[3:], v[:3], 1.0)), v[:3], 1e-13, 1.0)


def test_small_steps_keep_their_relative_precision():
    v = np.array([1e-9, -2e-9, 3e-9, 4e-9, 5e-9, -6e-9])
    q = FREE.neutral()
    assert_agree(FREE.difference(q, FREE.integrate(q, v, 1.0)), v, within=1e-14)


@any_seed
def test_difference_goes_the_short_way_round(seed):
    rng = np.random.default_rng(seed)
    step = FREE.difference(random_pose(rng), random_pose(rng))
    assert np.linalg.norm(step[:3]) <= np.pi + 1e-12


@any_seed
def test_integrate_inverts_difference_between_any_two_poses(seed):
    rng = np.random.default_rng(seed)
    start, end = random_pose(rng), random_pose(rng)
    reached = FREE.integrate(start, FREE.difference(start, end), 1.0)
    assert_agree(
        FREE.frame_pose(reached, "body"), FREE.frame_pose(end, "body"), within=1e-13, size=1.0
    )


@any_seed
def test_sign_of_a_quaternion_means_nothing(seed):
    rng = np.random.default_rng(seed)
    start, end = random_pose(rng), random_pose(rng)
    negative = end.copy()
    negative[3:] *= -1.0
    assert_agree(FREE.difference(start, negative), FREE.difference(start, end), 1e-13, 1.0)


@any_seed
def test_length_of_a_quaternion_within_tolerance_means_nothing(seed):
    """What a caller rounded to few digits is taken as the rotation that it means."""
    rng = np.random.default_rng(seed)
    start, end, v = random_pose(rng), random_pose(rng), rng.normal(size=6)
    longer = start.copy()
    longer[3:] *= 1.0 + 0.9 * QUATERNION_TOLERANCE
    assert_agree(FREE.integrate(longer, v, 0.5), FREE.integrate(start, v, 0.5), 1e-13, 1.0)
    assert_agree(FREE.difference(longer, end), FREE.difference(start, end), 1e-13, 1.0)
    assert_agree(FREE.difference(end, longer), FREE.difference(end, start), 1e-13, 1.0)
    assert_agree(FREE.frame_pose(longer, "body"), FREE.frame_pose(start, "body"), 1e-13, 1.0)


def test_quaternion_stays_of_unit_length_over_many_steps():
    q, v = FREE.random_state(np.random.default_rng(0))
    for _ in range(10_000):
        q = FREE.integrate(q, v, 1e-2)
    assert abs(np.linalg.norm(q[3:]) - 1.0) < 1e-15


def test_constant_twist_goes_round_in_a_circle():
    """Turning about z while moving along x, with radius u / ω."""
    v = np.array([0.0, 0.0, 2.0, 3.0, 0.0, 0.0])
    start = FREE.neutral()
    half = FREE.integrate(start, v, np.pi / 2)
    assert_agree(half[:3], [0.0, 3.0, 0.0])
    whole = FREE.integrate(start, v, np.pi)
    assert_agree(FREE.frame_pose(whole, "body"), np.eye(4))


def test_other_joints_add():
    robot = Robot.family("chain", 3)
    q, v = np.array([1.0, 2.0, 3.0]), np.array([10.0, -20.0, 30.0])
    assert_agree(robot.integrate(q, v, 0.1), [2.0, 0.0, 6.0])
    assert_agree(robot.difference(q, [2.0, 0.0, 6.0]), 0.1 * v)


def test_coordinates_given_are_left_as_they_were():
    q, v = FREE.random_state(np.random.default_rng(0))
    before = q.copy(), v.copy()
    FREE.integrate(q, v, 0.3)
    FREE.difference(q, FREE.neutral())
    np.testing.assert_array_equal(q, before[0])
    np.testing.assert_array_equal(v, before[1])


@pytest.mark.parametrize("dt", [np.nan, np.inf, "soon", [1.0], None])
def test_bad_duration_is_refused(dt):
    with pytest.raises(InputError, match=r"^dt"):
        FREE.integrate(FREE.neutral(), np.zeros(6), dt)


def test_errors_name_which_of_two_coordinates_is_wrong():
    with pytest.raises(InputError, match=r"^q1: shape \(2,\), expected \(7,\)"):
        FREE.difference(FREE.neutral(), [0.0, 0.0])
    with pytest.raises(InputError, match=r"^q0\[3:7\]: quaternion of joint 'root_joint'"):
        FREE.difference(np.zeros(7), FREE.neutral())
