"""The mass matrix."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from support.agreement import assert_agree
from support.cases import cases, examples
from torqued.kernels import Robot
from torqued.kernels.model.families import family


def test_mass_matrix_does_not_depend_on_how_far_the_robot_stands_from_the_origin():
    """A fixed base: the first joint 10 km away from the root link."""
    near = family("chain", 6)
    first = near.joints[0]
    place = replace(first.placement, position=np.array([6e3, -8e3, 1e3]))
    far = replace(near, joints=(replace(first, placement=place), *near.joints[1:]))
    q, v = np.linspace(-2.0, 2.0, 6), np.linspace(1.0, -2.0, 6)
    here, there = Robot.from_description(near), Robot.from_description(far)
    assert_agree(there.mass_matrix(q), here.mass_matrix(q))
    assert_agree(there.coriolis_matrix(q, v), here.coriolis_matrix(q, v))
    assert_agree(there.christoffel(q), here.christoffel(q))
    assert_agree(there.gravity(q), here.gravity(q))
    assert_agree(there.forward_dynamics(q, v, v), here.forward_dynamics(q, v, v))


@examples(25, case=cases(bases=("floating",), mimics=False))
def test_translation_of_a_floating_base_moves_the_whole_mass(case):
    M = case.robot.mass_matrix(case.q)
    assert_agree(M[3:6, 3:6], case.robot.total_mass * np.eye(3))


@pytest.mark.parametrize("kind", ["biped", "quadruped"])
def test_branches_do_not_feel_each_other(kind):
    robot = Robot.family(kind, 8)
    q, _ = robot.random_state(np.random.default_rng(0))
    M = robot.mass_matrix(q)
    limb = {joint.name.rsplit("_", 1)[0] for joint in robot.model.joints[1:]}
    assert len(limb) == {"biped": 2, "quadruped": 4}[kind]
    for i in robot.model.joints[1:]:
        for j in robot.model.joints[1:]:
            related = i.name.rsplit("_", 1)[0] == j.name.rsplit("_", 1)[0]
            assert (M[i.v, j.v] != 0.0) == related
