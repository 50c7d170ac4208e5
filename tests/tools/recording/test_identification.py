"""Payload, friction and rotors from a motion, against MuJoCo's arms that have them exactly."""

import tomllib
from dataclasses import replace

import numpy as np
import pytest

from support.disturbances import STEP, friction_of, plant_of, rub, swing
from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.kernels.control import Controller
from torqued.kernels.model.catalog import describe
from torqued.kernels.model.description import Inertia
from torqued.kernels.model.payloads import loads_of
from torqued.kernels.model.rotors import with_armature
from torqued.tools.cli.identify import toml
from torqued.tools.demos.models import with_payload
from torqued.tools.demos.plant import Plant
from torqued.tools.demos.trajectories import Sines
from torqued.tools.recording.identification import identify
from torqued.tools.recording.pseudo_inertia import (
    as_load,
    moved,
    parameters,
    pseudo_inertia,
)
from torqued.tools.recording.samples import Samples

MASS, AT, EDGE = 1.5, np.array([0.03, -0.02, 0.08]), 0.1
ARMS = {"panda": "panda_hand", "ur5": "tool0"}
#: kg m² of a UR5's drives, in recordings with noise.
ROTORS = np.array([0.6, 0.6, 0.6, 0.1, 0.1, 0.1])


def moved_arm(name, seconds=8.0, noise=0.0, mass=MASS, rotors=None, delay=0.0, wrong=0.0):
    """Samples of an arm with a payload and friction that its model knows nothing of, nor of
    `rotors` by joint, nor that its links are `wrong`: heavier and lighter by this share. Torques
    act `delay` s late: half milliseconds."""
    description = describe(name)
    bare = plant_of(name)
    rng = np.random.default_rng(0)
    links = []
    for link in description.links:
        k = 1.0 + wrong * rng.choice([-1.0, 1.0])
        i = link.inertia
        links.append(replace(link, inertia=Inertia(k * i.mass, i.com, k * i.rotational)))
    description = replace(description, links=tuple(links))
    if rotors is not None:
        description = with_armature(description, rotors)
    loaded = with_payload(description, ARMS[name], mass, AT, EDGE) if mass else description
    plant = Plant(loaded)
    rub(plant, **friction_of(bare))
    n = bare.robot.nv
    amplitude = np.minimum(0.6, 0.2 * bare.robot.limits.velocity)
    center = swing(bare, name)(0.0)[0]
    motion = Sines(center, amplitude, 0.3 + 0.11 * np.arange(n), start=0.5)
    controller = Controller(bare.robot, "computed_torque")
    plant.reset(*motion(0.0)[:2])
    rng, rows, half = np.random.default_rng(0), [], 0.5 * STEP
    sent = []
    for _ in range(round(seconds / STEP)):
        given = dict(zip(("q_ref", "v_ref", "a_ref"), motion(plant.time), strict=True))
        tau = controller.torque(plant.q, plant.v, STEP, **given).tau
        sent = sent or [tau] * round(delay / half)
        measured = plant.v + noise * rng.normal(size=n)
        rows.append((plant.time, plant.q.copy(), measured, tau))
        sent += [tau, tau]
        if delay:
            plant.step(sent.pop(0), half)
            plant.step(sent.pop(0), half)
        else:
            plant.step(tau, STEP)
    time, q, v, tau = (np.array(column) for column in zip(*rows, strict=True))
    middle = 0.5 * (v[1:] + v[:-1])
    samples = Samples(
        time[:-1] + 0.5 * STEP,
        q[:-1] + 0.5 * STEP * middle,
        middle,
        np.diff(v, axis=0) / STEP,
        tau[:-1],
    )
    return samples, bare, friction_of(bare)


@pytest.mark.parametrize(("name", "noise"), [("panda", 0.0), ("ur5", 1e-3)])
def test_payload_and_friction_are_found(name, noise):
    samples, bare, friction = moved_arm(name, noise=noise)
    found = identify(samples, bare.robot, ARMS[name])
    mass, center, inertia = as_load(found.p)
    assert mass == pytest.approx(MASS, rel=5e-3)
    assert np.allclose(center, AT, atol=1e-3)
    cube = MASS * EDGE**2 / 6.0
    assert np.allclose(inertia, cube * np.array([1, 0, 0, 1, 0, 1]), atol=0.15 * cube)
    assert np.allclose(found.viscous, friction["viscous"], rtol=0.03)
    assert np.allclose(found.coulomb, friction["coulomb"], rtol=0.04)
    assert np.allclose(found.rotor, bare.robot.limits.armature, atol=3e-3)
    assert found.unclear == []
    assert (found.residual < 0.1 * found.torque).all()
    assert (found.p_error[0] < 0.01 * MASS) and (found.p_error[1:4] < 1e-3).all()


def test_rotors_that_a_model_lacks_are_found():
    """Of a UR5 whose drives are as heavy as geared ones are; its model has none."""
    true = 0.005 * plant_of("ur5").robot.limits.effort
    rotors = dict(zip(Robot.named("ur5").joint_names, true.tolist(), strict=True))
    samples, bare, friction = moved_arm("ur5", noise=1e-3, rotors=rotors)
    assert not bare.robot.limits.armature.any()
    found = identify(samples, bare.robot, "tool0")
    assert np.allclose(found.rotor, true, rtol=0.01, atol=2e-3)
    assert (found.rotor_error < 0.01 * true + 2e-3).all()
    assert np.abs(found.rotor - true).max() < 5.0 * found.rotor_error.max()
    assert np.array_equal(found.rotor_known, found.rotor)
    assert np.allclose(found.viscous, friction["viscous"], rtol=0.03)
    assert as_load(found.p)[0] == pytest.approx(MASS, rel=5e-3)
    table = tomllib.loads(toml(found))["robot"]
    robot = Robot.load("ur5", **table)
    assert np.allclose(robot.limits.armature, found.rotor, rtol=1e-5)


def test_rotor_of_a_joint_that_did_not_accelerate_is_left_as_the_model_has_it():
    robot = Robot.named("panda")
    time = np.arange(0.0, 4.0, STEP)
    motion = Sines(
        swing(plant_of("panda"), "panda")(0.0)[0], np.full(7, 0.3), 0.4 + 0.1 * np.arange(7)
    )
    q, v, a = (np.array(x) for x in zip(*map(motion, time), strict=True))
    q[:, 0], v[:, 0], a[:, 0] = 0.2 * time, 0.2, 0.0  # evenly
    q[:, 1], v[:, 1], a[:, 1] = q[0, 1], 0.0, 0.0
    tau = np.array([robot.inverse_dynamics(*row) for row in zip(q, v, a, strict=True)])
    lighter = Robot.named("panda", armature={f"panda_joint{k}": 0.01 for k in range(1, 8)})
    found = identify(Samples(time, q, v, a, tau), lighter, "panda_hand")
    assert "rotor of panda_joint1, which did not accelerate" in found.unclear
    assert "friction and rotor of panda_joint2, which did not move" in found.unclear
    assert found.rotor_known[:2].tolist() == [0.01, 0.01]
    assert np.allclose(found.rotor_known[2:], robot.limits.armature[2:], rtol=0.01)


def parameters_of(robot, frame):
    load = {"frame": frame, "mass": MASS, "center": AT, "inertia": MASS * EDGE**2 / 6 * np.eye(3)}
    (load,) = loads_of(robot.model, "payload", load)
    place = next(item for item in robot.model.frames if item.name == frame)
    return np.linalg.solve(moved(place.rotation, place.position), load.parameters)


def test_tables_are_what_a_configuration_takes():
    samples, bare, friction = moved_arm("ur5")
    found = identify(samples, bare.robot, "tool0")
    table = tomllib.loads(toml(found))["robot"]
    robot = Robot.load("ur5", **table)
    q = np.linspace(-1.0, 1.0, 6)
    load = {"frame": "tool0", "mass": MASS, "center": AT.tolist()}
    expected = Robot.load("ur5", payload=load)
    assert np.allclose(robot.gravity(q), expected.gravity(q), atol=0.1)
    assert np.allclose(robot.limits.friction, friction["coulomb"], rtol=0.04)


def test_motion_of_one_joint_says_what_it_cannot_tell():
    bare = plant_of("panda")
    heavy = Plant(with_payload(describe("panda"), "panda_hand", MASS, AT, EDGE)).robot
    friction = friction_of(bare)
    time = np.arange(0.0, 4.0, STEP)
    q, v, a = (
        np.tile(x, (len(time), 1)) for x in (swing(bare, "panda")(0.0)[0], *np.zeros((2, 7)))
    )
    q[:, 5] += 0.6  # its axis is not vertical
    q[:, 6] += 0.5 * np.sin(3.0 * time)
    v[:, 6], a[:, 6] = 1.5 * np.cos(3.0 * time), -4.5 * np.sin(3.0 * time)
    tau = np.array([heavy.inverse_dynamics(*row) for row in zip(q, v, a, strict=True)])
    tau += friction["viscous"] * v + friction["coulomb"] * np.sign(v)
    found = identify(Samples(time, q, v, a, tau), bare.robot, "panda_hand")
    assert "m by itself" in found.unclear  # a wrist that turns feels no weight on its own axis
    assert "m cz by itself" in found.unclear
    assert np.isinf(found.p_error[[0, 3]]).all() and np.isfinite(found.p_error[1:3]).all()
    assert np.isinf(found.viscous_error[:6]).all() and np.isfinite(found.viscous_error[6])
    others = ", ".join(f"panda_joint{k}" for k in range(1, 7))
    assert f"friction and rotor of {others}, which did not move" in found.unclear
    assert found.viscous[6] == pytest.approx(friction["viscous"][6], rel=1e-3)
    assert found.coulomb[6] == pytest.approx(friction["coulomb"][6], rel=1e-3)
    # What is not seen is filled in so that some body can have it.
    assert np.linalg.eigvalsh(pseudo_inertia(found.p)).min() > 0.0
    assert np.allclose(found.p[1:3], MASS * AT[:2], rtol=0.02)


def test_robot_that_stood_still_is_refused():
    robot = plant_of("panda").robot
    time = np.arange(0.0, 2.0, STEP)
    q = np.tile(robot.neutral(), (len(time), 1))
    v = 1e-3 * np.random.default_rng(0).normal(size=q.shape)  # noise of its sensors
    samples = Samples(time, q, v, np.zeros_like(q), np.tile(robot.gravity(q[0]), (len(time), 1)))
    with pytest.raises(InputError, match="too little motion: 0 equations for 10 unknowns"):
        identify(samples, robot, "panda_hand")


def test_estimate_is_always_a_possible_body():
    samples, bare, _ = moved_arm("panda", mass=0.0, seconds=4.0, noise=5e-3)
    found = identify(samples, bare.robot, "panda_hand")  # nothing is carried
    assert np.linalg.eigvalsh(pseudo_inertia(found.p)).min() > 0.0
    assert 0.0 < found.p[0] < 0.05
    assert (found.viscous >= 0.0).all() and (found.coulomb >= 0.0).all()


def test_floating_base_and_unknown_or_fixed_frames_are_refused():
    samples, bare, _ = moved_arm("panda", seconds=0.3)
    with pytest.raises(InputError, match="frame"):
        identify(samples, bare.robot, "nowhere")
    with pytest.raises(InputError, match="does not move"):
        identify(samples, bare.robot, "panda_link0")
    with pytest.raises(InputError, match="floating base"):
        identify(samples, Robot.family("biped", 8), "link_left_4")


def test_pseudo_inertia_and_parameters_are_each_others_inverses():
    p = np.random.default_rng(0).normal(size=10)
    assert np.allclose(parameters(pseudo_inertia(p)), p)
    with_products = np.array([1.0, 0.1, 0.2, 0.3, 0.5, 0.01, 0.02, 0.6, 0.03, 0.7])
    J = pseudo_inertia(with_products)  # its trace has the mean square of positions
    assert np.trace(J[:3, :3]) == pytest.approx(0.5 * (0.5 + 0.6 + 0.7))
    assert J[3].tolist() == [0.1, 0.2, 0.3, 1.0]


def test_parameters_move_as_a_body_of_points_does():
    rng = np.random.default_rng(1)
    points, masses = rng.normal(size=(6, 3)), rng.uniform(0.1, 1.0, 6)
    R = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    R *= np.sign(np.linalg.det(R))
    p = rng.normal(size=3)

    def of(points):
        about = sum(
            m * (x @ x * np.eye(3) - np.outer(x, x)) for m, x in zip(masses, points, strict=True)
        )
        return np.concatenate([[masses.sum()], masses @ points, about[np.triu_indices(3)]])

    assert np.allclose(moved(R, p) @ of(points), of(points @ R.T + p))


def noisy_recordings(count, noise=1.0):
    """Samples of one motion of a UR5 with payload and friction, each with noise of its own: white
    in velocities, and so in accelerations; related over 0.05 s in torques. And x as it is."""
    bare = plant_of("ur5")
    heavy = Plant(with_payload(describe("ur5"), "tool0", MASS, AT, EDGE)).robot
    friction, n, step = friction_of(bare), bare.robot.nv, 0.004
    amplitude = np.minimum(0.6, 0.2 * bare.robot.limits.velocity)
    center = swing(bare, "ur5")(0.0)[0]
    motion = Sines(center, amplitude, 0.3 + 0.11 * np.arange(n), start=0.5)
    time = np.arange(0.0, 8.0, step)
    middle = time[:-1] + 0.5 * step
    v = np.array([motion(t)[1] for t in time])
    q, speed, a = (np.array(x) for x in zip(*map(motion, middle), strict=True))
    tau = np.array([heavy.inverse_dynamics(*row) for row in zip(q, speed, a, strict=True)])
    tau += friction["viscous"] * speed + friction["coulomb"] * np.sign(speed) + ROTORS * a
    truth = parameters_of(bare.robot, "tool0"), friction["viscous"], friction["coulomb"], ROTORS
    keep = np.exp(-step / 0.05)
    samples = []
    for seed in range(count):
        rng = np.random.default_rng(seed)
        measured = v + noise * 1e-3 * rng.normal(size=v.shape)
        disturbance = np.zeros_like(tau)
        for k in range(1, len(tau)):
            disturbance[k] = keep * disturbance[k - 1] + np.sqrt(1.0 - keep**2) * rng.normal(size=n)
        mean, rate = 0.5 * (measured[1:] + measured[:-1]), np.diff(measured, axis=0) / step
        disturbed = tau + noise * 0.005 * tau.std(axis=0) * disturbance
        samples.append(Samples(middle, q, mean, rate, disturbed))
    return samples, bare.robot, np.concatenate(truth)


@pytest.mark.parametrize(("name", "delay"), [("panda", 1e-3), ("ur5", 1.5e-3)])
def test_torques_that_are_late_are_found_to_be_and_errors_cover_what_is_left(name, delay):
    """MuJoCo's own steps of half a millisecond are part of what no residual shows."""
    samples, bare, friction = moved_arm(name, noise=1e-3, delay=delay)
    found = identify(samples, bare.robot, ARMS[name])
    assert found.delay == pytest.approx(delay, abs=0.2e-3)
    assert found.delay_error < 0.3e-3
    assert np.allclose(found.viscous, friction["viscous"], rtol=0.03)
    truth = [parameters_of(bare.robot, ARMS[name]), *friction.values(), bare.robot.limits.armature]
    x = np.concatenate([found.p, found.viscous, found.coulomb, found.rotor, [found.delay]])
    errors = [found.p_error, found.viscous_error, found.coulomb_error, found.rotor_error]
    error = np.concatenate([*errors, [found.delay_error]])
    ratio = np.abs(x - np.concatenate([*truth, [delay]])) / error
    assert np.mean(ratio > 3.0) <= 0.05


@pytest.mark.parametrize("name", ["panda", "ur5"])
def test_errors_of_links_cancel_with_a_recording_without_the_payload(name):
    loaded, bare, _ = moved_arm(name, seconds=5.0, noise=1e-3, mass=2.0, wrong=0.1)
    empty, _, _ = moved_arm(name, seconds=5.0, noise=1e-3, mass=0.0, wrong=0.1)
    plain = identify(loaded, bare.robot, ARMS[name])
    found = identify(loaded, bare.robot, ARMS[name], empty)
    assert abs(found.p[0] - 2.0) < min(0.01 * 2.0, 0.1 * abs(plain.p[0] - 2.0))
    assert np.allclose(as_load(found.p)[1], AT, atol=1e-3)
    assert np.abs(found.p[0] - 2.0) < 3.0 * found.p_error[0]
    assert (found.residual < 0.2 * plain.residual).all()


def test_joint_that_hardly_moved_is_not_known_too_well():
    samples, bare, _ = moved_arm("ur5", seconds=4.0)
    brief = samples.time < 0.7  # of the last joint
    v = np.where(brief[:, None] | (np.arange(6) < 5), samples.v, 0.0)
    found = identify(replace(samples, v=v), bare.robot, "tool0")
    assert "friction and rotor of wrist_3_joint, which did not move" in found.unclear
    assert found.rotor_known[5] == bare.robot.limits.armature[5]


def test_errors_cover_states_that_are_half_a_step_older_than_their_stamps():
    """No residual shows that; its share of errors comes from trying the same shift once more."""
    recordings, robot, truth = noisy_recordings(2, noise=0.1)
    for samples in recordings:
        found = identify(samples.at_the_beginning(robot), robot, "tool0")
        x = np.concatenate([found.p, found.viscous, found.coulomb, found.rotor])
        errors = [found.p_error, found.viscous_error, found.coulomb_error, found.rotor_error]
        assert (np.abs(x - truth) / np.concatenate(errors)).max() < 1.5


def test_two_standard_errors_hold_the_truth_about_19_times_in_20(monkeypatch):
    """28 numbers of each of 25 recordings. With 16 stretches, |t| < 2 has a probability of 0.936;
    numbers of one recording are related, so that the mean is good to ± 0.015."""
    recordings, robot, truth = noisy_recordings(25)
    monkeypatch.setattr(Samples, "at_the_beginning", lambda self, _: self)  # stamps are right
    held, ratios = [], []
    for samples in recordings:
        found = identify(samples, robot, "tool0")
        x = np.concatenate([found.p, found.viscous, found.coulomb, found.rotor])
        error = np.concatenate(
            [found.p_error, found.viscous_error, found.coulomb_error, found.rotor_error]
        )
        held.append(np.abs(x - truth) < 2.0 * error)
        ratios.append((x - truth) / error)
    assert 0.89 < np.mean(held) < 0.985
    # Neither is the estimate shifted, as it would be by noise in the regressor.
    assert np.abs(np.mean(ratios, axis=0)).max() < 1.0
    # None of the 28 is far too sure, nor of no use.
    spread = np.sqrt(np.mean(np.square(ratios), axis=0))
    assert (spread > 0.4).all() and (spread < 1.8).all()
