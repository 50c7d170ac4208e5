"""The identities of rigid-body dynamics on random trees of all joint types in random states.

Each test's name is the identity. Both sides come from kernels of their own; where one side is a
derivative it comes from finite differences, extrapolated (`oracles.finite_differences`).
"""

from __future__ import annotations

import numpy as np
import pytest

from oracles.finite_differences import derivative, mass_matrix_rate
from support.agreement import assert_agree, largest
from support.cases import RATES, Case, cases, examples
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.model.description import Array

any_case = examples(30, case=cases())
#: Robots whose velocities are the rates of their coordinates.
rates = examples(30, case=cases(types=RATES, bases=("fixed",)))
both_factorizations = pytest.mark.parametrize("factorization", ["christoffel", "direct"])


def coriolis_size(case: Case) -> float:
    """What C is computed from, for states in which it nearly vanishes."""
    return largest(case.robot.mass_matrix(case.q)) * largest(case.v)


@both_factorizations
@any_case
def test_mass_matrix_rate_equals_C_plus_C_transposed(case, factorization):
    C = case.robot.coriolis_matrix(case.q, case.v, factorization)
    Mdot = case.robot.mass_matrix_rate(case.q, case.v)
    assert_agree(C + C.T, Mdot, size=coriolis_size(case))


@any_case
def test_mass_matrix_rate_is_the_derivative_of_the_mass_matrix(case):
    Mdot = mass_matrix_rate(case.robot.mass_matrix, case.robot.integrate, case.q, case.v)
    actual = case.robot.mass_matrix_rate(case.q, case.v)
    assert_agree(actual, Mdot, size=coriolis_size(case))


@both_factorizations
@any_case
def test_C_v_plus_g_is_the_bias_and_the_inverse_dynamics_at_rest(case, factorization):
    robot, q, v = case.robot, case.q, case.v
    bias = robot.inverse_dynamics(q, v, np.zeros(robot.nv))
    size = coriolis_size(case)
    assert_agree(robot.bias(q, v), bias, size=size)
    C = robot.coriolis_matrix(q, v, factorization)
    assert_agree(C @ v + robot.gravity(q), bias, size=size)


@any_case
def test_inverse_dynamics_is_M_a_plus_C_v_plus_g(case):
    robot, q, v, a = case.robot, case.q, case.v, case.a
    terms = robot.mass_matrix(q) @ a + robot.coriolis_matrix(q, v) @ v + robot.gravity(q)
    assert_agree(robot.inverse_dynamics(q, v, a), terms, size=coriolis_size(case))


@any_case
def test_christoffel_symbols_sum_to_C(case):
    C = case.robot.coriolis_matrix(case.q, case.v)
    assert_agree(case.robot.christoffel(case.q) @ case.v, C, size=coriolis_size(case))


@rates
def test_christoffel_symbols_are_symmetric_where_v_is_the_rate_of_q(case):
    Gamma = case.robot.christoffel(case.q)
    assert_agree(Gamma, Gamma.transpose(0, 2, 1), size=largest(case.robot.mass_matrix(case.q)))


@any_case
def test_mass_matrix_is_symmetric_and_positive_definite(case):
    M = case.robot.mass_matrix(case.q)
    np.testing.assert_array_equal(M, M.T)
    assert np.linalg.eigvalsh(M).min() > 0.0


@both_factorizations
@any_case
def test_C_vanishes_at_rest(case, factorization):
    C = case.robot.coriolis_matrix(case.q, 0.0 * case.v, factorization)
    np.testing.assert_array_equal(C, np.zeros_like(C))


@both_factorizations
@any_case
def test_C_is_linear_in_v(case, factorization):
    w = case.vector()

    def C(v: Array) -> Array:
        return case.robot.coriolis_matrix(case.q, v, factorization)

    combined = 2.0 * C(case.v) - 3.0 * C(w)
    assert_agree(C(2.0 * case.v - 3.0 * w), combined, size=coriolis_size(case))


@rates
def test_derivative_of_torques_by_velocities_is_twice_C(case):
    robot, q = case.robot, case.q

    def torques_along(direction: Array) -> Array:
        # Quadratic in v: differences of any step are exact.
        return derivative(lambda h: robot.bias(q, case.v + h * direction), 1.0, levels=1)

    partials = np.column_stack([torques_along(e) for e in np.eye(robot.nv)])
    C = robot.coriolis_matrix(q, case.v)
    gravity = largest(robot.gravity(q))
    assert_agree(partials, 2.0 * C, size=max(coriolis_size(case), gravity))


@any_case
def test_the_two_factorizations_are_two_matrices_with_one_product_C_v(case):
    robot, q, v = case.robot, case.q, case.v
    C, direct = robot.coriolis_matrix(q, v), robot.coriolis_matrix(q, v, "direct")
    assert_agree(direct @ v, C @ v, size=coriolis_size(case))
    skew = direct - C
    assert_agree(skew, -skew.T, size=coriolis_size(case))


@any_case
def test_forward_dynamics_inverts_inverse_dynamics(case):
    robot, q, v, a = case.robot, case.q, case.v, case.a
    tau = robot.inverse_dynamics(q, v, a)
    back = robot.forward_dynamics(q, v, tau)
    assert_agree(back, a, solvable(case, tau))


def solvable(case: Case, b: Array) -> float:
    """Tolerance of a solution x of M x = b: rounding in b, magnified by M⁻¹."""
    M = case.robot.mass_matrix(case.q)
    magnified = np.linalg.norm(np.linalg.inv(M), np.inf) * largest(b)
    return max(1e-10, 1e-14 * magnified / max(largest(np.linalg.solve(M, b)), 1e-300))


@any_case
def test_forces_on_frames_cancel_between_forward_and_inverse_dynamics(case):
    robot, q, v, a = case.robot, case.q, case.v, case.a
    f_ext = {case.frame(): case.rng.normal(size=6) for _ in range(3)}
    tau = robot.inverse_dynamics(q, v, a, f_ext)
    back = robot.forward_dynamics(q, v, tau, f_ext)
    assert_agree(back, a, solvable(case, tau))


@any_case
def test_forces_on_frames_act_through_their_jacobians(case):
    robot, q, v, a = case.robot, case.q, case.v, case.a
    f_ext = {case.frame(): case.rng.normal(size=6) for _ in range(3)}
    through = sum(robot.frame_jacobian(q, frame).T @ f for frame, f in f_ext.items())
    tau = robot.inverse_dynamics(q, v, a)
    forced = robot.inverse_dynamics(q, v, a, f_ext)
    assert_agree(forced, tau - through, size=max(largest(tau), 1e-2))


@any_case
def test_power_of_torques_is_the_rate_of_energy(case):
    robot, q, v, a = case.robot, case.q, case.v, case.a
    power = v @ robot.inverse_dynamics(q, v, a)
    rate = derivative(lambda t: np.array(sum(robot.energy(case.moved(t), v + t * a))), case.step)
    size = sum(map(abs, robot.energy(q, v)))
    assert_agree(power, rate, size=size)


@any_case
def test_gravity_is_the_gradient_of_potential_energy(case):
    robot, q, v = case.robot, case.q, case.v
    rate = derivative(lambda t: np.array(robot.energy(case.moved(t), v)[1]), case.step)
    size = abs(robot.energy(q, v)[1])
    assert_agree(v @ robot.gravity(q), rate, size=size)


@any_case
def test_kinetic_energy_is_half_of_v_M_v(case):
    v, M = case.v, case.robot.mass_matrix(case.q)
    assert_agree(case.robot.energy(case.q, v)[0], 0.5 * v @ M @ v)


@any_case
def test_solve_mass_solves_M_x_equals_b_for_one_and_for_many_b(case):
    robot, q = case.robot, case.q
    M, b = robot.mass_matrix(q), case.rng.normal(size=(robot.nv, 3))
    X = robot.solve_mass(q, b)
    assert_agree(M @ X, b, size=largest(M) * largest(X))
    for k in range(3):
        np.testing.assert_array_equal(robot.solve_mass(q, b[:, k]), X[:, k])


@any_case
def test_mass_product_is_M_w(case):
    w = case.vector()
    M = case.robot.mass_matrix(case.q)
    assert_agree(case.robot.mass_product(case.q, w), M @ w, size=largest(M) * largest(w))


@any_case
def test_coriolis_products_are_C_w_and_C_transposed_w(case):
    robot, q, v, w = case.robot, case.q, case.v, case.vector()
    C, size = robot.coriolis_matrix(q, v), coriolis_size(case) * largest(w)
    assert_agree(robot.coriolis_product(q, v, w), C @ w, size=size)
    assert_agree(robot.coriolis_transposed_product(q, v, w), C.T @ w, size=size)
    assert_agree(robot.coriolis_transposed_product(q, v), C.T @ v, size=size)


@rates
def test_C_of_v_times_w_is_C_of_w_times_v_where_v_is_the_rate_of_q(case):
    """Which of the admissible factorizations it is: Christoffel symbols are symmetric."""
    robot, q, v, w = case.robot, case.q, case.v, case.vector()
    size = coriolis_size(case) * largest(w)
    assert_agree(robot.coriolis_product(q, v, w), robot.coriolis_product(q, w, v), size=size)


@any_case
def test_momentum_p_equals_M_v_changes_by_torques_and_C_transposed_v(case):
    """ṗ = τ + Cᵀ v − g: what a momentum observer integrates."""
    robot, q, v, a = case.robot, case.q, case.v, case.a
    tau = robot.inverse_dynamics(q, v, a)
    expected = tau + robot.coriolis_transposed_product(q, v) - robot.gravity(q)
    rate = derivative(lambda t: robot.mass_product(case.moved(t), v + t * a), case.step)
    size = max(largest(tau), coriolis_size(case) * largest(v))
    assert_agree(expected, rate, size=size)


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@any_case
def test_J_v_is_the_velocity_of_the_frame(case, representation):
    robot, q, v, frame = case.robot, case.q, case.v, case.frame()
    point = case.rng.normal(size=3)
    J = robot.frame_jacobian(q, frame, representation, point)
    velocity = robot.frame_velocity(q, v, frame, representation, point)
    assert_agree(velocity, J @ v, size=largest(J) * largest(v))


@pytest.mark.parametrize("representation", REPRESENTATIONS)
@any_case
def test_J_a_plus_Jdot_v_is_the_rate_of_J_v(case, representation):
    robot, q, v, a, frame = case.robot, case.q, case.v, case.a, case.frame()
    point = case.rng.normal(size=3)

    def velocity(t: float) -> Array:
        at = case.moved(t)
        return robot.frame_jacobian(at, frame, representation, point) @ (v + t * a)

    rate = derivative(velocity, case.step)
    size = 1e-2 + largest(velocity(0.0)) * (1.0 + largest(v))
    J = robot.frame_jacobian(q, frame, representation, point)
    bias = robot.frame_bias(q, v, frame, representation, point)
    assert_agree(J @ a + bias, rate, size=size)
    acceleration = robot.frame_acceleration(q, v, a, frame, representation, point)
    assert_agree(acceleration, J @ a + bias, size=size)


@any_case
def test_hybrid_velocity_is_the_rate_of_the_pose(case):
    robot, q, v, frame = case.robot, case.q, case.v, case.frame()
    rate = derivative(lambda t: robot.frame_pose(case.moved(t), frame), case.step)
    w, u = np.split(robot.frame_velocity(q, v, frame), 2)
    R = robot.frame_pose(q, frame)[:3, :3]
    turning = np.column_stack([np.cross(w, axis) for axis in R.T])
    size = 1e-2 + largest(v)
    assert_agree(turning, rate[:3, :3], size=size)
    assert_agree(u, rate[:3, 3], size=size)


@any_case
def test_centroidal_matrix_times_v_is_the_momentum_of_the_bodies(case):
    robot, q, v = case.robot, case.q, case.v
    A = robot.centroidal_matrix(q)
    assert_agree(robot.centroidal_momentum(q, v), A @ v, size=largest(A) * largest(v))
    com_rate = derivative(lambda t: robot.center_of_mass(case.moved(t)), case.step)
    size = largest(v)
    assert_agree(A[3:] @ v, robot.total_mass * com_rate, size=size)
    assert_agree(robot.center_of_mass_jacobian(q) @ v, com_rate, size=size)


@any_case
def test_centroidal_rate_is_the_derivative_of_centroidal_momentum(case):
    robot, q, v, a = case.robot, case.q, case.v, case.a
    A = robot.centroidal_matrix(q)
    size = largest(A) * (largest(v) ** 2 + largest(a))
    rate = derivative(lambda t: robot.centroidal_momentum(case.moved(t), v + t * a), case.step)
    assert_agree(A @ a + robot.centroidal_bias(q, v), rate, size=size)


@examples(30, case=cases(mimics=False))
def test_centroidal_rate_kernel_takes_accelerations(case):
    robot, q, v, a = case.robot, case.q, case.v, case.a
    out = np.empty(6)
    COMPILED.centroidal_rate(robot.work.handle, q, v, a, out)
    A = robot.centroidal_matrix(q)
    size = largest(A) * (largest(v) ** 2 + largest(a))
    assert_agree(out, A @ a + robot.centroidal_bias(q, v), size=size)


@examples(30, case=cases(bases=("floating",), mimics=False))
def test_external_forces_change_centroidal_momentum_of_a_floating_robot(case):
    """Without torques at the base, only gravity and contact forces change the momentum."""
    robot, q, v = case.robot, case.q, case.v
    tau = case.vector()
    tau[:6] = 0.0
    frame = robot.model.frames[0].name  # on the floating link or what is fixed to it
    wrench = case.rng.normal(size=6)
    a = robot.forward_dynamics(q, v, tau, {frame: wrench})
    arm = robot.frame_pose(q, frame)[:3, 3] - robot.center_of_mass(q)
    moment = wrench[:3] + np.cross(arm, wrench[3:])
    weight = robot.total_mass * robot.gravity_vector
    expected = np.hstack([moment, wrench[3:] + weight])
    A = robot.centroidal_matrix(q)
    rate = A @ a + robot.centroidal_bias(q, v)
    terms = np.abs(A) @ np.abs(a)  # they cancel but for what acts from outside
    assert_agree(rate, expected, solvable(case, robot.mass_matrix(q) @ a), size=largest(terms))


@any_case
def test_difference_inverts_integrate(case):
    robot, q = case.robot, case.q
    v = np.clip(case.v, -1.5, 1.5)  # less than half a turn, where the way back is the same
    reached = robot.integrate(q, v, 1.0)
    assert_agree(robot.difference(q, reached), v, size=1.0)
    other = robot.integrate(q, case.v, 1.0)
    poses = [
        robot.frame_pose(at, robot.frame_names[-1])
        for at in (other, robot.integrate(q, robot.difference(q, other), 1.0))
    ]
    assert_agree(poses[1], poses[0])


@any_case
def test_integrating_in_two_halves_is_integrating_at_once(case):
    half = case.robot.integrate(case.q, case.v, 0.5)
    assert_agree(case.robot.integrate(half, case.v, 0.5), case.moved(1.0), size=1.0)
