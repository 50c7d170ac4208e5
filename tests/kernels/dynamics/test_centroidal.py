"""Energy, center of mass and centroidal momentum of the robot as a whole."""

from __future__ import annotations

import numpy as np

from support.agreement import assert_agree, largest
from support.cases import Case, cases, examples
from support.textbook import LIMITS, X, Z, body, chain, free_body
from torqued.kernels import Robot
from torqued.kernels.model.description import Array, Description, Joint, Link
from torqued.kernels.model.families import family

any_case = examples(25, case=cases(mimics=False))


def moving_links(case: Case) -> list[Link]:
    """Those that are not fixed to the world."""
    carried = {f.name: f.body for f in case.robot.model.frames}
    return [link for link in case.description.links if carried[link.name] >= 0]


def test_potential_energy_is_zero_at_the_worlds_origin_and_grows_with_height():
    robot = free_body(2.0)
    assert robot.energy(robot.neutral(), np.zeros(6)).tolist() == [0.0, 0.0]
    q = robot.neutral()
    q[2] = 3.0
    assert_agree(robot.energy(q, np.zeros(6))[1], 2.0 * 9.81 * 3.0)


@any_case
def test_center_of_mass_is_the_mean_of_the_links(case):
    robot, q, links = case.robot, case.q, moving_links(case)
    masses = np.array([link.inertia.mass for link in links])
    places = [robot.frame_pose(q, link.name, link.inertia.com)[:3, 3] for link in links]
    assert_agree(robot.total_mass, masses.sum())
    assert_agree(robot.center_of_mass(q), masses @ np.array(places) / masses.sum(), size=1.0)


@any_case
def test_centroidal_momentum_is_the_sum_over_links(case):
    robot, q, v = case.robot, case.q, case.v
    com = robot.center_of_mass(q)
    total = np.zeros(6)
    for link in moving_links(case):
        inertia = link.inertia
        pose = robot.frame_pose(q, link.name, inertia.com)
        w, u = np.split(robot.frame_velocity(q, v, link.name, point=inertia.com), 2)
        R, momentum = pose[:3, :3], inertia.mass * u
        spin = R @ inertia.rotational @ R.T @ w
        total += np.hstack([spin + np.cross(pose[:3, 3] - com, momentum), momentum])
    size = largest(robot.centroidal_matrix(q)) * largest(v)
    assert_agree(robot.centroidal_momentum(q, v), total, size=size)


def test_what_is_fixed_to_the_world_does_not_count():
    heavy_base = Link("base", body(100.0, 5.0 * X, 1.0, 1.0, 1.0))
    light = family("chain", 3)
    heavy = Description("heavy", (heavy_base, *light.links[1:]), light.joints)
    a, b = Robot.from_description(light), Robot.from_description(heavy)
    q = np.array([0.1, 0.2, 0.3])
    assert a.total_mass == b.total_mass
    np.testing.assert_array_equal(a.center_of_mass(q), b.center_of_mass(q))


@examples(25, case=cases(bases=("floating",)))
def test_centroidal_matrix_turns_with_the_base_and_does_not_depend_on_its_place(case):
    robot, q = case.robot, case.q
    moved = q.copy()
    moved[:3] += case.rng.uniform(-1e4, 1e4, 3)
    quaternion = case.rng.normal(size=4)
    moved[3:7] = quaternion / np.linalg.norm(quaternion)
    frame = robot.frame_names[0]
    R = robot.frame_pose(moved, frame)[:3, :3] @ robot.frame_pose(q, frame)[:3, :3].T
    turned = np.kron(np.eye(2), R) @ robot.centroidal_matrix(q)
    assert_agree(robot.centroidal_matrix(moved), turned)


def test_free_motion_keeps_energy_and_momentum():
    """Without torques and gravity, by midpoint steps: the error falls with their square."""
    robot = Robot.family("biped", 4, gravity=(0.0, 0.0, 0.0))
    q, v = robot.random_state(np.random.default_rng(3))
    rest = np.zeros(robot.nv)

    def conserved(q: Array, v: Array) -> Array:
        return np.hstack([robot.energy(q, v)[0], robot.centroidal_momentum(q, v)])

    def drift(steps: int) -> float:
        at, velocity, dt = q, v, 0.2 / steps
        for _ in range(steps):
            middle = velocity
            for _ in range(20):
                half = robot.integrate(at, middle, 0.5 * dt)
                middle = velocity + 0.5 * dt * robot.forward_dynamics(half, middle, rest)
            at, velocity = robot.integrate(at, middle, dt), 2.0 * middle - velocity
        return largest(conserved(at, velocity) - conserved(q, v))

    coarse, fine = drift(50), drift(200)
    assert fine < 1e-4 * largest(conserved(q, v))
    assert 12.0 < coarse / fine < 20.0  # 4² = 16


def test_robot_without_mass_has_its_center_at_the_origin():
    """Rotors alone make its mass matrix regular."""
    joint = Joint("j1", "revolute", "base", "l1", axis=Z, limits=LIMITS, armature=0.1)
    robot = Robot.from_description(Description("light", (Link("base"), Link("l1")), (joint,)))
    assert robot.total_mass == 0.0
    np.testing.assert_array_equal(robot.center_of_mass([0.3]), np.zeros(3))
    np.testing.assert_array_equal(robot.center_of_mass_jacobian([0.3]), np.zeros((3, 1)))
    np.testing.assert_array_equal(robot.mass_matrix([0.3]), [[0.1]])


def test_single_slider_carries_all_momentum():
    robot = Robot.from_description(chain(("prismatic", X, 0.0 * X, body(2.0, Z, 1.0, 1.0, 1.0))))
    np.testing.assert_array_equal(robot.centroidal_matrix([0.5])[:, 0], [0, 0, 0, 2, 0, 0])
    np.testing.assert_array_equal(robot.center_of_mass_jacobian([0.5])[:, 0], X)
