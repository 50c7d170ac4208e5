"""Walls hold what the model does not know, in MuJoCo without end stops: pushes, loads, rotors."""

from collections import deque
from dataclasses import replace

import numpy as np
import pytest

from torqued.kernels import Robot
from torqued.kernels.control import Controller
from torqued.kernels.control.unknown_load import INERTIA, SLOW_A, SLOW_R
from torqued.kernels.formats.sources import read_file
from torqued.kernels.model.catalog import find_file
from torqued.tools.demos.models import with_payload
from torqued.tools.demos.plant import Plant, Push

pytestmark = pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")

DT = 1e-3
FREE = {"damping": 0.0}  # gravity is compensated, and nothing else


def described(name, rotors=None):
    description = read_file(find_file(name))
    if rotors is None:
        return description
    joints = tuple(
        replace(joint, armature=rotors if joint.type == "revolute" else 0.0)
        for joint in description.joints
    )
    return replace(description, joints=joints)


def load_of(controller, k):
    learned = controller.data.unknown[:, k]
    return learned[SLOW_R] - learned[INERTIA] * learned[SLOW_A]


def middle(robot):
    low, high = np.maximum(robot.limits.lower, -2.0), np.minimum(robot.limits.upper, 2.0)
    return np.clip(0.3, low + 0.3 * (high - low), high - 0.3 * (high - low))


def run(plant, controller, seconds, push=lambda t: 0.0, delay=0, noise=0.0):
    """Rows of q, v and torques sent; a push (nv,) is a torque that no motor makes."""
    rng, late = np.random.default_rng(0), deque([controller.robot.gravity(plant.q)] * delay)
    rows = []
    for i in range(round(seconds / DT)):
        q, v = plant.q, plant.v
        tau = controller.step(q, v + noise * rng.normal(size=len(v)), DT).tau
        late.append(tau)
        rows.append((q, v, tau))
        plant.step(late.popleft() + push(i * DT), DT)
    return (np.array(column) for column in zip(*rows, strict=True))


def chatter(tau, effort):
    """RMS of what is faster than about 50 Hz, relative to efforts, at the end."""
    tail = tau[-400:]
    slow = np.apply_along_axis(np.convolve, 0, tail, np.ones(10) / 10, "same")
    return float((np.sqrt(((tail - slow)[10:-10] ** 2).mean(axis=0)) / effort).max())


def pushed_through(name, k, share, rotors=None, **options):
    """How far a share of its effort pushes joint k beyond its end, where it stays, and chatter."""
    plant = Plant(described(name, rotors))
    robot, limits = Robot.from_description(described(name)), plant.robot.limits
    q, push = middle(robot), np.zeros(robot.nv)
    q[k], push[k] = limits.upper[k] - 0.05, share * limits.effort[k]
    plant.reset(q, np.zeros(robot.nv))
    q, v, tau = run(plant, Controller(robot, "gravity"), 1.0, lambda t: push, **options)
    assert np.abs(v[-200:, k]).max() < 0.02 * limits.velocity[k]
    return q[:, k].max() - limits.upper[k], q[-1, k] - limits.upper[k], chatter(tau, limits.effort)


@pytest.mark.parametrize(("name", "k"), [("ur5", 2), ("ur5", 4), ("z1", 1), ("z1", 2)])
def test_a_push_of_half_the_effort_does_not_open_a_joint_end(name, k):
    over, end, noise = pushed_through(name, k, 0.5)
    assert over < 0.1
    assert abs(end) < 2e-3
    assert noise < 0.02


@pytest.mark.parametrize(("name", "k"), [("ur5", 4), ("ur5", 5), ("z1", 5)])
@pytest.mark.parametrize("delay", [0, 2])
def test_rotors_that_the_model_lacks_are_held_too(name, k, delay):
    """z1's last link has 8e-4 kg m², its rotor here a hundred times that."""
    over, end, noise = pushed_through(name, k, 0.3, rotors=0.08, delay=delay, noise=1e-3)
    assert over < 0.1
    assert abs(end) < 2e-3
    assert noise < 0.02


@pytest.mark.parametrize("delay", [0, 2])
def test_a_light_wrist_does_not_chatter_at_its_end(delay):
    """No rotor, neither in the robot nor in its model: 1 % of the effort are 400 rad/s²."""
    over, end, noise = pushed_through("z1", 5, 0.01, delay=delay, noise=1e-3)
    assert over < 0.1
    assert abs(end) < 2e-3
    assert noise < 0.02


def test_a_wrist_without_rotor_is_held_behind_the_limit_of_torque_rates():
    """8e-4 kg m², neither the robot nor its model has a rotor: torques grow too late."""
    over, _, noise = pushed_through("z1", 5, 0.2, rotors=0.0, delay=2, noise=1e-3)
    assert over < 0.4
    assert noise < 0.002


def test_a_payload_that_is_not_known_stops_at_joint_ends():
    name = "ur5"
    plant = Plant(with_payload(described(name), "wrist_3_link", 3.0, np.array([0.0, 0.0, 0.1])))
    robot, limits = Robot.from_description(described(name)), plant.robot.limits
    # The arm stretched out, and ends of joints not far below.
    low = limits.lower.copy()
    q = np.array([0.0, -1.0, 0.5, 0.3, 0.0, 0.0])
    controller = Controller(robot, "gravity")
    controller.data.upper[1:4] = q[1:4] + np.array([0.3, 0.3, 0.3])
    plant.reset(q, np.zeros(robot.nv))
    q, v, _ = run(plant, controller, 2.0)
    over = np.maximum(q - controller.data.upper, low - q)
    assert (over[-1, 1:4] > -1e-2).any()  # it did sink to some end
    assert over.max() < 0.05
    assert (np.abs(v) / limits.velocity).max() < 1.1


@pytest.mark.parametrize("normal", [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
def test_a_plane_holds_what_pushes_through_it(normal):
    plant = Plant(described("ur5"))
    robot = plant.robot
    q = np.array([0.0, -1.2, 1.5, -0.6, 0.7, 0.0])
    n, link = np.array(normal), "wrist_3_link"
    place = robot.frame_pose(q, link)[:3, 3]
    planes = [{"frame": link, "normal": normal, "offset": float(n @ place) - 0.03}]
    plant.reset(q, np.zeros(robot.nv))
    plant.pushes = [Push(link, -60.0 * n)]
    controller = Controller(robot, "gravity", walls={"frames": planes})
    q, v, _ = run(plant, controller, 1.0, delay=2, noise=1e-3)
    distance = np.array([n @ robot.frame_pose(x, link)[:3, 3] for x in q[::10]])
    distance -= planes[0]["offset"]
    assert distance.min() > -0.005
    assert abs(distance[-1]) < 1e-3  # it was pushed there
    speed = np.array(
        [n @ (robot.frame_jacobian(x, link)[3:] @ w) for x, w in zip(q, v, strict=True)]
    )
    assert np.abs(speed[-200:]).max() < 0.01


@pytest.mark.parametrize(("name", "rotors"), [("ur5", None), ("z1", 0.08), ("ur5", 0.2)])
@pytest.mark.parametrize("seed", [0, 1])
def test_walls_do_no_work_under_random_pushes(name, rotors, seed):
    """What motors did beside gravity, by MuJoCo's motion: never more than what walls took."""
    plant, rng = Plant(described(name, rotors)), np.random.default_rng(seed)
    robot, limits = Robot.from_description(described(name)), plant.robot.limits
    low, high = np.maximum(limits.lower, -3.0), np.minimum(limits.upper, 3.0)
    q = np.where(rng.random(robot.nv) < 0.5, high - 0.1, low + 0.1)
    q[::2] += 0.2 * np.sign(q[::2])  # some begin beyond their ends, with nothing in the store
    plant.reset(q, np.zeros(robot.nv))
    pushes = 0.3 * limits.effort * rng.uniform(-1.0, 1.0, (20, robot.nv))
    pushes *= rng.random(pushes.shape) < 0.4
    controller = Controller(robot, "gravity", gains=FREE)
    q, _, tau = run(plant, controller, 2.0, lambda t: pushes[int(t / 0.15)])
    gravity = np.array([robot.gravity(x) for x in q])
    beside = tau[:-1] - 0.5 * (gravity[1:] + gravity[:-1])
    work = np.cumsum((beside * np.diff(q, axis=0)).sum(axis=1))
    flowed = np.abs(np.diff(work)).sum()
    assert flowed > 5.0  # J
    assert work.max() < 2e-4 * flowed
    assert controller.record[0].wall_energy == pytest.approx(-work[-1], rel=0.02)


def test_what_is_learned_ends_with_the_push():
    plant = Plant(described("ur5"))
    robot, limits, k = plant.robot, plant.robot.limits, 4
    q, push = middle(robot), np.zeros(robot.nv)
    q[k], push[k] = limits.upper[k] - 0.02, 0.3 * limits.effort[k]
    plant.reset(q, np.zeros(robot.nv))
    controller = Controller(robot, "gravity")
    run(plant, controller, 0.4, lambda t: push)
    held = load_of(controller, k)
    assert held == pytest.approx(-push[k], rel=0.02)
    before = controller.record[0].wall_energy
    _, v, _ = run(plant, controller, 0.2)
    assert abs(load_of(controller, k)) < 0.01 * push[k]
    assert v[:, k].min() > -push[k] / robot.mass_matrix(q)[k, k] / 75.0  # not thrown back
    assert before > controller.record[0].wall_energy > 0.0


def test_learned_inertia_is_of_walls_alone():
    """Once they have learned, the law computes what it computed before, to the bit."""
    plant = Plant(described("z1", rotors=0.08))
    robot, k = Robot.from_description(described("z1")), 5
    q, push = middle(robot), np.zeros(robot.nv)
    q[k], push[k] = robot.limits.upper[k] - 0.05, 0.3 * robot.limits.effort[k]
    plant.reset(q, np.zeros(robot.nv))
    controller = Controller(robot, "passivity")
    run(plant, controller, 0.2, lambda t: push)
    assert 0.02 < controller.data.unknown[INERTIA, k] < 0.2
    state = middle(robot), np.full(robot.nv, 0.1)
    references = {"q_ref": state[0], "v_ref": 0.0 * q, "a_ref": np.ones(robot.nv)}
    fresh = Controller(robot, "passivity").torque(*state, **references)
    np.testing.assert_array_equal(controller.torque(*state, **references).tau, fresh.tau)


@pytest.mark.parametrize("speed", [1e2, 1e200])
def test_one_freak_speed_teaches_little(speed):
    robot = Robot.from_description(described("ur5"))
    controller, q, v = Controller(robot, "gravity"), middle(robot), np.zeros(robot.nv)
    fresh = controller.step(q, v, DT).tau
    v[2] = speed
    controller.tick(q, v, DT)
    for _ in range(30):
        tau = controller.step(q, 0.0 * v, DT).tau
    np.testing.assert_allclose(tau, fresh, atol=1e-6)
    assert abs(controller.record[0].wall_energy) < 0.1  # J
    assert not controller.data.unknown[SLOW_R].any()
