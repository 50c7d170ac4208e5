"""Sine and cosine in line, against the library's."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from support.agreement import assert_agree
from support.compiled_kernels import from_python
from support.textbook import X, Z, body, chain
from torqued.kernels import Robot
from torqued.kernels.primitives import trigonometry
from torqued.kernels.primitives.trigonometry import MAX_ANGLE

cos_sin = from_python(trigonometry.cos_sin)


#: One unit in the last place of numbers just below 1.
ULP = 2.0**-53


@given(angle=st.floats(-1.1 * MAX_ANGLE, 1.1 * MAX_ANGLE))
@example(angle=0.0)
@example(angle=-0.0)
@example(angle=5e-324)
@example(angle=MAX_ANGLE)
@example(angle=-math.nextafter(MAX_ANGLE, 0.0))
def test_sine_and_cosine_are_the_librarys_within_two_units_in_the_last_place(angle):
    c, s = cos_sin(angle)
    assert abs(c - math.cos(angle)) <= 2.0 * ULP
    assert abs(s - math.sin(angle)) <= 2.0 * ULP


@pytest.mark.parametrize("quarter", [-4001, -3, -2, -1, 0, 1, 2, 3, 4, 5, 63661])
@pytest.mark.parametrize("beside", [-1, 0, 1])
def test_near_multiples_of_a_quarter_turn_no_digits_are_lost(quarter, beside):
    """There one of the two is tiny, and all of it comes from the reduction."""
    angle = quarter * (math.pi / 2.0)
    angle = math.nextafter(angle, beside * math.inf) if beside else angle
    for found, right in zip(cos_sin(angle), (math.cos(angle), math.sin(angle)), strict=True):
        assert found == pytest.approx(right, rel=1e-9, abs=1e-300)


@pytest.mark.parametrize("angle", [np.nan, np.inf, -np.inf])
def test_what_is_no_angle_has_no_sine(angle):
    assert all(math.isnan(x) for x in cos_sin(angle))


@pytest.mark.parametrize("turns", [1, 1000, 10**6])
def test_robot_wound_up_many_times_stands_where_it_stood(turns):
    robot = Robot.from_description(chain(("continuous", Z, X, body(1.0, X, 0.1, 0.1, 0.1))))
    angle = 2.0 * math.pi * turns
    pose = robot.frame_pose([0.5 + angle], "l1")
    assert_agree(pose, robot.frame_pose([0.5], "l1"), within=1e-15 * (1.0 + angle))
