"""Roll, pitch, yaw and quaternions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from torqued.kernels.model.rotations import (
    rotation_from_quaternion,
    rotation_from_rpy,
    rpy_from_rotation,
)

ANGLES = st.floats(-math.pi, math.pi)
#: Where roll and yaw turn about the same axis, and close to it.
NEAR_VERTICAL = st.builds(
    lambda sign, offset: sign * math.pi / 2 + offset,
    st.sampled_from([-1.0, 1.0]),
    st.sampled_from([0.0, 1e-15, 1e-12, 1e-9, -1e-8, 1e-6, -1e-4]),
)


@given(ANGLES, ANGLES | NEAR_VERTICAL, ANGLES)
def test_rpy_of_a_rotation_gives_it_back(roll, pitch, yaw):
    R = rotation_from_rpy(roll, pitch, yaw)
    np.testing.assert_allclose(rotation_from_rpy(*rpy_from_rotation(R)), R, atol=2e-15)


def test_quaternion_and_rpy_agree_about_each_axis():
    for axis in range(3):
        quaternion, rpy = np.zeros(4), np.zeros(3)
        quaternion[axis], quaternion[3] = 2 * math.sin(0.35), 2 * math.cos(0.35)
        rpy[axis] = 0.7
        R = rotation_from_quaternion(*quaternion)
        np.testing.assert_allclose(R, rotation_from_rpy(*rpy), atol=1e-15)


@pytest.mark.parametrize("seed", range(3))
def test_rotation_of_any_quaternion_is_proper(seed):
    R = rotation_from_quaternion(*np.random.default_rng(seed).normal(size=4))
    np.testing.assert_allclose(R @ R.T, np.eye(3), atol=1e-15)
    assert np.linalg.det(R) == pytest.approx(1.0)
