"""The robot of most tests of the worker, states of it, and a daemon."""

import numpy as np
import pytest

from support.daemons import daemon_of
from torqued.kernels import Robot


@pytest.fixture(scope="module")
def robot():
    return Robot.family("chain", 20)


@pytest.fixture(scope="module")
def states(robot):
    rng = np.random.default_rng(5)
    pairs = [robot.random_state(rng) for _ in range(200)]
    return np.array([q for q, _ in pairs]), np.array([v for _, v in pairs])


daemon = daemon_of("chain20")
