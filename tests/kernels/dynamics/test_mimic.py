"""Joints that follow others: kernels of the projection, and robots against its definition."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import assume

from oracles.literal_tree import MimicMaps, mimic_maps
from support.agreement import assert_agree, largest
from support.cases import Case, cases, examples
from support.textbook import LIMITS, X, Y, Z, body
from torqued.kernels import ModelError, ModelWarning, Robot
from torqued.kernels.model.description import SINGLE_DOF, Description, Joint, Link, Mimic, Pose

#: Mostly joints that can follow; a tree in which none does is drawn now and then.
followers = examples(
    25, case=cases(sorted(SINGLE_DOF) * 3 + ["spherical", "planar"], mimics=True, least=4)
)


def free_twin(case: Case) -> tuple[Robot, MimicMaps]:
    """The robot with its followers let loose, and the maps from leaders to all."""
    assume(case.robot.model.mimics.present)
    robot = Robot.from_description(
        case.description, case.base, mimic="free", gravity=case.robot.gravity_vector
    )
    return robot, mimic_maps(case.description, case.base)


@followers
def test_everything_is_the_projection_of_the_free_tree(case):
    free, maps = free_twin(case)
    robot, q, v, a, G = case.robot, case.q, case.v, case.a, maps.Gv
    q_free, v_free = maps.Gq @ q + maps.offset, G @ v
    M = G.T @ free.mass_matrix(q_free) @ G
    size = largest(M) * largest(v)
    assert_agree(robot.mass_matrix(q), M)
    Mdot = free.mass_matrix_rate(q_free, v_free)
    assert_agree(robot.mass_matrix_rate(q, v), G.T @ Mdot @ G, size=size)
    C = G.T @ free.coriolis_matrix(q_free, v_free) @ G
    assert_agree(robot.coriolis_matrix(q, v), C, size=size)
    Gamma = np.einsum("ia,jb,kc,ijk->abc", G, G, G, free.christoffel(q_free), optimize=True)
    assert_agree(robot.christoffel(q), Gamma, size=largest(M))
    assert_agree(robot.gravity(q), G.T @ free.gravity(q_free), size=size)
    bias = G.T @ free.bias(q_free, v_free)
    assert_agree(robot.bias(q, v), bias, size=size)
    assert_agree(robot.inverse_dynamics(q, v, a), M @ a + bias, size=size)
    assert_agree(robot.energy(q, v), free.energy(q_free, v_free))
    assert_agree(robot.centroidal_matrix(q), free.centroidal_matrix(q_free) @ G)
    frame = case.frame()
    J = robot.frame_jacobian(q, frame)
    assert_agree(J, free.frame_jacobian(q_free, frame) @ G, size=1.0)
    bias = free.frame_bias(q_free, v_free, frame)
    assert_agree(robot.frame_bias(q, v, frame), bias, size=largest(v))


@followers
def test_integrate_and_difference_move_the_leaders(case):
    free, maps = free_twin(case)
    robot, q, v = case.robot, case.q, case.v
    moved = robot.integrate(q, v, 0.3)
    expected = free.integrate(maps.Gq @ q + maps.offset, maps.Gv @ v, 0.3)
    assert_agree(maps.Gq @ moved + maps.offset, expected, size=1.0)


def gripper(multiplier: float = -1.0, offset: float = 0.02, **options: object) -> Robot:
    """A wrist, a finger that slides, and another that follows it; then one that follows that."""
    heavy = body(0.5, 0.05 * Z, 0.01, 0.01, 0.01)
    names = ("base", "palm", "left", "right", "tip")
    links = (Link("base"), *(Link(name, heavy) for name in names[1:]))

    def joint(name: str, kind: str, parent: str, child: str, mimic: Mimic | None = None) -> Joint:
        return Joint(name, kind, parent, child, Pose(), Y, limits=LIMITS, mimic=mimic)

    joints = (
        joint("wrist", "revolute", "base", "palm"),
        joint("right_slide", "prismatic", "palm", "right", Mimic("left_slide", multiplier, offset)),
        joint("left_slide", "prismatic", "palm", "left"),
        joint("tip_turn", "revolute", "right", "tip", Mimic("right_slide", 10.0, 0.5)),
    )
    return Robot.from_description(Description("gripper", links, joints), **options)


class TestGripper:
    def test_followers_have_no_coordinates(self):
        robot = gripper()
        assert (robot.nq, robot.nv) == (2, 2)
        assert robot.joint_names == ("wrist", "left_slide")
        assert robot.limits.lower.shape == robot.limits.effort.shape == (2,)
        assert gripper(mimic="free").joint_names == (
            "wrist",
            "right_slide",
            "tip_turn",
            "left_slide",
        )

    def test_followers_go_where_their_leader_sends_them(self):
        robot = gripper()
        q = [0.0, 0.3]
        assert_agree(robot.frame_pose(q, "left")[:3, 3], 0.3 * Y)
        assert_agree(robot.frame_pose(q, "right")[:3, 3], (-0.3 + 0.02) * Y)
        angle = 10.0 * (-0.3 + 0.02) + 0.5
        assert_agree(robot.frame_pose(q, "tip")[:3, 0], np.cos(angle) * X - np.sin(angle) * Z)

    def test_force_on_a_follower_is_felt_by_its_leader(self):
        robot = gripper(gravity=(0.0, 0.0, 0.0))
        rest = np.zeros(2)
        pushed = robot.inverse_dynamics(rest, rest, rest, {"right": [0, 0, 0, 0, 3.0, 0]})
        assert_agree(pushed, [0.0, 3.0], size=1.0)  # τ = −Jᵀ f with J = −1

    def test_multiplier_zero_holds_the_follower_at_its_offset(self):
        with pytest.warns(ModelWarning, match="stays at"):
            robot = gripper(multiplier=0.0)
        for x in (0.0, 0.3):
            assert_agree(robot.frame_pose([0.0, x], "right")[:3, 3], 0.02 * Y)

    def test_follower_that_moves_no_mass_is_no_fault_until_it_is_free(self):
        heavy = body(0.5, 0.05 * Z, 0.01, 0.01, 0.01)
        lead = Joint("lead", "revolute", "base", "a", axis=Y, limits=LIMITS)
        follow = replace(lead, name="follow", parent="a", child="b", mimic=Mimic("lead"))
        links = (Link("base"), Link("a", heavy), Link("b"))
        description = Description("light", links, (lead, follow))
        assert Robot.from_description(description).nv == 1
        with pytest.raises(ModelError, match="joint 'follow': moves no mass"):
            Robot.from_description(description, mimic="free")
