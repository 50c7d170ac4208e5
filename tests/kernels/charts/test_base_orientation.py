"""The base's orientation in other parameters, beside [BK12]'s formulas and other joints."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import pytest

from oracles import finite_differences
from oracles.finite_differences import derivative
from support.agreement import assert_agree, largest
from support.cases import GRAVITY
from support.chart_cases import RATES, simple_tree, with_base_joints
from torqued.kernels import Robot
from torqued.kernels.model.description import Array, Description
from torqued.kernels.model.rotations import rotation_from_rpy

SEEDS = range(4)


def cross(u: Array) -> Array:
    """[BK12] eq. 4."""
    return np.array([[0.0, -u[2], u[1]], [u[2], 0.0, -u[0]], [-u[1], u[0], 0.0]])


# [BK12] eq. 10-13: ∂R_i/∂θ for the three columns of R


def columns_of_rpy(theta: Array) -> tuple[Array, list[Array]]:
    R = rotation_from_rpy(*theta)
    slopes = [derivative(lambda h, e=e: rotation_from_rpy(*(theta + h * e))) for e in np.eye(3)]
    return R, [np.column_stack([slope[:, i] for slope in slopes]) for i in range(3)]


def columns_of_quaternion(theta: Array) -> tuple[Array, list[Array]]:
    """Eq. 11-12 as they are printed, (α, β, γ, δ) = (w, x, y, z); columns in our order x y z w."""
    b, c, d, a = theta
    R = np.array(
        [
            [2 * (a * a + b * b) - 1, 2 * (b * c - a * d), 2 * (b * d + a * c)],
            [2 * (b * c + a * d), 2 * (a * a + c * c) - 1, 2 * (c * d - a * b)],
            [2 * (b * d - a * c), 2 * (c * d + a * b), 2 * (a * a + d * d) - 1],
        ]
    )
    printed = [
        [[4 * a, 4 * b, 0, 0], [2 * d, 2 * c, 2 * b, 2 * a], [-2 * c, 2 * d, -2 * a, 2 * b]],
        [[-2 * d, 2 * c, 2 * b, -2 * a], [4 * a, 0, 4 * c, 0], [2 * b, 2 * a, 2 * d, 2 * c]],
        [[2 * c, 2 * d, 2 * a, 2 * b], [-2 * b, -2 * a, 2 * d, 2 * c], [4 * a, 0, 0, 4 * d]],
    ]
    return R, [np.array(slope)[:, [1, 2, 3, 0]] for slope in printed]


def columns_of_matrix(theta: Array) -> tuple[Array, list[Array]]:
    select = np.eye(9).reshape(3, 3, 9)  # [row, column] of R among the parameters
    return theta.reshape(3, 3), [select[:, i] for i in range(3)]


COLUMNS: dict[str, Callable[[Array], tuple[Array, list[Array]]]] = {
    "rpy": columns_of_rpy,
    "quaternion": columns_of_quaternion,
    "rotation_matrix": columns_of_matrix,
}


def onto_rotations(name: str, theta: Array) -> Array:
    """(d, d): the part of θ̇ that stays among rotations, by which parameters are continued."""
    if name == "quaternion":
        return np.eye(4) - np.outer(theta, theta)
    if name == "rotation_matrix":
        R = theta.reshape(3, 3)

        def tangential(rate: Array) -> Array:
            turn = R.T @ rate.reshape(3, 3)
            return (R @ (0.5 * (turn - turn.T))).ravel()

        return np.column_stack([tangential(e) for e in np.eye(9)])
    return np.eye(3)


def J_omega_base(name: str, theta: Array, printed: bool = False) -> tuple[Array, Array]:
    """R_0 and J_ω^base by eq. 10 and 13; `printed` without the restriction to rotations."""
    R, dR = COLUMNS[name](theta)
    if not printed:
        dR = [slope @ onto_rotations(name, theta) for slope in dR]
    R1, R2, R3 = R.T
    J_global = np.outer(R3, R2) @ dR[0] + np.outer(R2, R1) @ dR[2] + np.outer(R1, R3) @ dR[1]
    return R, R.T @ J_global


@dataclass
class Mechanism:
    """[BK12]'s view of a robot in one parameterization: all from Jacobians relative to the base."""

    description: Description
    robot: Robot
    name: str
    printed: bool = False

    @property
    def d(self) -> int:
        return {"rpy": 3, "quaternion": 4, "rotation_matrix": 9}[self.name]

    def jacobians(self, q: Array) -> Iterator[tuple[float, Array, Array, Array]]:
        """Mass, inertia, J_tk(c_k) and J_rk^local of each link, eq. 14 and 16."""
        for link in self.description.links:
            body = link.inertia
            J_t, J_r = self.link_jacobians(q, link.name, body.com)
            yield body.mass, body.rotational, J_t, J_r

    def link_jacobians(self, q: Array, link: str, p: Array) -> tuple[Array, Array]:
        x0, theta, joints = q[:3], q[3 : 3 + self.d], q[3 + self.d :]
        R0, J_w = J_omega_base(self.name, theta, self.printed)
        robot = self.robot
        at_rest = np.hstack([np.zeros(6), 1.0, joints])  # the base at the world's origin
        hat = robot.frame_jacobian(at_rest, link, "hybrid", p)[:, 6:]
        hat_local = robot.frame_jacobian(at_rest, link, "body")[:3, 6:]
        pose = robot.frame_pose(at_rest, link, p)
        xk = x0 + R0 @ pose[:3, 3]
        Rk = R0 @ pose[:3, :3]
        J_t = np.hstack([np.eye(3), -cross(xk - x0) @ R0 @ J_w, R0 @ hat[3:]])  # eq. 14
        J_r = np.hstack([np.zeros((3, 3)), Rk.T @ R0 @ J_w, hat_local])  # eq. 16
        return J_t, J_r

    def M(self, q: Array) -> Array:
        """Eq. 25."""
        M = np.zeros((3 + self.d + self.robot.nv - 6,) * 2)
        for m, inertia, J_t, J_r in self.jacobians(q):
            M += m * J_t.T @ J_t + J_r.T @ inertia @ J_r
        return M

    def N(self, q: Array, v: Array, moved: Callable[[float], Array], step: float) -> Array:
        """Eq. 26, with J̇ by finite differences along the motion."""

        def stacked(time: float) -> Array:
            return np.array([np.vstack([J_t, J_r]) for *_, J_t, J_r in self.jacobians(moved(time))])

        rates = derivative(stacked, step)
        N = np.zeros((len(v), len(v)))
        for (m, inertia, J_t, J_r), rate in zip(self.jacobians(q), rates, strict=True):
            N += m * J_t.T @ rate[:3] + J_r.T @ inertia @ rate[3:]
            N -= J_r.T @ cross(inertia @ J_r @ v) @ J_r
        return N


@pytest.fixture(params=[(name, seed) for name in RATES for seed in SEEDS], ids=str)
def case(request: pytest.FixtureRequest) -> tuple[Mechanism, Array, Array]:
    name, seed = request.param
    description = simple_tree(seed)
    robot = Robot.from_description(description, "floating", gravity=GRAVITY)
    q, v = robot.in_coordinates(name).random_state(np.random.default_rng(seed))
    return Mechanism(description, robot, name), q, v


def motion(mechanism: Mechanism, q: Array, v: Array) -> tuple[Callable[[float], Array], float]:
    robot = mechanism.robot
    step = 0.05 / max(1.0, float(np.abs(v).sum()))
    return lambda t: robot.in_coordinates(mechanism.name).integrate(q, v, t), step


def test_mass_matrix_is_that_of_BK12_eq_25(case):
    mechanism, q, _ = case
    M = mechanism.robot.in_coordinates(mechanism.name).mass_matrix(q)
    assert_agree(M, mechanism.M(q))


def test_mass_matrix_is_that_of_the_printed_parameterizations_for_possible_motions(case):
    """Eq. 11 and θ = R continue R off the rotations in another way, which no motion can see."""
    mechanism, q, _ = case
    robot, name = mechanism.robot, mechanism.name
    printed = Mechanism(mechanism.description, robot, name, printed=True)
    possible = robot.chart(name).A_inverse(robot.chart(name).to_native(q))
    M = robot.in_coordinates(name).mass_matrix(q)
    assert_agree(possible.T @ M @ possible, possible.T @ printed.M(q) @ possible)


def test_jacobians_are_those_of_BK12_eq_14_and_16(case):
    mechanism, q, _ = case
    robot, name = mechanism.robot, mechanism.name
    p = np.array([0.1, -0.2, 0.3])
    for link in mechanism.description.links:
        J_t, J_r = mechanism.link_jacobians(q, link.name, p)
        J = robot.in_coordinates(name).frame_jacobian(q, link.name, "hybrid", p)
        assert_agree(J[3:], J_t)
        local = robot.in_coordinates(name).frame_jacobian(q, link.name, "body", p)
        assert_agree(local[:3], J_r)
        R = robot.in_coordinates(name).frame_pose(q, link.name)[:3, :3]
        assert_agree(J[:3], R @ J_r)  # eq. 17


def test_N_of_BK12_eq_26_is_another_admissible_factorization_of_the_same_force(case):
    """Eq. 26 takes −(I ω)× where [EW21] eq. 10 takes ½ (ω× I + I ω× − (I ω)×): C − N is
    skew-symmetric and gives nothing to v."""
    mechanism, q, v = case
    robot, name = mechanism.robot, mechanism.name
    N = mechanism.N(q, v, *motion(mechanism, q, v))
    C = robot.in_coordinates(name).coriolis_matrix(q, v)
    assert_agree(N @ v, C @ v, within=1e-8)
    assert_agree(N + N.T, robot.in_coordinates(name).mass_matrix_rate(q, v), within=1e-8)
    size = largest(C)
    assert_agree((C - N) + (C - N).T, np.zeros_like(C), within=1e-8, size=size)
    assert_agree((C - N) @ v, np.zeros(len(v)), within=1e-8, size=size * largest(v))


def test_N_changes_coordinates_as_C_does(case):
    """N̄ = Aᵀ (N A + M Ȧ) with N in any other parameterization, here in twists of the base."""
    mechanism, q, v = case
    robot, name = mechanism.robot, mechanism.name
    chart = robot.chart(name)
    native = chart.to_native(q)
    A, A_rate = chart.A(native), chart.A_rate(native, v)
    nu = A @ v
    _, step = motion(mechanism, q, v)

    def jacobian(time: float) -> Array:
        there = robot.integrate(native, nu, time)
        rows = []
        for link in mechanism.description.links:
            world = robot.frame_jacobian(there, link.name, "hybrid", link.inertia.com)[3:]
            rows.append(np.vstack([world, robot.frame_jacobian(there, link.name, "body")[:3]]))
        return np.array(rows)

    N = np.zeros((robot.nv, robot.nv))
    for link, J, rate in zip(
        mechanism.description.links, jacobian(0.0), derivative(jacobian, step), strict=True
    ):
        inertia = link.inertia.rotational
        N += link.inertia.mass * J[:3].T @ rate[:3] + J[3:].T @ inertia @ rate[3:]
        N -= J[3:].T @ cross(inertia @ J[3:] @ nu) @ J[3:]
    expected = mechanism.N(q, v, *motion(mechanism, q, v))
    assert_agree(A.T @ (N @ A + robot.mass_matrix(native) @ A_rate), expected, within=1e-7)


@pytest.mark.parametrize("name", RATES)
@pytest.mark.parametrize("seed", SEEDS)
def test_christoffel_symbols_are_symmetric_where_v_is_the_rate_of_q(name, seed):
    robot = Robot.from_description(simple_tree(seed), "floating", gravity=GRAVITY)
    q, v = robot.in_coordinates(name).random_state(np.random.default_rng(seed))
    Gamma = robot.in_coordinates(name).christoffel(q)
    assert_agree(Gamma, Gamma.transpose(0, 2, 1))
    assert_agree(Gamma @ v, robot.in_coordinates(name).coriolis_matrix(q, v))


@pytest.mark.parametrize("seed", SEEDS)
def test_theorem_1_christoffel_symbols_under_rpy_are_those_of_eq_4(seed):
    robot = Robot.from_description(simple_tree(seed), "floating", gravity=GRAVITY)
    q, v = robot.in_coordinates("rpy").random_state(np.random.default_rng(seed))
    q[4] *= 0.6  # the steps stay away from the singular pitch

    def mass_matrix(q: Array) -> Array:
        return robot.in_coordinates("rpy").mass_matrix(q)

    Gamma = finite_differences.christoffel(mass_matrix, q)
    assert_agree(robot.in_coordinates("rpy").christoffel(q), Gamma, within=1e-9)
    C = robot.in_coordinates("rpy").coriolis_matrix(q, v)
    assert_agree(C, Gamma @ v, within=1e-9)
    direct = robot.in_coordinates("rpy").coriolis_matrix(q, v, "direct")
    assert largest(direct - C) > 1e-3 * largest(C)  # not every factorization is that one


@pytest.mark.parametrize("seed", SEEDS)
def test_rpy_is_the_chain_of_a_translation_and_three_turns(seed):
    description = simple_tree(seed)
    robot = Robot.from_description(description, "floating", gravity=GRAVITY)
    chain = with_base_joints(description, "euler_zyx")
    q, v = robot.in_coordinates("rpy").random_state(np.random.default_rng(seed))
    order = np.arange(len(q))
    order[3:6] = 5, 4, 3  # yaw, pitch, roll there
    there, there_v = q[order], v[order]
    M = chain.mass_matrix(there)[np.ix_(order, order)]
    C = chain.coriolis_matrix(there, there_v)[np.ix_(order, order)]
    Gamma = chain.christoffel(there)[np.ix_(order, order, order)]
    assert_agree(robot.in_coordinates("rpy").mass_matrix(q), M)
    assert_agree(robot.in_coordinates("rpy").coriolis_matrix(q, v), C)
    assert_agree(robot.in_coordinates("rpy").christoffel(q), Gamma)
    assert_agree(robot.in_coordinates("rpy").bias(q, v), chain.bias(there, there_v)[order])
    assert_agree(robot.in_coordinates("rpy").integrate(q, v, 0.2), q + 0.2 * v)


@pytest.mark.parametrize("seed", SEEDS)
def test_hybrid_velocities_are_those_of_the_base_in_world_axes(seed):
    description = simple_tree(seed)
    robot = Robot.from_description(description, "floating", gravity=GRAVITY)
    rng = np.random.default_rng(seed)
    q, v = robot.in_coordinates("hybrid").random_state(rng)
    base = robot.frame_names[0]
    assert_agree(robot.in_coordinates("hybrid").frame_velocity(q, v, base), v[:6])
    J = robot.in_coordinates("hybrid").frame_jacobian(q, base)
    assert_agree(J, np.eye(6, robot.nv))
    end = robot.in_coordinates("hybrid").integrate(q, v, 0.3)
    assert_agree(end[:3], q[:3] + 0.3 * v[3:6])


@pytest.mark.parametrize("name", ["quaternion", "rotation_matrix"])
def test_rates_are_those_of_the_coordinates(name):
    robot = Robot.from_description(simple_tree(2), "floating")
    q, v = robot.in_coordinates(name).random_state(np.random.default_rng(0))
    rate = derivative(lambda t: robot.in_coordinates(name).integrate(q, v, t), 0.01)
    assert_agree(rate, v, within=1e-9)


def test_half_turns_and_small_turns_keep_their_digits():
    robot = Robot.from_description(simple_tree(2), "floating")
    for axis in np.eye(3):
        for angle in (0.0, 1e-9, 1e-4, 3.0, np.pi - 1e-9, np.pi):
            native = robot.neutral()
            native[3:6], native[6] = np.sin(0.5 * angle) * axis, np.cos(0.5 * angle)
            for name in ("rotation_matrix", "quaternion"):
                q = robot.chart(name).from_native(native)
                back = robot.chart(name).to_native(q)
                assert_agree(abs(back[3:7] @ native[3:7]), 1.0, within=1e-15)
                assert largest(robot.difference(native, back)) < 1e-14
