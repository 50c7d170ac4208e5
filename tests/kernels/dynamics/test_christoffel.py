"""All Christoffel symbols of the first kind."""

from __future__ import annotations

import numpy as np
import pytest

from oracles import finite_differences
from support.agreement import assert_agree, largest
from support.cases import RATES, cases, examples
from torqued.kernels import Robot
from torqued.kernels.compilation.entries import COMPILED


@examples(25, case=cases(types=RATES, bases=("fixed",), most=8))
def test_symbols_are_their_definition_by_partial_derivatives_of_M(case):
    """Γ_ijk = ½ (∂M_ij/∂q_k + ∂M_ik/∂q_j − ∂M_jk/∂q_i), with and without mimics."""
    Gamma = finite_differences.christoffel(case.robot.mass_matrix, case.q)
    size = largest(case.robot.mass_matrix(case.q))
    assert_agree(case.robot.christoffel(case.q), Gamma, size=size)


@pytest.mark.parametrize("kind", ["chain", "tree", "biped", "quadruped"])
def test_an_array_that_was_once_zero_can_be_filled_again_and_again(kind):
    """What the kernel leaves alone is zero in every configuration."""
    robot = Robot.family(kind, 9)
    rng = np.random.default_rng(0)
    Gamma = np.zeros((robot.nv,) * 3)
    for _ in range(3):
        q, _ = robot.random_state(rng)
        COMPILED.christoffel(robot.work.handle, q, Gamma)
        np.testing.assert_array_equal(Gamma, robot.christoffel(q))


@pytest.mark.parametrize("kind", ["biped", "quadruped"])
def test_symbols_of_joints_on_different_limbs_are_zero(kind):
    robot = Robot.family(kind, 8)
    q, _ = robot.random_state(np.random.default_rng(0))
    Gamma = robot.christoffel(q)
    legs = np.array([joint.name.rsplit("_", 1)[0] for joint in robot.model.joints[1:]])
    for i, j, k in np.ndindex(8, 8, 8):
        if len({legs[i], legs[j], legs[k]}) > 1:
            assert Gamma[6 + i, 6 + j, 6 + k] == 0.0


def test_mass_between_outer_joints_does_not_change_with_an_inner_one():
    """Γ_kij = −Γ_jik for i ⪯ j ⪯ k, as ∂M_jk/∂q_i = 0."""
    robot = Robot.family("chain", 6)
    q, _ = robot.random_state(np.random.default_rng(0))
    Gamma = robot.christoffel(q)
    for i, j, k in np.ndindex(6, 6, 6):
        if i <= j <= k:
            assert_agree(Gamma[k, i, j], -Gamma[j, i, k], size=largest(Gamma))
