"""All links of an arm from a motion; torques come from an arm that differs from its description."""

import json
import tomllib
import warnings
from dataclasses import replace

import numpy as np
import pytest

from support.disturbances import CENTRES, friction_of, plant_of
from torqued.common.errors import InputError, ModelWarning
from torqued.kernels import Robot
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.catalog import describe
from torqued.kernels.model.description import Inertia
from torqued.kernels.model.rotors import with_armature
from torqued.tools.cli.identify import toml
from torqued.tools.cli.options import as_json
from torqued.tools.demos.trajectories import Sines
from torqued.tools.recording.arm import base_parameters, identify_arm
from torqued.tools.recording.identification import Equations
from torqued.tools.recording.pseudo_inertia import pseudo_inertia
from torqued.tools.recording.samples import Samples

STEP = 4e-3


def true_arm(name, seed=0):
    """Each link a fifth heavier or lighter, its mass moved by about 2 cm and stretched; rotors."""
    rng, description, links = np.random.default_rng(seed), describe(name), []
    for link in description.links:
        own, k = link.inertia, 1.0 + 0.2 * rng.choice([-1.0, 1.0])
        spread = 0.5 * np.trace(own.rotational) * np.eye(3) - own.rotational
        stretch = np.eye(3) + 0.1 * rng.uniform(-1.0, 1.0, (3, 3))
        spread = k * stretch @ spread @ stretch.T
        rotational = np.trace(spread) * np.eye(3) - spread
        at = own.com + 0.012 * rng.normal(size=3) * (own.mass > 0.0)
        links.append(replace(link, inertia=Inertia(k * own.mass, at, rotational)))
    effort = plant_of(name).robot.limits.effort
    rotors = dict(zip(plant_of(name).robot.joint_names, (0.003 * effort).tolist(), strict=True))
    moved = replace(description, links=tuple(links))
    return Robot.from_description(with_armature(moved, rotors))


def moved_by(true, name, seconds=12.0, noise=1.0, seed=0, still=()):
    """Samples with noise of 10 µrad, 1 mrad/s, and 0.5 % of torque."""
    n, rng = true.nv, np.random.default_rng(seed)
    limits = true.limits
    middle = 0.5 * (limits.lower + limits.upper)
    amplitude = np.minimum(0.9, 0.3 * limits.velocity) * ~np.isin(np.arange(n), still)
    frequencies = 0.25 + 0.13 * np.random.default_rng(3).permutation(n)
    motion = Sines(CENTRES.get(name, middle), amplitude, frequencies, start=0.5)
    time = np.arange(0.0, seconds, STEP)
    v = np.array([motion(t)[1] for t in time]) + noise * 1e-3 * rng.normal(size=(len(time), n))
    middle = time[:-1] + 0.5 * STEP
    q, speed, a = (np.array(x) for x in zip(*map(motion, middle), strict=True))
    tau = np.array([true.inverse_dynamics(*row) for row in zip(q, speed, a, strict=True)])
    friction = friction_of(plant_of(name))
    tau += friction["viscous"] * speed + friction["coulomb"] * np.sign(speed)
    tau += noise * 5e-3 * tau.std(axis=0) * rng.normal(size=tau.shape)
    q = q + noise * 1e-5 * rng.normal(size=q.shape)
    return Samples(middle, q, 0.5 * (v[1:] + v[:-1]), np.diff(v, axis=0) / STEP, tau)


def described(name):
    return Robot.from_description(describe(name))


def truth(true, sums):
    return sums @ np.concatenate([true.limits.armature, true.inertial_parameters])


@pytest.mark.parametrize("name", ["ur5", "panda", "z1"])
def test_configuration_that_is_found_predicts_torques_of_other_motions(name):
    true, file = true_arm(name), described(name)
    found = identify_arm([moved_by(true, name)], file, file)
    assert (found.held_out_found < found.held_out_file / 6.0).all()
    assert (
        np.sqrt(np.mean(np.square(found.base - truth(true, found.sums)) / found.base_error**2))
        < 1.5
    )
    table = tomllib.loads(toml(found))["robot"]
    robot = Robot.load(name, **table)
    assert np.allclose(robot.limits.armature, found.rotor, rtol=1e-5)
    for body in robot.inertial_parameters.reshape(-1, 10):
        assert np.linalg.eigvalsh(pseudo_inertia(body)).min() > 0.0
    rng, worst = np.random.default_rng(1), np.zeros(2)
    for _ in range(20):
        q = moved_by_center(name, true) + rng.uniform(-0.7, 0.7, true.nv)
        M, C = true.mass_matrix(q), true.coriolis_matrix(q, v := rng.normal(size=true.nv))
        root = np.linalg.inv(np.linalg.cholesky(M))
        off = [np.linalg.norm(root @ (r.mass_matrix(q) - M) @ root.T, 2) for r in (file, robot)]
        assert off[1] < 0.25 * off[0]
        off = [np.linalg.norm(r.coriolis_matrix(q, v) - C) for r in (file, robot)]
        worst = np.maximum(worst, np.array(off) / np.linalg.norm(C))
    assert worst[1] < 0.25 * worst[0]
    assert json.loads(as_json(vars(found)))["names"] == found.names


def moved_by_center(name, robot):
    return CENTRES.get(name, 0.5 * (robot.limits.lower + robot.limits.upper))


def test_what_torques_do_not_show_stays_as_the_file_says():
    """Without errors of the file, everything does: links of a motion of half of the joints too."""
    file = described("ur5")
    found = identify_arm([moved_by(file, "ur5", noise=0.0, still=(0, 1, 2))], file, file)
    for link in found.links:
        own = Robot.from_description(describe("ur5"))
        own.set_inertia(link["frame"], link["mass"], link["center"], link["inertia"])
        assert np.allclose(own.inertial_parameters, file.inertial_parameters, atol=2e-4)
    assert np.isinf(found.rotor_error[:3]).all() and np.isfinite(found.rotor_error[3:]).all()
    assert "friction and rotor of elbow_joint, which did not move" in found.unclear
    assert any(words.startswith("upper_arm_link m cx") for words in found.unclear)
    assert not any(words.startswith("wrist_3_link m cx") for words in found.unclear)
    assert np.allclose(found.rotor, file.limits.armature, atol=1e-3)


@pytest.mark.parametrize("name", ["ur5", "panda"])
def test_base_parameters_are_as_many_as_pinocchio_sees_and_say_all_that_torques_do(name):
    pinocchio = pytest.importorskip("pinocchio")
    robot, model = described(name), pinocchio.buildModelFromXML(to_urdf(describe(name)))
    data, rng, rows, own = model.createData(), np.random.default_rng(0), [], []
    names, sums = base_parameters(robot)
    for _ in range(100):
        (q, v), a = robot.random_state(rng), rng.normal(size=robot.nv)
        regressor = pinocchio.computeJointTorqueRegressor(model, data, q, v, a)
        rows.append(np.hstack([np.diag(a), regressor]))
        own.append(np.hstack([np.diag(a), robot.regressor(q, v, a)]))
    assert np.linalg.matrix_rank(np.concatenate(rows), rtol=1e-9) == len(names)
    unseen = np.linalg.svd(sums)[2][len(names) :]
    assert np.abs(np.concatenate(own) @ unseen.T).max() < 1e-9 * np.abs(own).max() * 100


@pytest.mark.slow
@pytest.mark.parametrize("name", ["ur5", "z1"])
def test_errors_hold_the_truth_for_many_arms(name, monkeypatch):
    """With 24 stretches, |t| < 2 has a probability of 0.942; base parameters and rotors."""
    monkeypatch.setattr(Samples, "at_the_beginning", lambda self, _: self)  # stamps are right
    file, ratios = described(name), []
    for seed in range(12):
        true = true_arm(name, seed)
        found = identify_arm([moved_by(true, name, seed=seed)], file, file)
        base = (found.base - truth(true, found.sums)) / found.base_error
        ratios.append(
            np.concatenate([base, (found.rotor - true.limits.armature) / found.rotor_error])
        )
    chi = np.mean(np.square(ratios), axis=0)
    assert 0.4 < chi.mean() < 1.4 and chi.max() < 4.0
    assert np.mean(np.abs(ratios) > 2.0) < 0.1 and np.mean(np.abs(ratios) > 3.0) < 0.02


def test_several_recordings_are_one_equation():
    """Neither of two motions of half of the joints shows what both together do."""
    true, file = true_arm("ur5"), described("ur5")
    halves = [moved_by(true, "ur5", still=still) for still in ((0, 1, 2), (3, 4, 5))]
    both = identify_arm(halves, file, file)
    assert both.samples == sum(len(half.time) for half in halves)
    alone = identify_arm(halves[:1], file, file)
    assert len(both.unclear) < len(alone.unclear)
    assert np.isfinite(both.rotor_error).all()


def test_a_tool_stays_as_it_is_given():
    tool = {"frame": "tool0", "mass": 1.5, "center": [0.0, 0.02, 0.1]}
    true, file = true_arm("ur5"), described("ur5")
    samples = moved_by(true.with_payload(tool), "ur5")
    with_tool = identify_arm([samples], file.with_payload(tool), file)
    table = tomllib.loads(toml(with_tool))["robot"]
    robot = Robot.load("ur5", tool=tool, **table)
    q = CENTRES["ur5"]
    expected = true.with_payload(tool).gravity(q)
    assert np.allclose(robot.gravity(q), expected, atol=0.02 * np.abs(expected).max())
    assert as_mass(with_tool, "wrist_3_link") == pytest.approx(0.1879, rel=0.5)


def as_mass(found, frame):
    return next(link["mass"] for link in found.links if link["frame"] == frame)


def test_file_with_impossible_inertia_is_replaced_by_possible_bodies():
    description, name = describe("ur5"), "forearm_link"
    links = tuple(
        replace(x, inertia=replace(x.inertia, rotational=np.diag([1e-9, 1e-9, 0.3])))
        if x.name == name
        else x
        for x in description.links
    )
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        file = Robot.from_description(replace(description, links=links), accept_unphysical=True)
    found = identify_arm([moved_by(true_arm("ur5"), "ur5", seconds=6.0)], file, file)
    for link in found.links:
        file.set_inertia(**link)  # refuses what no body has
    for body in file.inertial_parameters.reshape(-1, 10):
        assert np.linalg.eigvalsh(pseudo_inertia(body)).min() > 0.0


def test_what_cannot_be_identified_is_refused_in_words():
    file = described("ur5")
    samples = moved_by(file, "ur5", seconds=0.6, still=range(6))
    with pytest.raises(InputError, match="too little motion"):
        identify_arm([samples], file, file)
    biped = Robot.family("biped", 8)
    with pytest.raises(InputError, match="floating base"):
        identify_arm([samples], biped, biped)
    gripper = Robot.named("panda", locked=())
    with pytest.raises(InputError, match="has mimic joints: use a configuration that locks"):
        identify_arm([samples], gripper, gripper)


def test_equations_are_those_of_the_description_where_links_are_as_it_says():
    file = described("ur5")
    samples = moved_by(file, "ur5", seconds=1.0)
    plain = Equations(samples, file, "", None)
    links = Equations(samples, file, "", file.inertial_parameters)
    assert np.allclose(plain.model, links.model, atol=1e-9)
