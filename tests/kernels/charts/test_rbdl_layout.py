"""`in_coordinates("rbdl")`: RBDL's floating base is a TranslationXYZ and then a Spherical joint
([F16] section 5), which is built here from such joints."""

from __future__ import annotations

import numpy as np
import pytest

from support.agreement import assert_agree, largest
from support.cases import GRAVITY
from support.chart_cases import real, simple_tree, with_base_joints
from support.random_trees import random_tree
from torqued.kernels import Robot

CHART = "rbdl"


@pytest.mark.parametrize("seed", range(5))
def test_it_is_the_chain_of_a_translation_and_a_spherical_joint(seed):
    description = simple_tree(seed)
    robot = Robot.from_description(description, "floating", gravity=GRAVITY)
    chain = with_base_joints(description, "spherical")
    rng = np.random.default_rng(seed)
    there, v = chain.random_state(rng)
    tau = rng.normal(size=chain.nv)
    q = np.hstack([there[:6], there[7:], there[6]])  # w of the base at the end
    M = chain.mass_matrix(there)
    assert_agree(robot.in_coordinates(CHART).mass_matrix(q), M)
    assert_agree(robot.in_coordinates(CHART).coriolis_matrix(q, v), chain.coriolis_matrix(there, v))
    assert_agree(robot.in_coordinates(CHART).christoffel(q), chain.christoffel(there))
    assert_agree(robot.in_coordinates(CHART).bias(q, v), chain.bias(there, v))
    a = chain.forward_dynamics(there, v, tau)
    assert_agree(robot.in_coordinates(CHART).forward_dynamics(q, v, tau), a, within=1e-8)
    for frame in robot.frame_names[::3]:
        assert_agree(
            robot.in_coordinates(CHART).frame_jacobian(q, frame), chain.frame_jacobian(there, frame)
        )
        bias = chain.frame_bias(there, v, frame)
        assert_agree(
            robot.in_coordinates(CHART).frame_bias(q, v, frame), bias, size=largest(v) ** 2
        )
    end = chain.integrate(there, v, 0.1)
    expected = np.hstack([end[:6], end[7:], end[6]])
    assert_agree(robot.in_coordinates(CHART).integrate(q, v, 0.1), expected)


def test_the_w_of_every_quaternion_stands_at_the_end_in_the_order_of_the_joints():
    types = ("spherical", "revolute")
    description = random_tree(np.random.default_rng(8), 6, types)
    robot = Robot.from_description(description, "floating")
    balls = [joint for joint in robot.model.joints if joint.type == "spherical"]
    assert len(balls) > 1
    native, _ = robot.random_state(np.random.default_rng(0))
    q = robot.chart("rbdl").from_native(native)
    scalars = [native[6], *(native[ball.q + 3] for ball in balls)]
    assert_agree(q[-len(scalars) :], scalars)
    # Up to there, q and v count alike, as in RBDL's q_index.
    assert len(q) - len(scalars) == robot.nv
    for ball in balls:
        assert_agree(q[ball.v : ball.v + 3], native[ball.q : ball.q + 3])


def test_joints_come_by_name_and_continuous_ones_have_one_coordinate():
    robot = real("talos_reduced")
    assert robot.chart("rbdl").joint_names == robot.chart("pinocchio").joint_names
    kinova = real("kinova", "fixed")
    assert kinova.chart("rbdl").nq == kinova.nq
