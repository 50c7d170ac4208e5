"""MuJoCo as an oracle that shares neither code nor formulation with the others."""

from __future__ import annotations

import numpy as np
import pytest

from oracles.literal_tree import Base
from support.agreement import assert_agree, largest
from support.cases import BASES, GRAVITY, with_random_armature
from support.random_trees import random_tree
from support.robots import load_real, random_motion, robot_urdfs
from torqued.kernels import Robot
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.families import FAMILIES, family

pytest.importorskip("mujoco")

from oracles.mujoco_model import MujocoRobot, build

#: The single-DoF joints that MuJoCo's URDF reader knows.
TYPES = ("fixed", "revolute", "continuous", "prismatic")

#: Files without what MuJoCo refuses: bodies that no real body can be, moving ones without mass.
FILES = (
    "panda",
    "talos_reduced",
    "talos_full_v2",
    "g1_29dof_with_hand_rev_1_0",
    "a1",
    "baxter",
    "centauro",
    "kinova",
    "laikago",
    "simple_humanoid",
    "solo12",
    "TwoDofs",
    "tiago_pro",
    "ur5_robot",
    "xarm7",
    "z1",
)

bases = pytest.mark.parametrize("base", BASES)


def assert_agree_with_mujoco(robot: Robot, urdf: str, base: Base, seed: int) -> None:
    """M, bias and accelerations; the last as a residual where M magnifies rounding too much."""
    q, v, a = random_motion(robot, seed)
    tau = 10.0 * a
    model = build(urdf, base)
    model.opt.gravity = robot.gravity_vector
    oracle = MujocoRobot(model, list(robot.model.joints), robot.limits.armature)
    M, bias, a = oracle.evaluate(q, v, tau)
    assert_agree(robot.mass_matrix(q), M)
    assert_agree(robot.bias(q, v), bias, size=1e-3 * largest(M))
    ours = robot.forward_dynamics(q, v, tau)
    if np.linalg.cond(M) < 1e5:
        assert_agree(ours, a)
    assert_agree(M @ ours + bias, tau, size=largest(M) * largest(ours))


@pytest.mark.parametrize("kind", FAMILIES)
def test_families_agree(kind):
    robot = Robot.family(kind, 12, seed=3, gravity=GRAVITY)
    urdf = to_urdf(family(kind, 12, seed=3))
    assert_agree_with_mujoco(robot, urdf, robot.model.base, seed=0)


@bases
@pytest.mark.parametrize("seed", range(8))
def test_random_trees_with_rotors_agree(seed, base):
    rng = np.random.default_rng(seed)
    plain = random_tree(rng, 10, TYPES, massless=False)
    robot = Robot.from_description(with_random_armature(plain, rng), base)
    assert robot.limits.armature.any()
    assert_agree_with_mujoco(robot, to_urdf(plain), base, seed)


@bases
@pytest.mark.parametrize("name", FILES)
def test_real_robots_agree(name, base):
    (path,) = [path for path in robot_urdfs() if path.stem == name]
    robot = load_real(path, base, mimic="free")
    assert_agree_with_mujoco(robot, path.read_text(encoding="utf-8"), base, seed=1)
