"""Friction that is known: laws overcome it, and the observer does not take it for a contact."""

from __future__ import annotations

import numpy as np
import pytest

from support.disturbances import follow, friction_of, plant_of, rms, rub, swing
from support.robots import without_effort_limits
from torqued.kernels import InputError, Robot
from torqued.kernels.control.controller import Controller

LAWS = ("pd_plus", "computed_torque", "passivity")
ARMS = ("panda", "ur5", "ur10", "z1")
CASES = [(name, law) for name in ARMS for law in LAWS]
CASES += [("kinova", "computed_torque"), ("xarm7", "computed_torque")]
#: s, and from when on errors count.
SECONDS, SETTLED = 1.6, 400
#: rad, RMS: what is claimed.
CLOSE = 20e-3


@pytest.mark.parametrize(("name", "law"), CASES)
def test_arms_with_friction_are_followed_as_those_without(name, law):
    plant = plant_of(name)
    friction = friction_of(plant)
    motion = swing(plant, name)
    free = follow(plant, Controller(plant.robot, law), motion, SECONDS)
    rub(plant, **friction)
    known = follow(plant, Controller(plant.robot, law, friction=friction), motion, SECONDS)
    unknown = follow(plant, Controller(plant.robot, law), motion, SECONDS)
    errors = {key: rms(log["error"][SETTLED:]) for key, log in (("free", free), ("known", known))}
    assert errors["free"] < CLOSE
    assert errors["known"] < 0.1 * CLOSE
    assert errors["known"] < 0.2 * rms(unknown["error"][SETTLED:])


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_observer_is_quiet_where_friction_is_known(name):
    """1 N m s/rad and 0.5 N m in every joint, whatever its strength."""
    plant = plant_of(name)
    rub(plant, 1.0, 0.5)
    motion = swing(plant, name)
    observer = {"threshold": 0.02 * plant.robot.limits.effort}
    friction = {"viscous": 1.0, "coulomb": 0.5}
    told = Controller(plant.robot, "passivity", observer=observer, friction=friction)
    untold = Controller(plant.robot, "passivity", observer=observer)
    assert not follow(plant, told, motion, SECONDS)["contact"].any()
    assert follow(plant, untold, motion, SECONDS)["contact"].mean() > 0.5


def test_observer_with_known_friction_still_feels_a_push():
    plant = plant_of("panda")
    friction = friction_of(plant)
    rub(plant, **friction)
    motion = swing(plant, "panda")
    controller = Controller(plant.robot, "passivity", observer=True, friction=friction)
    log = follow(plant, controller, motion, 0.5)
    assert not log["contact"].any()
    pushed = np.array([0.0, 0.0, 0.0, 12.0, 0.0, 0.0, 0.0])
    q, v = plant.q, plant.v
    for _ in range(200):
        references = dict(zip(("q_ref", "v_ref", "a_ref"), motion(plant.time), strict=True))
        output = controller.torque(q, v, 1e-3, **references)
        plant.step(output.tau + pushed)
        q, v = plant.q, plant.v
    assert output.contact == 1.0 and output.link == 3.0


@pytest.mark.parametrize("name", ["panda", "z1"])
def test_an_arm_that_is_let_go_comes_to_rest_later_than_without(name):
    """By measured velocities, which have noise: what is left of the friction brakes."""
    plant, rng = plant_of(name), np.random.default_rng(0)
    friction = friction_of(plant)
    rub(plant, **friction)
    energies = {}
    for known, option in ((True, friction), (False, False)):
        controller = Controller(plant.robot, "gravity", friction=option, gains={"damping": 0.0})
        plant.reset(swing(plant, name).center, np.full(plant.robot.nv, 0.2))
        energy = []
        for _ in range(600):
            noisy = plant.v + 1e-3 * rng.normal(size=plant.robot.nv)
            plant.step(controller.torque(plant.q, noisy).tau)
            energy.append(plant.robot.energy(plant.q, plant.v)[0])
        energies[known] = np.array(energy)
    assert (np.diff(energies[True]) < 1e-4 * energies[True][0]).all()
    assert energies[True][-1] < 0.9 * energies[True][0]
    assert energies[False][-1] < 0.5 * energies[True][-1]


@pytest.mark.parametrize(
    "law", ["gravity", "pd", "pd_plus", "computed_torque", "passivity", "impedance"]
)
def test_what_is_left_of_friction_takes_energy(law):
    """Compensation less friction, at the velocity that laws with a reference brake: never gives."""
    robot = without_effort_limits(Robot.named("ur5"))
    friction = {"viscous": 1.5, "coulomb": 2.0, "smoothing": 0.05}
    options = {"frame": "tool0"} if law == "impedance" else {}
    plain = Controller(robot, law, **options)
    told = Controller(robot, law, friction=friction, **options)
    rng = np.random.default_rng(0)
    for _ in range(100):
        q, v = robot.random_state(rng)
        v *= rng.choice([0.01, 0.3, 1.0])
        wanted = rng.choice([0.01, 0.3, 1.0]) * rng.normal(size=robot.nv)
        references = {"q_ref": q, "v_ref": wanted} if "v_ref" in told.references else {}
        if law == "impedance":
            references = {"velocity": wanted}
        without, given = plain.torque(q, v, **references), told.torque(q, v, **references)
        added = given.tau - without.tau
        lost = 1.5 * v + 2.0 * np.tanh(v / 0.05)
        port = v - wanted if "v_ref" in references else given.port
        assert (port * (added - lost)).max() <= 1e-9
        # And it is in the law's account of power.
        power = given.reference_power - without.reference_power
        assert power == pytest.approx(float(given.port @ added), rel=1e-9, abs=1e-9)


@pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")
@pytest.mark.parametrize("law", ["gravity", "wholebody"])
def test_noise_of_a_robot_at_rest_is_not_compensated(law):
    """Velocities of an encoder, 1 mrad/s: of Coulomb friction nothing answers, once it moves most.

    Kinova's joints are slow, 0.63 rad/s: a hundredth of that is not much more than the noise.
    """
    robot = without_effort_limits(Robot.named("kinova"))
    options = {"tasks": [{"kind": "posture"}]} if law == "wholebody" else {}
    plain = Controller(robot, law, **options)
    told = Controller(robot, law, friction={"viscous": 0.0, "coulomb": 1.0}, **options)
    rng, q = np.random.default_rng(0), robot.neutral()
    for v in 1e-3 * np.clip(rng.normal(size=(50, robot.nv)), -3.9, 3.9):
        np.testing.assert_array_equal(told.torque(q, v).tau, plain.torque(q, v).tau)
    v = np.full(robot.nv, 0.3)
    np.testing.assert_allclose(told.torque(q, v).tau - plain.torque(q, v).tau, 0.8, atol=1e-6)


def test_friction_comes_from_the_file_when_asked_for_and_from_configuration_always():
    z1 = Robot.named("z1")
    assert Controller(z1, "passivity").friction.as_map() == {}
    asked = Controller(z1, "passivity", friction=True).friction.as_map()
    assert np.array_equal(asked["viscous"], z1.limits.damping)
    assert np.array_equal(asked["coulomb"], z1.limits.friction)
    measured = z1.with_friction({"viscous": {z1.joint_names[0]: 3.0}})
    unasked = Controller(measured, "passivity").friction.as_map()
    assert unasked["viscous"].tolist() == [3.0, *z1.limits.damping[1:]]
    assert Controller(measured, "passivity", friction=False).friction.as_map() == {}
    assert (
        Controller(z1.with_friction({"viscous": 0.0, "coulomb": 0.0}), "pd").friction.as_map() == {}
    )


def test_followers_add_their_friction_to_that_of_their_leader():
    panda = Robot.named("panda", locked=())  # a finger follows the other, 0.3 N s/m each
    found = Controller(panda, "pd", friction=True).friction
    assert found.viscous[-1] == pytest.approx(0.6)
    assert found.viscous[0] == pytest.approx(0.003)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (True, "friction: robot 'ur5' has none in its file or configuration"),
        ({"viscous": -1.0}, r"friction.viscous has -1.0, expected zero or positive numbers"),
        ({"coulomb": [1.0, 2.0]}, r"friction.coulomb: shape \(2,\), expected"),
        ({"smoothing": 0.0, "coulomb": 1.0}, "friction.smoothing has 0.0, expected 0.0001"),
        ({"share": 1.2, "coulomb": 1.0}, "friction.share is 1.2, expected 0 … 1"),
        ({"stiction": 1.0}, "friction: 'stiction' is unknown, allowed: viscous, coulomb"),
        (3.0, "friction: 3.0, expected true, false, or a map"),
    ],
)
def test_wrong_friction_is_refused(given, message):
    with pytest.raises(InputError, match=message):
        Controller(Robot.named("ur5"), "passivity", friction=given)


def test_a_law_that_goes_by_the_measured_velocity_leaves_some_friction():
    with pytest.raises(InputError, match=r"share is 1.0, expected 0 … 0.95 for a law without"):
        Controller(Robot.named("ur5"), "gravity", friction={"coulomb": 1.0, "share": 1.0})
    assert (
        Controller(Robot.named("ur5"), "gravity", friction={"coulomb": 1.0}).friction.share == 0.8
    )


def test_bases_that_float_have_no_friction():
    robot = Robot.family("biped", 8)
    contacts = [{"frame": robot.frame_names[-1]}]
    told = Controller(robot, "balance", contacts=contacts, friction={"viscous": 2.0})
    assert told.friction.viscous.tolist() == [0.0] * 6 + [2.0] * (robot.nv - 6)
