"""`in_coordinates("mujoco")` beside MuJoCo: its own qpos and qvel in, its own numbers out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pytest

from support.agreement import assert_agree, largest
from support.chart_cases import real
from support.robots import robot_urdfs
from torqued.kernels import Robot
from torqued.kernels.model.description import Array, Description, Inertia, Joint, Link, Pose

pytest.importorskip("mujoco")

import mujoco

from oracles.mujoco_model import build

#: Of those that MuJoCo accepts: humanoids, quadrupeds, arms, one with continuous joints.
FILES = ("talos_reduced", "g1_29dof_with_hand_rev_1_0", "solo12", "a1", "panda", "kinova")

CHART = "mujoco"


class Both(NamedTuple):
    robot: Robot
    model: Any
    data: Any
    q: Array
    v: Array
    tau: Array


def together(robot: Robot, model: Any, seed: int = 0) -> Both:
    """MuJoCo evaluated at a state of its own layout."""
    rng = np.random.default_rng(seed)
    data = mujoco.MjData(model)
    q, v, tau = data.qpos.copy(), rng.normal(size=model.nv), 10.0 * rng.normal(size=model.nv)
    mujoco.mj_integratePos(model, q, rng.normal(size=model.nv), 1.0)
    data.qpos[:], data.qvel[:], data.qfrc_applied[:] = q, v, tau
    mujoco.mj_forward(model, data)
    return Both(robot, model, data, q, v, tau)


BALLS = """
<mujoco>
  <option gravity="0 0 -9.81"><flag constraint="disable" contact="disable"/></option>
  <worldbody><body name="a" pos="0 0 1">
    <freejoint/>
    <inertial pos="0.1 0.2 0.3" mass="2" diaginertia="0.3 0.4 0.5"/>
    <body name="b" pos="0.5 0 0">
      <joint name="ball_b" type="ball"/>
      <inertial pos="0 0.2 0" mass="1" diaginertia="0.1 0.2 0.2"/>
      <body name="c" pos="0 0.4 0">
        <joint name="hinge_c" type="hinge" axis="0 0 1"/>
        <inertial pos="0.3 0 0.1" mass="1.5" diaginertia="0.2 0.2 0.3"/>
      </body>
    </body>
    <body name="d" pos="-0.5 0 0.2">
      <joint name="ball_d" type="ball"/>
      <inertial pos="0 0 0.3" mass="0.7" diaginertia="0.1 0.1 0.1"/>
    </body>
  </body></worldbody>
</mujoco>
"""


def balls() -> Both:
    """A free body with two ball joints, in MuJoCo's own language and as a description."""

    def link(name: str, com: list[float], mass: float, inertia: list[float]) -> Link:
        return Link(name, Inertia(mass, np.array(com), np.diag(inertia)))

    def joint(name: str, kind: str, parent: str, child: str, at: list[float]) -> Joint:
        return Joint(name, kind, parent, child, Pose(np.eye(3), np.array(at)), np.eye(3)[2])

    description = Description(
        "balls",
        (
            link("a", [0.1, 0.2, 0.3], 2.0, [0.3, 0.4, 0.5]),
            link("b", [0.0, 0.2, 0.0], 1.0, [0.1, 0.2, 0.2]),
            link("c", [0.3, 0.0, 0.1], 1.5, [0.2, 0.2, 0.3]),
            link("d", [0.0, 0.0, 0.3], 0.7, [0.1, 0.1, 0.1]),
        ),
        (
            joint("ball_b", "spherical", "a", "b", [0.5, 0.0, 0.0]),
            joint("hinge_c", "continuous", "b", "c", [0.0, 0.4, 0.0]),
            joint("ball_d", "spherical", "a", "d", [-0.5, 0.0, 0.2]),
        ),
    )
    robot = Robot.from_description(description, "floating")
    return together(robot, mujoco.MjModel.from_xml_string(BALLS))


@pytest.fixture(
    scope="module", params=[*((f, b) for f in FILES for b in ("fixed", "floating")), "balls"]
)
def both(request: pytest.FixtureRequest) -> Both:
    if request.param == "balls":
        return balls()
    name, base = request.param
    path = next(path for path in robot_urdfs() if path.stem == name)
    model = build(path.read_text(encoding="utf-8"), base)
    return together(real(name, base, mimic="free"), model)


def test_dynamics_agree(both):
    robot, model, data, q, v, tau = both
    charted = robot.in_coordinates(CHART)
    assert (charted.nq, charted.nv) == (model.nq, model.nv)
    M = np.zeros((model.nv, model.nv))
    mujoco.mj_fullM(model, data, M)
    assert_agree(charted.mass_matrix(q), M)
    size = largest(M)
    assert_agree(charted.bias(q, v), data.qfrc_bias, size=1e-3 * size)
    a = charted.forward_dynamics(q, v, tau)
    if np.linalg.cond(M) < 1e5:
        assert_agree(a, data.qacc)
    assert_agree(M @ a + data.qfrc_bias, tau, size=size * largest(a))
    C = charted.coriolis_matrix(q, v)
    assert_agree(C @ v + charted.gravity(q), data.qfrc_bias, size=1e-3 * size)


def test_jacobians_agree(both):
    robot, model, data, q = both[:4]
    for k in range(1, model.nbody):
        name = model.body(k).name
        if name not in robot.frame_names:
            continue
        J = np.zeros((6, model.nv))
        mujoco.mj_jacBody(model, data, J[3:], J[:3], k)
        assert_agree(robot.in_coordinates(CHART).frame_jacobian(q, name), J)


def test_integration_agrees(both):
    robot, model, _, q, v, _ = both
    end = q.copy()
    mujoco.mj_integratePos(model, end, v, 0.2)
    assert_agree(robot.in_coordinates(CHART).integrate(q, v, 0.2), end)
    step = np.empty(model.nv)
    mujoco.mj_differentiatePos(model, step, 1.0, q, end)
    assert_agree(robot.in_coordinates(CHART).difference(q, end), step)


def test_joints_come_in_mujocos_order(both):
    model, robot = both.model, both.robot
    names = [model.joint(k).name or "root_joint" for k in range(model.njnt)]
    assert list(robot.chart("mujoco").joint_names) == names
