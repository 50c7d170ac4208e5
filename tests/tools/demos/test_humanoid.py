"""A short run of the humanoid's session, pushes, and what its plan is made of."""

import numpy as np
import pytest

from torqued.kernels import Robot
from torqued.kernels.control.wholebody.balance import POSTURE_RATE, Balance
from torqued.tools.demos import humanoid, humanoid_pushes
from torqued.tools.demos.daemon import served
from torqued.tools.demos.humanoid_pushes import Recovered, Stander, ankle_limit, run_standing
from torqued.tools.demos.humanoid_robot import FRICTION, LEFT, RIGHT, SOLE, contacts, stance, talos
from torqued.tools.demos.humanoid_story import HEIGHT, Change, Hold, Move, Track

pytestmark = pytest.mark.slow

#: s, until the robot stands on one foot.
ONE_FOOT = 3.7


@pytest.fixture(scope="module")
def robot():
    return Robot.from_description(talos(), "floating")


@pytest.fixture(scope="module")
def started():
    log, _ = humanoid.perform(ONE_FOOT)
    return log


def test_humanoid_comes_to_stand_on_one_foot(started, robot):
    weight = 9.81 * robot.total_mass
    assert started["places"][-1, 1, 2] == pytest.approx(HEIGHT, abs=0.01)
    assert not started["felt"][-1, 1].any()
    assert started["felt"][-1, 0, 2] == pytest.approx(weight, rel=0.01)
    error = np.linalg.norm(started["com"] - started["com_wanted"], axis=1)
    assert error.max() < 3e-3
    assert humanoid.turns(started["q"]).max() < 0.02
    assert np.abs(started["q"][:, 2] - started["q"][0, 2]).max() < 0.05


def test_every_tick_has_a_solution_within_torques(started, robot):
    assert not started["status"].any()
    assert (np.abs(started["tau"]) <= robot.limits.effort).all()
    assert not started["tau"][:, :6].any()


def test_forces_stay_in_their_cones_and_idle_contacts_have_none(started):
    soles = started["force"][:, :8]
    across = np.hypot(soles[..., 0], soles[..., 1])
    assert (across <= FRICTION * soles[..., 2] + 1e-3).all()
    lifted = started["active"][:, 1] == 0.0
    assert lifted.any()
    assert not started["force"][1:, 4:8][lifted[1:]].any()
    assert not started["force"][:, 8].any()


def test_law_knows_the_forces_that_mujoco_has(started):
    """Standing still, what the program plans is what soles feel."""
    planned = np.stack([started["force"][-1, :4].sum(0), started["force"][-1, 4:8].sum(0)])
    np.testing.assert_allclose(planned, started["felt"][-1, :2], atol=10.0)


def test_soles_that_hold_do_not_slip(started):
    assert humanoid.slip(started) < 1e-3
    moved = started | {"places": started["places"] + started["time"][:, None, None]}
    assert humanoid.slip(moved) > 1.0


@pytest.fixture(scope="module")
def client():
    with served(talos(), "floating") as client:
        yield client


@pytest.mark.parametrize("law", humanoid_pushes.LAWS)
@pytest.mark.parametrize("direction", [0.0, 90.0])
def test_modest_push_is_recovered(client, law, direction):
    stander = Stander(client, law)
    with stander.session:
        loop = stander.loop(20.0, direction)
        run_standing([(stander, loop)], 1.8, lambda: None)
    log = loop.log()
    assert stander.recovered
    assert not log["status"].any(), sorted(set(log["status"].tolist()))
    across = np.hypot(log["force"][..., 0], log["force"][..., 1])
    assert (across <= FRICTION * log["force"][..., 2] + 1e-3).all()
    robot = stander.plant.robot
    thrown = max(abs(robot.center_of_mass(q)[:2] - stander.com[:2]).max() for q in log["q"][::20])
    assert thrown > 0.01


def test_push_that_nobody_could_take_is_seen_to_fell_it(client):
    stander = Stander(client, "wholebody")
    with stander.session:
        run_standing([(stander, stander.loop(120.0, 0.0))], 2.0, lambda: None)
    assert stander.fallen
    assert not stander.recovered


def pendulum_falls(impulse, distance, rate, mass, lasts=humanoid_pushes.LASTS):
    """A linear pendulum, its pressure at the edge from the start, by small steps."""
    x = v = 0.0
    step = 1e-4
    for k in range(30000):
        pushed = impulse / lasts / mass if k * step < lasts else 0.0
        v += step * (rate**2 * (x - distance) + pushed)
        x += step * v
        if x > distance:
            return True
        if v < 0.0 and k * step > lasts:
            return False
    return False


@pytest.mark.parametrize(("direction", "axis"), [(0.0, 0), (90.0, 1)])
def test_ankles_can_take_what_a_pendulum_does(robot, direction, axis):
    q = stance(robot)
    com = robot.center_of_mass(q)
    half = (SOLE[0], robot.frame_pose(q, LEFT)[1, 3] + SOLE[1])[axis]
    pendulum = (half - com[axis], np.sqrt(9.81 / com[2]), robot.total_mass)
    limit = ankle_limit(robot, q, direction)
    assert pendulum_falls(1.02 * limit, *pendulum)
    assert not pendulum_falls(0.98 * limit, *pendulum)


def test_law_that_falls_early_fails_the_experiment():
    good = Recovered("wholebody", 0.0, 32.0, 33.0, 30.0, 0)
    bad = Recovered("wholebody", 90.0, 20.0, 21.0, 43.0, 100)
    assert all(check.holds for check in humanoid_pushes.checks([good]))
    assert not any(check.holds for check in humanoid_pushes.checks([good, bad]))


def test_stance_has_level_soles_on_the_floor(robot):
    q = stance(robot)
    for name in (LEFT, RIGHT):
        pose = robot.frame_pose(q, name)
        assert pose[2, 3] == pytest.approx(0.0, abs=1e-9)
        np.testing.assert_allclose(pose[:3, :3], np.eye(3), atol=1e-6)


def test_springs_of_balancing_by_default_suit_a_bent_elbow(robot):
    """1/s, of each joint by itself: not those of an arm that is stretched out."""
    control = Balance(robot, contacts(hand=False))
    stiffness = control.gains[control.gain_names["posture.stiffness"]][6:]
    rates = np.sqrt(stiffness / np.diag(robot.mass_matrix(stance(robot)))[6:])
    assert rates.min() > 0.3 * POSTURE_RATE  # joints that are light together get less


def test_track_has_its_own_derivatives():
    moves = (Move(0.2, 0.5, np.array([1.0, 0.0, 2.0])), Move(0.4, 1.0, np.array([0.0, -1.0, 0.0])))
    track, h = Track(np.ones(3), moves), 1e-4
    for t in (0.1, 0.45, 0.6, 1.2):
        (before, *_), (now, speed, bend), (after, *_) = track(t - h), track(t), track(t + h)
        np.testing.assert_allclose((after - before) / (2 * h), speed, atol=1e-6)
        np.testing.assert_allclose((after - 2 * now + before) / h**2, bend, atol=1e-4)
    np.testing.assert_allclose(track(2.0)[0], [2.0, 0.0, 3.0])


def test_contact_is_taken_only_when_it_is_felt_and_let_go_smoothly():
    felt = [0.0]
    changes = (Change(1.0, take=True, lasts=0.2), Change(2.0, take=False, lasts=0.2))
    hold = Hold(changes, 100.0, lambda: felt[0], active=False)

    def at(t):
        hold.update(t)
        return hold.active, hold.most

    assert at(0.5) == (False, 0.0)
    assert at(1.1) == (False, 0.0)  # planned, but nothing is there
    felt[0] = 10.0
    assert at(1.3) == (True, 0.0)
    active, most = at(1.4)
    assert active
    assert 0.0 < most < 100.0
    assert at(1.6) == (True, 100.0)
    felt[0] = 40.0
    assert at(2.0) == (True, 40.0)  # from what it carries
    active, most = at(2.1)
    assert active
    assert most == pytest.approx(20.0)
    assert at(2.25) == (False, 0.0)
