"""∂a/∂q, ∂a/∂v and ∂a/∂τ against differences, Pinocchio and what they are the inverse of."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.finite_differences import derivative
from support.agreement import assert_agree, largest
from support.cases import cases, examples
from support.robots import load_real, random_motion
from support.textbook import X, Z, body, chain
from torqued.kernels import ModelWarning, NumericalError, Robot
from torqued.kernels.model.catalog import find_file


@examples(15, case=cases(most=6))
def test_derivatives_are_those_of_forward_dynamics_along_the_manifold(case):
    robot, q, v, a = case.robot, case.q, case.v, case.a
    f_ext = {case.frame(): case.rng.normal(size=6)} if case.rng.random() < 0.5 else None
    tau = robot.inverse_dynamics(q, v, a, f_ext)
    dq, dv, dtau = robot.forward_dynamics_derivatives(q, v, tau, f_ext)
    # Differences of a magnify rounding by M's condition: it is τ at the moved states that is
    # differenced, ∂a = −M⁻¹ ∂τ, by a solver of numpy's.
    M = robot.mass_matrix(q)
    for k, e in enumerate(np.eye(robot.nv)):

        def along_q(h, e=e):
            return robot.inverse_dynamics(robot.integrate(q, e, h), v, a, f_ext)

        def along_v(h, e=e):
            return robot.inverse_dynamics(q, v + h * e, a, f_ext)

        for found, f in ((dq[:, k], along_q), (dv[:, k], along_v)):
            slope = derivative(f, 0.05)
            size = largest(M) * largest(found) + largest(tau)
            assert_agree(M @ found, -slope, within=1e-9, size=size)
    assert_agree(M @ dtau, np.eye(robot.nv), size=largest(M) * largest(dtau))


@pytest.mark.parametrize(("name", "base"), [("panda", "fixed"), ("talos_reduced", "floating")])
def test_derivatives_agree_with_pinocchio(name, base):
    pin = pytest.importorskip("pinocchio")
    from oracles.pinocchio_urdf import PinocchioUrdf, build

    path = find_file(name)
    robot = load_real(path, base, mimic="free")
    oracle = PinocchioUrdf(build(path, base), list(robot.model.joints))
    q, v, a = random_motion(robot, 2)
    tau = robot.inverse_dynamics(q, v, a)
    P = oracle.P
    data = oracle.model.createData()
    pin.computeABADerivatives(oracle.model, data, oracle.q_to_pin(q), P @ v, P @ tau)
    inverse = np.triu(data.Minv) + np.triu(data.Minv, 1).T
    there = (data.ddq_dq, data.ddq_dv, inverse)
    for here, found in zip(robot.forward_dynamics_derivatives(q, v, tau), there, strict=True):
        assert_agree(here, P.T @ found @ P, within=1e-8)


def test_inverse_of_M_is_symmetric_to_the_last_digit():
    robot = load_real(find_file("talos_reduced"), "floating", mimic="free")
    q, v = robot.random_state(np.random.default_rng(0))
    inverse = robot.forward_dynamics_derivatives(q, v, v)[2]
    np.testing.assert_array_equal(inverse, inverse.T)


@pytest.mark.parametrize("size", range(1, 10))
def test_robots_of_every_small_size_have_derivatives(size):
    """Fewer columns than a register has lanes, whole blocks, and one more."""
    robot = Robot.family("chain", size)
    q, v, a = random_motion(robot, size)
    M = robot.mass_matrix(q)
    dq, dv = robot.inverse_dynamics_derivatives(q, v, a)
    found = robot.forward_dynamics_derivatives(q, v, robot.inverse_dynamics(q, v, a))
    for here, there in zip(found, (-dq, -dv, np.eye(size)), strict=True):
        assert_agree(M @ here, there, size=largest(M) * largest(here))


def test_robot_whose_joint_moves_nothing_has_no_derivatives_of_accelerations():
    arm = body(1.0, 0.2 * X, 0.01, 0.01, 0.01)
    description = chain(("revolute", Z, 0.0 * X, arm), ("revolute", Z, 0.5 * X, body(0.0, 0.0 * X)))
    with pytest.warns(ModelWarning, match="moves no mass"):
        robot = Robot.from_description(description, accept_unphysical=True)
    with pytest.raises(NumericalError, match="mass matrix is singular"):
        robot.forward_dynamics_derivatives(np.zeros(2), np.zeros(2), np.zeros(2))
    assert largest(robot.inverse_dynamics_derivatives(np.zeros(2), np.zeros(2), np.ones(2))) < 1e3
