"""Every robot of example-robot-data that Pinocchio loads, on a fixed and on a floating base."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from oracles.literal_tree import Base, mimic_maps
from support.agreement import assert_agree, largest
from support.cases import BASES
from support.robots import load_real, random_motion, robot_urdfs
from torqued.common.errors import NumericalError
from torqued.kernels import Robot
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.formats.sources import read_file
from torqued.kernels.model.description import Array

pytest.importorskip("pinocchio")

from oracles.pinocchio_urdf import PinocchioUrdf, build

#: Files with joints that move no mass: M is singular, and accelerations do not exist.
SINGULAR = {"romeo", "romeo_laas_small"}

FAR = np.array([6e3, -8e3, 1e3])  # 10 km


def loaded_by_pinocchio() -> list[Path]:
    found = []
    for path in robot_urdfs():
        with contextlib.suppress(ValueError):
            build(path, "fixed")
            found.append(path)
    return found


URDFS = loaded_by_pinocchio()


def is_followed_by_pinocchio(path: Path) -> bool:
    """Pinocchio cannot follow where it meets a follower before its leader."""
    with contextlib.suppress(ValueError):
        build(path, "fixed", mimic=True)
        return True
    return False


JOINTS = {path: read_file(path).joints for path in URDFS}
RIGID = [path for path in URDFS if all(joint.type == "fixed" for joint in JOINTS[path])]
WITH_MIMICS = [path for path in URDFS if any(joint.mimic for joint in JOINTS[path])]
FOLLOWED_BY_BOTH = [path for path in WITH_MIMICS if is_followed_by_pinocchio(path)]


def pairs(paths: list[Path], bases: tuple[Base, ...] = BASES) -> list[Any]:
    """Of files and bases; with a fixed base, a file without moving joints has no coordinates."""
    return [
        pytest.param((path, base), id=f"{path.stem}-{base}")
        for path in paths
        for base in bases
        if not (base == "fixed" and path in RIGID)
    ]


@dataclass(frozen=True)
class Both:
    """A robot, the oracle for it, and a state."""

    path: Path
    base: Base
    robot: Robot
    oracle: PinocchioUrdf
    q: Array
    v: Array
    a: Array
    frames: tuple[str, ...]
    size: float  # of the largest inertia, for what may vanish: a thousandth of it counts


def some_frames(robot: Robot) -> tuple[str, ...]:
    """Four: the first, the last and two in between, links and joints."""
    names = robot.frame_names
    return tuple(names[k] for k in np.linspace(0, len(names) - 1, 4).astype(int))


@pytest.fixture(scope="module", params=pairs(URDFS))
def both(request: pytest.FixtureRequest) -> Both:
    """All joints free on both sides."""
    path, base = request.param
    robot = load_real(path, base, mimic="free", accept_unphysical=path.stem in SINGULAR)
    oracle = PinocchioUrdf(build(path, base), list(robot.model.joints))
    q, v, a = random_motion(robot, robot.nv)
    size = 1e-3 * largest(robot.mass_matrix(q))
    return Both(path, base, robot, oracle, q, v, a, some_frames(robot), size)


def test_the_robots_are_there():
    assert len(URDFS) > 60
    assert len(RIGID) < 3
    assert {path.stem for path in WITH_MIMICS} >= {"panda", "pr2", "talos_full_v2"}
    assert {path.stem for path in FOLLOWED_BY_BOTH} >= {"panda", "pr2", "tiago_pro"}


def test_mass_matrix_agrees(both):
    assert_agree(both.robot.mass_matrix(both.q), both.oracle.mass_matrix(both.q))


def test_coriolis_matrix_agrees(both):
    q, v = both.q, both.v
    C = both.oracle.coriolis_matrix(q, v)
    assert_agree(both.robot.coriolis_matrix(q, v), C, size=both.size)


def test_gravity_agrees(both):
    assert_agree(both.robot.gravity(both.q), both.oracle.gravity(both.q), size=both.size)


def test_inverse_dynamics_agrees(both):
    state = both.q, both.v, both.a
    assert_agree(both.robot.inverse_dynamics(*state), both.oracle.inverse_dynamics(*state))


def test_forward_dynamics_agrees(both):
    """Where rounding of M alone moves accelerations by more than 1e-10 (both libraries then
    differ from the truth as much as from each other), they must solve M a = τ − bias instead.
    """
    q, v, tau = both.q, both.v, 10.0 * both.a
    if both.path.stem in SINGULAR:
        with pytest.raises(NumericalError, match="singular"):
            both.robot.forward_dynamics(q, v, tau)
        return
    a = both.robot.forward_dynamics(q, v, tau)
    M = both.oracle.mass_matrix(q)
    if np.linalg.cond(M) < 1e5:
        assert_agree(a, both.oracle.forward_dynamics(q, v, tau))
    else:
        rest = tau - both.oracle.inverse_dynamics(q, v, np.zeros(len(v)))
        assert_agree(M @ a, rest, size=largest(M) * largest(a))


def test_energies_agree(both):
    ours, theirs = both.robot.energy(both.q, both.v), both.oracle.energy(both.q, both.v)
    assert_agree(ours[0], theirs[0])
    assert_agree(ours[1], theirs[1])


def test_mass_and_its_center_agree(both):
    assert_agree(both.robot.total_mass, both.oracle.total_mass())
    q = both.q
    assert_agree(both.robot.center_of_mass(q), both.oracle.center_of_mass(q))
    J = both.oracle.center_of_mass_jacobian(q)
    assert_agree(both.robot.center_of_mass_jacobian(q), J, size=1e-3)


def test_centroidal_momentum_its_matrix_and_its_bias_agree(both):
    robot, oracle, q, v = both.robot, both.oracle, both.q, both.v
    assert_agree(robot.centroidal_matrix(q), oracle.centroidal_matrix(q))
    assert_agree(robot.centroidal_momentum(q, v), oracle.centroidal_momentum(q, v))
    assert_agree(robot.centroidal_bias(q, v), oracle.centroidal_rate(q, v, 0.0 * v), size=both.size)


def test_frame_poses_agree(both):
    for frame in both.frames:
        assert_agree(both.robot.frame_pose(both.q, frame), both.oracle.frame_pose(both.q, frame))


@pytest.mark.parametrize("representation", REPRESENTATIONS)
def test_frame_jacobians_and_accelerations_agree(both, representation):
    robot, oracle, q, v, a = both.robot, both.oracle, both.q, both.v, both.a
    for frame in both.frames:
        J = oracle.frame_jacobian(q, frame, representation)
        assert_agree(robot.frame_jacobian(q, frame, representation), J)
        assert_agree(robot.frame_velocity(q, v, frame, representation), J @ v)
        bias = oracle.frame_acceleration(q, v, 0.0 * a, frame, representation)
        assert_agree(robot.frame_bias(q, v, frame, representation), bias, size=1e-3)
        acceleration = oracle.frame_acceleration(q, v, a, frame, representation)
        assert_agree(robot.frame_acceleration(q, v, a, frame, representation), acceleration)


def test_integrate_and_difference_agree(both):
    robot, oracle, q, v = both.robot, both.oracle, both.q, both.v
    # With continuous joints within half a turn, where Pinocchio's cos and sin keep them.
    moved = oracle.q_from_pin(oracle.q_to_pin(robot.integrate(q, v, 0.3)))
    assert_agree(moved, oracle.integrate(q, v, 0.3))
    # Less than half a turn away, where there is one shortest way.
    other = robot.integrate(q, np.tanh(v), 1.0)
    assert_agree(robot.difference(q, other), oracle.difference(q, other))


@pytest.mark.parametrize("both", pairs(URDFS, ("floating",)), indirect=True)
def test_dynamics_10_km_away_are_those_at_the_origin(both):
    """From large coordinates come no large numbers: the rounding of 10 km would be 1e-12 m."""
    robot, v, a = both.robot, both.v, both.a
    near = both.q.copy()
    near[:3] = 0.0
    far = near.copy()
    far[:3] = FAR
    assert_agree(robot.mass_matrix(far), robot.mass_matrix(near))
    assert_agree(robot.coriolis_matrix(far, v), robot.coriolis_matrix(near, v))
    assert_agree(robot.christoffel(far), robot.christoffel(near))
    assert_agree(robot.gravity(far), robot.gravity(near))
    assert_agree(robot.inverse_dynamics(far, v, a), robot.inverse_dynamics(near, v, a))
    assert_agree(robot.centroidal_matrix(far), robot.centroidal_matrix(near))
    tip = both.frames[-1]
    assert_agree(robot.frame_jacobian(far, tip), robot.frame_jacobian(near, tip))
    assert_agree(robot.frame_bias(far, v, tip), robot.frame_bias(near, v, tip))
    if both.path.stem not in SINGULAR:
        assert_agree(robot.forward_dynamics(far, v, a), robot.forward_dynamics(near, v, a))


def followed(pair: tuple[Path, Base]) -> Robot:
    path, base = pair
    return load_real(path, base, accept_unphysical=path.stem in SINGULAR)


@pytest.mark.parametrize("pair", pairs(WITH_MIMICS))
def test_followed_mimics_are_the_projection_of_pinocchios_free_model(pair):
    path, base = pair
    robot, maps = followed(pair), mimic_maps(read_file(path), base)
    q, v, a = random_motion(robot, robot.nv)
    free = load_real(path, base, mimic="free", accept_unphysical=path.stem in SINGULAR)
    oracle = PinocchioUrdf(build(path, base), list(free.model.joints))
    G, q_free = maps.Gv, maps.Gq @ q + maps.offset
    M = G.T @ oracle.mass_matrix(q_free) @ G
    bias = G.T @ oracle.inverse_dynamics(q_free, G @ v, np.zeros(len(G)))
    assert_agree(robot.mass_matrix(q), M)
    assert_agree(robot.coriolis_matrix(q, v), G.T @ oracle.coriolis_matrix(q_free, G @ v) @ G)
    assert_agree(robot.gravity(q), G.T @ oracle.gravity(q_free))
    assert_agree(robot.bias(q, v), bias)
    assert_agree(robot.inverse_dynamics(q, v, a), M @ a + bias)
    assert_agree(robot.energy(q, v), oracle.energy(q_free, G @ v))
    assert_agree(robot.centroidal_matrix(q), oracle.centroidal_matrix(q_free) @ G)
    assert_agree(robot.centroidal_bias(q, v), oracle.centroidal_rate(q_free, G @ v, 0 * (G @ v)))
    for frame in some_frames(robot):
        assert_agree(
            robot.frame_jacobian(q, frame), oracle.frame_jacobian(q_free, frame, "hybrid") @ G
        )
    if path.stem not in SINGULAR:
        acceleration = robot.forward_dynamics(q, v, 10.0 * a)
        assert_agree(M @ acceleration + bias, 10.0 * a, size=largest(M) * largest(acceleration))


@pytest.mark.parametrize("pair", pairs(FOLLOWED_BY_BOTH))
def test_followed_mimics_agree_with_those_that_pinocchio_follows(pair):
    """C is absent: Pinocchio's computeCoriolisMatrix gives another one for such models, with
    which C v is not its own bias force. It has no forward dynamics for them at all."""
    path, base = pair
    robot = followed(pair)
    joints, nq, nv = [], 0, 0
    for joint in robot.model.joints:
        if joint.name in robot.joint_names:
            joints.append(replace(joint, q=nq, v=nv))
            nq, nv = nq + joint.nq, nv + joint.nv
    oracle = PinocchioUrdf(build(path, base, mimic=True), joints)
    q, v, a = random_motion(robot, robot.nv)
    assert_agree(robot.mass_matrix(q), oracle.mass_matrix(q))
    assert_agree(robot.gravity(q), oracle.gravity(q))
    assert_agree(robot.inverse_dynamics(q, v, a), oracle.inverse_dynamics(q, v, a))
    assert_agree(robot.bias(q, v), oracle.inverse_dynamics(q, v, 0.0 * a))
    assert_agree(robot.center_of_mass(q), oracle.center_of_mass(q))
    assert_agree(robot.center_of_mass_jacobian(q), oracle.center_of_mass_jacobian(q))
    assert_agree(robot.centroidal_matrix(q), oracle.centroidal_matrix(q))
    assert_agree(robot.centroidal_momentum(q, v), oracle.centroidal_momentum(q, v))
    assert_agree(robot.centroidal_bias(q, v), oracle.centroidal_rate(q, v, 0.0 * a))
    for frame in some_frames(robot):
        assert_agree(robot.frame_jacobian(q, frame), oracle.frame_jacobian(q, frame, "hybrid"))
