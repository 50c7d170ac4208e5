"""MuJoCo's arm with springs, and the law on arms that it was not tuned on."""

from __future__ import annotations

from collections import deque

import mujoco
import numpy as np
import pytest

from oracles.finite_differences import derivative
from torqued.kernels import Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.springs import Springs
from torqued.kernels.model.catalog import describe
from torqued.tools.demos import elastic
from torqued.tools.demos.elastic_plant import ElasticPlant
from torqued.tools.demos.models import panda
from torqued.tools.demos.trajectories import SmoothSines

DESCRIPTIONS = {"panda": panda(), "ur5": describe("ur5")}
UR5_SPRINGS = Springs(
    np.array([843.0] * 3 + [250.0] * 3), np.array([0.3] * 3 + [0.05] * 3), np.zeros(6)
)
UR5_MOTION = SmoothSines(
    np.array([0.2, -1.2, 1.5, -0.8, 0.6, 0.1]),
    np.array([0.5, 0.35, 0.45, 0.5, 0.6, 0.7]),
    np.array([0.45, 0.6, 0.5, 0.55, 0.6, 0.65]),
)
RATES = ("q_ref", "v_ref", "a_ref", "jerk_ref", "snap_ref")


@pytest.mark.parametrize("name", DESCRIPTIONS)
def test_mujocos_arm_moves_by_the_equations_of_springs(name):
    rng = np.random.default_rng(1)
    robot = Robot.from_description(DESCRIPTIONS[name])
    n = robot.nv
    springs = Springs(rng.uniform(100, 900, n), rng.uniform(0.05, 0.3, n), rng.uniform(0, 2, n))
    plant = ElasticPlant(DESCRIPTIONS[name], springs)
    q, v = robot.random_state(rng)
    theta, w, u = q + 0.1 * rng.normal(size=n), rng.normal(size=n), 10.0 * rng.normal(size=n)
    plant.data.qpos[:], plant.data.qvel[:] = np.append(q, theta), np.append(v, w)
    plant.data.qfrc_applied[n:] = u
    mujoco.mj_forward(plant.model, plant.data)
    torque = springs.stiffness * (theta - q) + springs.damping * (w - v)
    links = robot.forward_dynamics(q, v, torque)
    motors = (u - torque) / springs.motor_inertia
    assert np.allclose(plant.data.qacc, np.append(links, motors), rtol=1e-8, atol=1e-8)
    assert np.array_equal(plant.q, q) and np.array_equal(plant.motor_v, w)


def test_trajectory_has_the_derivatives_that_it_says():
    for t in (0.02, 0.4, 0.98, 1.7):
        now = UR5_MOTION.rates(t)
        for k in range(4):
            found = derivative(lambda h, k=k, t=t: UR5_MOTION.rates(t + h)[k], 0.01)
            assert np.abs(found - now[k + 1]).max() < 1e-7 * (1.0 + np.abs(now[k + 1]).max())
    for k, rate in enumerate(UR5_MOTION.rates(0.0)):
        assert np.allclose(rate, UR5_MOTION.center if k == 0 else 0.0)


def tracked(law, seconds=3.0, stiffness=1.0, delay=0, noise=(0.0, 0.0)):
    """RMS and largest error of links in rad after the first third, and names of status bits."""
    plant = ElasticPlant(DESCRIPTIONS["ur5"], UR5_SPRINGS)
    n, rng, statuses = plant.robot.nv, np.random.default_rng(0), set()
    options = {}
    if law == "elastic":
        springs = {"stiffness": stiffness * UR5_SPRINGS.stiffness}
        options["springs"] = springs | {"motor_inertia": UR5_SPRINGS.motor_inertia}
    robot = plant.robot
    if law != "elastic":  # one that knows of no springs, but of rotors
        rotors = elastic.with_rotors(DESCRIPTIONS["ur5"], UR5_SPRINGS.motor_inertia)
        robot = Robot.from_description(rotors)
    controller = Controller(robot, law, **options)
    controller.stabilize(1e-3)
    plant.reset(UR5_MOTION.center, np.zeros(n))
    late, errors = deque(), []
    for k in range(round(1e3 * seconds)):
        wanted = dict(zip(RATES, UR5_MOTION.rates(1e-3 * k), strict=True))
        errors.append(plant.q - wanted["q_ref"])
        place, speed = (rng.normal(size=(2, n)) * size for size in noise)
        motors = {"motor_q": plant.motor_q + place[0], "motor_v": plant.motor_v + speed[0]}
        if law == "elastic":
            state = plant.q + place[1], plant.v + speed[1]
            out = controller.step(*state, 1e-3, **motors, **wanted)
        else:  # by encoders of motors, whose references hold the weight
            wanted["q_ref"] = wanted["q_ref"] + plant.robot.gravity(wanted["q_ref"]) / (
                UR5_SPRINGS.stiffness
            )
            rigid = {name: wanted[name] for name in RATES[:3]}
            out = controller.step(motors["motor_q"], motors["motor_v"], 1e-3, **rigid)
        statuses |= set(out.status)
        late.append(out.tau)
        plant.step(late.popleft() if len(late) > delay else out.tau)
    settled = np.array(errors)[len(errors) // 3 :]
    return float(np.sqrt(np.mean(settled**2))), float(np.abs(settled).max()), statuses


@pytest.mark.slow
def test_another_arm_is_followed_through_its_springs():
    """A UR5 with default gains and all guards: nothing of it was tuned."""
    rms, most, statuses = tracked("elastic")
    rigid, _, _ = tracked("passivity")
    assert statuses == set()
    assert rms < 1e-3 and most < 3e-3
    assert rigid > 5.0 * rms


@pytest.mark.slow
@pytest.mark.parametrize(
    "disturbed",
    [{"stiffness": 0.9}, {"stiffness": 1.1}, {"delay": 1}, {"delay": 2}, {"noise": (1e-5, 1e-3)}],
    ids=str,
)
def test_another_arm_is_followed_with_what_the_law_does_not_know(disturbed):
    rms, _, statuses = tracked("elastic", **disturbed)
    assert "OSCILLATING" not in statuses and "CLAMPED" not in statuses
    assert rms < 10e-3


@pytest.mark.slow
def test_claims_of_the_experiment_hold_in_a_short_run():
    cases = (elastic.EXACT, elastic.ON_MOTORS, *elastic.DISTURBANCES)
    logs = elastic.perform(2.5, cases=cases)
    found = {name: elastic.judge(name, log) for name, log in logs.items()}
    assert [check.claim for check in elastic.checks(found) if not check.holds] == []
