"""The robot of most tests of the worker, states of it, and daemons of a test's own."""

import numpy as np
import pytest

from support.daemons import DaemonProcess
from torqued.kernels import Robot


@pytest.fixture(scope="module")
def robot():
    return Robot.family("chain", 20)


@pytest.fixture(scope="module")
def states(robot):
    rng = np.random.default_rng(5)
    pairs = [robot.random_state(rng) for _ in range(200)]
    return np.array([q for q, _ in pairs]), np.array([v for _, v in pairs])


@pytest.fixture
def make(tmp_path):
    """Starts a daemon with these options; it is stopped when the test is over."""
    folder = tmp_path / "sockets"
    folder.mkdir(mode=0o700)
    made = []

    def start(*options, **environment):
        made.append(DaemonProcess(folder, "arm", *options, **environment).start())
        return made[-1]

    yield start
    for process in made:
        assert process.stop() == 0
        assert "Traceback" not in process.log.read_text()


@pytest.fixture(scope="module")
def daemon(tmp_path_factory):
    """One for all tests of a file."""
    folder = tmp_path_factory.mktemp("sockets")
    folder.chmod(0o700)
    process = DaemonProcess(folder, "chain20", "--robot", "chain20").start()
    yield process
    assert process.stop() == 0
    assert process.files() == []
    assert "Traceback" not in process.log.read_text()
