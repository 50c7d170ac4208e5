"""Short runs of the experiments: the properties that they show, in simulated time alone."""

import numpy as np
import pytest

from torqued.kernels.model.catalog import describe
from torqued.tools.demos import push, results, tracking, wall
from torqued.tools.demos.daemon import served
from torqued.tools.demos.lockstep import LAW_ALONE, Loop, run_together
from torqued.tools.demos.plant import Plant, Wall

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def tracked():
    logs = tracking.perform(3.0)
    return logs, {case: tracking.judge(*case, log) for case, log in logs.items()}


def test_passivity_follows_many_times_closer_than_pd_without_any_status_bit(tracked):
    _, found = tracked
    pd, passivity = (found[law, tracking.MODELLED] for law in ("pd", "passivity"))
    assert pd.rms_error > tracking.BEATS_PD * passivity.rms_error
    assert passivity.max_error < 2e-3
    assert {item.statuses for item in found.values()} == {0}


@pytest.mark.parametrize("law", tracking.LAWS)
def test_account_of_energy_agrees_with_mujocos_robot(tracked, law):
    _, found = tracked
    item = found[law, tracking.MODELLED]
    assert item.energy_flowed > 1.0
    assert item.energy_deviation < tracking.ENERGY


def test_adaptive_learns_the_missing_mass_alone_and_follows_closer(tracked):
    logs, found = tracked
    missing = tracking.TRUE - tracking.MODELLED
    learned = logs["adaptive", tracking.TRUE]["load"][:, 0]
    assert abs(learned[-1] - missing) < 0.4 * missing
    assert abs(learned[-1] - missing) < 0.5 * abs(learned[1000] - missing)
    late = slice(-500, None)
    errors = {law: np.abs(logs[law, tracking.TRUE]["error"][late]).max() for law in tracking.LOADED}
    assert errors["adaptive"] < 0.5 * errors["passivity"]
    assert abs(found["adaptive", tracking.MODELLED].learned) < 0.05


@pytest.fixture(scope="module")
def pushed():
    return push.perform(4.2, quiet=1)


def test_every_push_is_found_and_its_link_named(pushed):
    pushes, logs = pushed
    felt = [push.judge(planned, logs[0]) for planned in pushes]
    assert [item.link for item in felt] == [2, 3, 4, 5, 6, 7]
    assert [item.named for item in felt] == [2, 3, 4, 5, 6, 7]
    assert max(item.delay for item in felt) < push.MAX_DELAY
    assert all(item.ended for item in felt)


def test_observer_sees_the_torque_of_the_push(pushed):
    """At the end of a push the residual has come to what MuJoCo has applied."""
    pushes, logs = pushed
    for planned in pushes:
        k = round((planned.start + push.LASTS) / 1e-3) - 1
        truth, seen = logs[0]["pushed"][k], logs[0]["external"][k]
        np.testing.assert_allclose(seen, truth, atol=0.05 * np.abs(truth).max() + 0.25)


def test_arm_that_nobody_touches_raises_no_alarm(pushed):
    _, logs = pushed
    assert push.false_alarms(logs[1]) == 0
    assert (np.abs(logs[1]["external"]).max(axis=0) > 0).all()  # noise is there


def test_unfelt_push_and_wrong_link_fail_the_experiment():
    missed = push.Felt(0.5, 3, 20.0, np.inf, 0, True)
    good = push.Felt(1.1, 4, 20.0, 0.01, 4, True)
    assert all(check.holds for check in push.checks([good], 0))
    assert [check.holds for check in push.checks([good, missed], 1)] == [False, False, True, False]


@pytest.fixture(scope="module")
def pressed():
    logs = wall.perform(wall.SECONDS, stiffnesses=(500.0, 5000.0), delays=(0, 2, 8))
    return {case: wall.judge(*case, log) for case, log in logs.items()}


@pytest.mark.parametrize("stiffness", [500.0, 5000.0])
def test_contact_settles_at_the_force_of_the_spring_unless_delay_makes_energy(pressed, stiffness):
    prompt, safe, late = (pressed[stiffness, delay] for delay in (0, 2, 8))
    assert prompt.settled and safe.settled and not late.settled
    assert prompt.mean == pytest.approx(wall.FORCE, rel=0.1) == safe.mean
    assert prompt.flowed > 0.01
    assert prompt.made < wall.NUMERICAL * prompt.flowed
    assert late.made > 0.1 * late.flowed


def test_numbers_that_are_none_never_hold():
    assert not results.at_most("x", float("nan"), 1.0).holds
    assert not results.at_least("x", float("nan"), 1.0).holds


def test_floating_robot_runs_in_lock_step_too():
    """Feet on the floor, torques of the joints only: what a humanoid's experiment needs."""
    description = describe("biped12")
    with served(description, "floating") as client:
        plant = Plant(description, "floating", (Wall(np.zeros(3), np.array([0.0, 0.0, 1.0])),))
        q = plant.robot.neutral()
        q[2] = 2.0
        plant.reset(q, np.zeros(plant.robot.nv))
        session = client.session("gravity", gains={"damping": 1.0}, **LAW_ALONE)
        loop = Loop(plant, session, lambda t: {})
        (log,) = run_together([loop], 0.05)
    assert not log["status"].any()
    assert not log["tau"][:, :6].any()
    joints = [plant.robot.gravity(row)[6:] for row in log["q"]]
    np.testing.assert_allclose(log["tau"][:, 6:], joints - log["v"][:, 6:], atol=1e-9)
    fallen = 0.5 * 9.81 * log["time"][-1] ** 2
    com = [plant.robot.center_of_mass(row)[2] for row in log["q"][[0, -1]]]
    assert com[0] - com[1] == pytest.approx(fallen, rel=0.05)
