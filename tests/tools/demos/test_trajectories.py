import numpy as np
import pytest

from torqued.tools.demos.models import PANDA_READY
from torqued.tools.demos.trajectories import panda_sines, quintic

STEP = 1e-5


@pytest.mark.parametrize("t", [0.0, 0.3, 0.99, 1.01, 4.2])
def test_velocity_and_acceleration_are_the_derivatives_of_position(t):
    motion = panda_sines(PANDA_READY)
    (before, v_before, _), (_, v, a), (after, v_after, _) = (
        motion(t + shift) for shift in (-STEP, 0.0, STEP)
    )
    np.testing.assert_allclose((after - before) / (2 * STEP), v, atol=1e-6)
    np.testing.assert_allclose((v_after - v_before) / (2 * STEP), a, atol=1e-2 * 20)


def test_motion_begins_at_rest():
    q, v, a = panda_sines(PANDA_READY)(0.0)
    np.testing.assert_array_equal(q, PANDA_READY)
    assert not v.any()
    assert not a.any()


@pytest.mark.parametrize(("share", "expected"), [(-1.0, (0, 0, 0)), (2.0, (1, 0, 0))])
def test_quintic_stands_still_outside(share, expected):
    assert quintic(share) == expected
