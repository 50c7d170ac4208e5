"""Default gains: what they make of robots that are light in some directions and heavy in others."""

import numpy as np
import pytest

from torqued.kernels import Robot
from torqued.kernels.control.laws import passivity, pd
from torqued.kernels.control.typical_inertia import FASTEST, configurations, typical_inertia
from torqued.kernels.model.catalog import find_file

ROBOTS = {
    "panda": lambda: Robot.from_urdf(find_file("panda")),
    "chain7": lambda: Robot.family("chain", 7),
    "chain20": lambda: Robot.family("chain", 20),
}


def fastest(robot, D):
    """Median over configurations of the largest rate of M⁻¹ D, 1/s."""
    rates = []
    for q in configurations(robot):
        L = np.linalg.cholesky(robot.mass_matrix(q))
        half = np.linalg.solve(L, np.linalg.solve(L, D).T)
        rates.append(np.linalg.eigvalsh(half).max())
    return np.median(rates)


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("law", [pd, passivity])
def test_default_damping_is_never_too_fast_for_the_loop(name, law):
    robot = ROBOTS[name]()
    D = law.gains(robot, {}, {})["damping"]
    assert fastest(robot, D) < 1.001 * FASTEST


def test_damping_suits_a_robot_that_is_stretched_out_at_zero():
    """The Panda's first joint turns a mast at q = 0, and a crane where it works."""
    robot = ROBOTS["panda"]()
    at_zero = robot.mass_matrix(robot.neutral())[0, 0]
    assert typical_inertia(robot).diagonal[0] > 5 * at_zero
