"""MuJoCo's robot against torqued's equations: two programs, one robot."""

import mujoco
import numpy as np
import pytest

from support.agreement import assert_agree
from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.kernels.formats.sources import read_file
from torqued.kernels.model.catalog import describe, find_file
from torqued.tools.demos.live_robot import OwnPlant
from torqued.tools.demos.models import PANDA_READY, panda, with_payload
from torqued.tools.demos.plant import Plant, Push, Toucher, Wall


def falling(plant, seconds, tau=None):
    tau = np.zeros(plant.robot.nv) if tau is None else tau
    for _ in range(round(seconds / 1e-3)):
        plant.step(tau)


@pytest.fixture
def state():
    rng = np.random.default_rng(3)
    robot = Robot.from_description(panda())
    q, v = robot.random_state(rng)
    return q, 0.3 * v, rng.normal(size=robot.nv)


def test_arm_moves_as_torqueds_own_equations_say(state):
    q, v, tau = state
    there, own = Plant(panda(), substep=1e-4, integrator="rk4"), OwnPlant(panda())
    for plant in (there, own):
        plant.reset(q, v)
        falling(plant, 0.1, tau)
    assert_agree(there.q, own.q, 1e-8)
    assert_agree(there.v, own.v, 1e-7)
    assert there.time == pytest.approx(own.time)


def test_floating_robot_moves_as_torqueds_own_equations_say():
    there = Plant(describe("biped20"), "floating", substep=1e-4, integrator="rk4")
    q, v = there.robot.random_state(np.random.default_rng(1))
    own = OwnPlant(describe("biped20"), "floating")
    tau = np.concatenate([np.zeros(6), np.full(there.robot.nv - 6, 0.5)])
    for plant in (there, own):
        plant.reset(q, 0.1 * v)
        falling(plant, 0.02, tau)
    assert_agree(there.q, own.q, 1e-6)
    assert_agree(there.v, own.v, 1e-5)


def test_push_is_the_torque_of_its_force_at_its_point(state):
    q, v, tau = state
    plant = Plant(panda())
    plant.reset(q, v)
    force, at = np.array([3.0, -20.0, 8.0]), np.array([0.02, -0.05, 0.1])
    plant.pushes = [Push("panda_link5", force, at)]
    J = plant.robot.frame_jacobian(q, "panda_link5", point=at)
    assert_agree(plant.push_torque(), J[3:].T @ force, 1e-12)
    before = plant.v
    plant.step(tau, 5e-4)
    a = plant.robot.forward_dynamics(q, v, tau + J[3:].T @ force)
    assert_agree((plant.v - before) / 5e-4, a, 2e-2)


def test_push_ends(state):
    q, v, tau = state
    pushed, free = Plant(panda()), Plant(panda())
    for plant in (pushed, free):
        plant.reset(q, v)
    pushed.pushes = [Push("panda_link5", np.array([1.0, 0.0, 0.0]))]
    pushed.step(tau)
    pushed.pushes = []
    pushed.reset(q, v)
    pushed.step(tau)
    free.step(tau)
    np.testing.assert_array_equal(pushed.q, free.q)


def test_box_feet_carry_the_weight_of_what_stands_on_them():
    """A floating base alone, with a box under it."""
    text = describe("quadruped12")
    floor = Wall(np.zeros(3), np.array([0.0, 0.0, 1.0]))
    root = text.links[0].name
    plant = Plant(text, "floating", (floor,), (Toucher(root, box=np.array([0.4, 0.4, 0.05])),))
    q = plant.robot.neutral()
    q[2] = 0.05
    plant.reset(q, np.zeros(plant.robot.nv))
    # Legs are held by stiff damping, so that all of the robot rests on the box.
    plant.model.dof_damping[6:] = 1e4
    for _ in range(500):
        plant.step(np.zeros(plant.robot.nv))
    weight = plant.robot.total_mass * 9.81
    assert plant.contact_force() == pytest.approx(weight, rel=0.05)
    assert plant.contact_torque[5] == pytest.approx(weight, rel=0.05)
    np.testing.assert_allclose(plant.force_on(root), [0.0, 0.0, weight], atol=0.05 * weight)
    assert not plant.force_on(text.links[1].name).any()


def test_wall_with_a_size_is_a_box_behind_its_face():
    """A ball that falls beside it meets nothing, one that falls above it comes to rest on it."""
    top = Wall(np.array([0.0, 0.0, 0.5]), np.array([0.0, 0.0, 1.0]), np.array([0.2, 0.3, 0.05]))
    text = describe("quadruped12")
    ball = Toucher(text.links[0].name, radius=0.1)
    for x, height in ((0.15, 0.6), (0.35, None)):
        plant = Plant(text, "floating", (top,), (ball,))
        q = plant.robot.neutral()
        q[:3] = x, 0.0, 0.61
        plant.reset(q, np.zeros(plant.robot.nv))
        plant.model.dof_damping[6:] = 1e4
        plant.model.dof_damping[3:6] = 1e4  # it does not roll off
        for _ in range(400):
            plant.step(np.zeros(plant.robot.nv))
        if height is None:
            assert plant.q[2] < 0.3
        else:
            assert plant.q[2] == pytest.approx(height, abs=0.01)


def test_payload_adds_its_mass_where_it_is():
    loaded = Plant(with_payload(panda(), "panda_hand", 2.0, np.array([0.0, 0.0, 0.1])))
    bare = Robot.from_description(panda())
    assert mujoco.mj_getTotalmass(loaded.model) == pytest.approx(
        sum(link.inertia.mass for link in panda().links) + 2.0
    )
    point = np.array([0.0, 0.0, 0.1])
    J = bare.frame_jacobian(PANDA_READY, "panda_hand", point=point)
    added = loaded.robot.gravity(PANDA_READY) - bare.gravity(PANDA_READY)
    assert_agree(added, J[5] * 2.0 * 9.81, 1e-9)


def test_mimic_joints_are_refused():
    with pytest.raises(InputError, match="mimic"):
        Plant(read_file(find_file("panda")))
