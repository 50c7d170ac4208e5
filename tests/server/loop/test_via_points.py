"""`move` through via points, as a driver in lock step sees the references in effect."""

import numpy as np
import pytest

from support.in_thread import InThread
from torqued.client import RequestError
from torqued.kernels import Robot

NV, DT = 3, 1e-3


@pytest.fixture(scope="module")
def robot():
    return Robot.family("chain", NV)


@pytest.fixture(scope="module")
def daemon(robot, tmp_path_factory):
    with InThread(robot, tmp_path_factory.mktemp("sockets")) as daemon:
        yield daemon


@pytest.fixture(scope="module")
def client(daemon):
    with daemon.client() as client:
        yield client


class LockStep:
    """A robot that stands at its references, a millisecond per state."""

    def __init__(self, client, robot):
        self.client, self.robot, self.time = client, robot, 0.0
        self.session = client.session("passivity", clock="lockstep")
        self.q, self.v = robot.neutral() + 0.1, np.zeros(NV)
        self.step()

    def step(self):
        self.session.step(self.q, self.v, at=self.time)
        self.time += DT
        seen = self.client.look(self.session.number)
        self.q, self.v = (seen.references[name].copy() for name in ("q_ref", "v_ref"))
        return seen

    def run(self, seconds):
        """References and modes of each millisecond."""
        seen = [self.step() for _ in range(round(seconds / DT))]
        rows = {name: np.array([s.references[name] for s in seen]) for name in ("q_ref", "v_ref")}
        return rows["q_ref"], rows["v_ref"], [s.mode for s in seen]


@pytest.fixture
def driver(client, robot):
    driver = LockStep(client, robot)
    yield driver
    driver.session.close()


POINTS = np.array([[0.2, 0.0, 0.3], [0.35, -0.1, 0.2], [0.1, 0.1, 0.1]])
TIMES = [0.4, 0.7, 1.1]


def test_references_pass_via_points_at_their_times_and_hold_the_last(driver):
    start = driver.q.copy()
    assert driver.session.follow(TIMES, POINTS) == TIMES[-1]
    q, v, modes = driver.run(1.2)
    for point, at in zip(POINTS, TIMES, strict=True):
        assert np.abs(q[round(at / DT) - 1] - point).max() < 1e-9
    assert np.abs(v[round(TIMES[1] / DT) - 1]).max() > 0.05  # it does not stop there
    assert np.abs(q[0] - start).max() < 1e-6
    # v_ref is the rate of q_ref: a path, not a row of steps.
    assert np.abs(np.gradient(q, DT, axis=0)[2:-2] - v[2:-2]).max() < 1e-3
    assert modes[0] == "moving" and modes[-1] == "holding" and not v[-1].any()
    assert np.array_equal(q[-1], POINTS[-1])


def test_path_without_times_takes_a_share_of_the_speed_limits(driver):
    driver.run(driver.session.move_to(POINTS[-1], speed=1.0) + 0.1)
    quick = driver.session.follow(None, POINTS, speed=1.0)
    q, v, _ = driver.run(quick + 0.1)
    assert np.array_equal(q[-1], POINTS[-1])
    slow = driver.session.follow(None, POINTS, speed=0.5)
    assert slow == pytest.approx(2.0 * quick)
    _, slower, _ = driver.run(slow + 0.1)
    assert np.abs(slower).max() == pytest.approx(0.5 * np.abs(v).max(), rel=0.01)


def test_plain_movement_after_a_path_goes_to_its_own_goal(driver):
    driver.session.follow(TIMES, POINTS)
    driver.run(0.3)
    seconds = driver.session.move_to(np.full(NV, 0.15))
    q, _, modes = driver.run(seconds + 0.2)
    assert np.array_equal(q[-1], np.full(NV, 0.15)) and modes[-1] == "holding"


@pytest.mark.parametrize(
    ("times", "q", "says"),
    [
        (
            [0.01, 0.02, 0.03],
            POINTS,
            r"via point q\[\d\] is too fast, expected times that are .* as long",
        ),
        ([0.5, 0.4, 1.0], POINTS, "expected increasing numbers above 0"),
        ([0.5, 1.0], POINTS, r"times: shape \(2,\), expected \(3,\)"),
        ([1.0], np.full((1, NV), 1e3), "joint .* goes to"),
        (None, np.zeros((60, NV)), "60 via points, expected 1 … 49"),
        (None, np.zeros((2, NV + 1)), rf"q has shape \(2, {NV + 1}\), expected \(N, {NV}\)"),
        (None, np.full((2, NV), np.nan), "nan"),
    ],
)
def test_paths_that_cannot_be_followed_are_refused_and_nothing_moves(driver, times, q, says):
    before = driver.q.copy()
    with pytest.raises((RequestError, ValueError), match=f"(?i){says}"):
        driver.session.follow(times, q)
    after, _, _ = driver.run(0.05)
    assert np.array_equal(after[-1], before)
