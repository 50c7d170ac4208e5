"""Matrices in tiles of four by four: for every number of columns, in every kind of tree.

Where four does not divide the columns, tiles overlap; below four there are none.
"""

from __future__ import annotations

import numpy as np
import pytest

from support.agreement import assert_agree, largest
from torqued.kernels import Robot
from torqued.kernels.compilation.entries import COMPILED

#: Serial and branched, down to one joint; and with the six columns of a floating base.
ROBOTS = [
    *((kind, count) for kind in ("chain", "tree") for count in (*range(1, 10), 13)),
    *(("biped", count) for count in (2, 4, 6, 8, 10)),
]


@pytest.fixture(scope="module", params=ROBOTS, ids=lambda pair: f"{pair[0]}{pair[1]}")
def state(request):
    kind, count = request.param
    robot = Robot.family(kind, count)
    rng = np.random.default_rng(count)
    q, v = robot.random_state(rng)
    return robot, q, v


def filled(robot, q, v):
    """M, Ṁ and C in arrays that held something else."""
    matrices = np.full((3, robot.nv, robot.nv), np.nan)
    COMPILED.coriolis_matrix(robot.work.handle, q, v, *matrices)
    return matrices


def test_columns_of_the_mass_matrix_are_torques_of_unit_accelerations(state):
    robot, q, v = state
    M = np.full((robot.nv, robot.nv), np.nan)
    COMPILED.mass_matrix(robot.work.handle, q, M)
    rest, g = np.zeros(robot.nv), robot.gravity(q)
    expected = [robot.inverse_dynamics(q, rest, a) - g for a in np.eye(robot.nv)]
    assert_agree(M, np.transpose(expected), within=1e-11, size=largest(g) + largest(M))
    assert_agree(filled(robot, q, v)[0], M)


def test_coriolis_matrix_gives_the_bias_and_the_rate_of_the_mass_matrix(state):
    robot, q, v = state
    M, Mdot, C = filled(robot, q, v)
    bias, g = robot.bias(q, v), robot.gravity(q)
    size = largest(M) * largest(v)
    assert_agree(C @ v, bias - g, within=1e-11, size=largest(g) + largest(bias))
    assert_agree(C + C.T, robot.mass_matrix_rate(q, v), size=size)
    assert_agree(Mdot, C + C.T, size=size)


def test_christoffel_symbols_add_up_to_the_coriolis_matrix(state):
    robot, q, v = state
    Gamma = np.zeros((robot.nv,) * 3)
    for _ in range(2):  # the second time into what the first has left
        COMPILED.christoffel(robot.work.handle, q, Gamma)
    M, _, C = filled(robot, q, v)
    assert_agree(Gamma @ v, C, size=largest(M) * largest(v))
