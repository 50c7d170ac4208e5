"""docs/KINEMATICS.md says which function of another library gives which of our quantities: shown
with those that are installed, on a quadruped and on an arm."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.agreement import assert_agree, largest
from support.robots import load_real
from torqued.kernels import Robot
from torqued.kernels.model.catalog import find_file
from torqued.kernels.model.description import Array

pytest.importorskip("pinocchio")
pytest.importorskip("mujoco")

import mujoco
import pinocchio as pin

from oracles import mujoco_model, pinocchio_urdf

ANGULAR_FIRST = np.r_[3:6, 0:3]
ROBOTS = [("solo12", "floating", "HR_FOOT"), ("panda", "fixed", "panda_hand")]


@pytest.fixture(params=ROBOTS, ids=lambda p: p[0])
def robot_and_frame(request: pytest.FixtureRequest) -> tuple[Robot, Any, str]:
    name, base, frame = request.param
    path = find_file(name)
    return load_real(path, base, mimic="free"), path, frame


def turned(R: Array, x: Array) -> Array:
    """Both halves."""
    return np.concatenate([R @ x[:3], R @ x[3:]])


class Pinocchio:
    def __init__(self, robot: Robot, path: Any, frame: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.q, self.v = robot.in_coordinates("pinocchio").random_state(rng)
        self.a = rng.normal(size=robot.nv)
        self.model = pinocchio_urdf.build(path, robot.model.base)
        self.data = self.model.createData()
        self.frame = self.model.getFrameId(frame)
        pin.forwardKinematics(self.model, self.data, self.q, self.v, self.a)
        pin.computeJointJacobiansTimeVariation(self.model, self.data, self.q, self.v)
        pin.updateFramePlacements(self.model, self.data)

    def __call__(self, function: str, axes: Any) -> Array:
        found = getattr(pin, function)(self.model, self.data, self.frame, axes)
        values = found.vector if hasattr(found, "vector") else found
        return np.asarray(values)[ANGULAR_FIRST]


@pytest.mark.parametrize(
    ("representation", "axes", "acceleration"),
    [
        ("body", "LOCAL", "getFrameAcceleration"),
        ("spatial", "WORLD", "getFrameAcceleration"),
        ("hybrid", "LOCAL_WORLD_ALIGNED", "getFrameClassicalAcceleration"),
    ],
)
def test_names_in_pinocchio(robot_and_frame, representation, axes, acceleration):
    robot, path, frame = robot_and_frame
    other, axes = Pinocchio(robot, path, frame, 0), getattr(pin, axes)
    q, v, a, at = other.q, other.v, other.a, "pinocchio"
    where = (frame, representation)
    J, Jdot = (
        robot.in_coordinates(at).frame_jacobian(q, *where),
        robot.in_coordinates(at).frame_jacobian_rate(q, v, *where),
    )
    assert_agree(J, other("getFrameJacobian", axes))
    assert_agree(Jdot, other("getFrameJacobianTimeVariation", axes))
    assert_agree(
        robot.in_coordinates(at).frame_velocity(q, v, *where), other("getFrameVelocity", axes)
    )
    ours = robot.in_coordinates(at).frame_acceleration(q, v, a, *where)
    assert_agree(ours, other(acceleration, axes))
    assert_agree(J @ a + Jdot @ v, ours)


def test_accelerations_of_pinocchio_that_are_no_rates_of_its_velocities(robot_and_frame):
    """What readers of the issues stumble over: the other two accelerations are turned ones."""
    robot, path, frame = robot_and_frame
    other = Pinocchio(robot, path, frame, 1)
    q, v, a, at = other.q, other.v, other.a, "pinocchio"
    R = robot.in_coordinates(at).frame_pose(q, frame)[:3, :3]
    body = robot.in_coordinates(at).frame_acceleration(q, v, a, frame, "body")
    hybrid = robot.in_coordinates(at).frame_acceleration(q, v, a, frame, "hybrid")
    assert_agree(other("getFrameAcceleration", pin.LOCAL_WORLD_ALIGNED), turned(R, body))
    assert_agree(other("getFrameClassicalAcceleration", pin.LOCAL), turned(R.T, hybrid))
    velocity = robot.in_coordinates(at).frame_velocity(q, v, frame)
    between = np.append(np.zeros(3), np.cross(velocity[:3], velocity[3:]))
    assert_agree(hybrid - turned(R, body), between, size=1.0)
    assert largest(between) > 1e-2


class Mujoco:
    def __init__(self, robot: Robot, path: Any, frame: str, seed: int) -> None:
        rng = np.random.default_rng(seed)
        self.q, self.v = robot.in_coordinates("mujoco").random_state(rng)
        self.a = rng.normal(size=robot.nv)
        self.model = mujoco_model.build(path.read_text(), robot.model.base)
        self.data = mujoco.MjData(self.model)
        self.body = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, frame)
        self.data.qpos[:], self.data.qvel[:] = self.q, self.v
        mujoco.mj_forward(self.model, self.data)
        self.data.qacc[:] = self.a
        mujoco.mj_rnePostConstraint(self.model, self.data)

    def rows(self, function: str) -> Array:
        J = np.zeros((6, self.model.nv))
        point = self.data.xpos[self.body]
        getattr(mujoco, function)(self.model, self.data, J[3:], J[:3], point, self.body)
        return J

    def motion(self, function: str, local: int) -> Array:
        found = np.zeros(6)
        kind = mujoco.mjtObj.mjOBJ_XBODY
        getattr(mujoco, function)(self.model, self.data, kind, self.body, found, local)
        return found


def test_names_in_mujoco(robot_and_frame):
    robot, path, frame = robot_and_frame
    other = Mujoco(robot, path, frame, 2)
    q, v, a, at = other.q, other.v, other.a, "mujoco"
    pose = robot.in_coordinates(at).frame_pose(q, frame)
    R = pose[:3, :3]
    J, Jdot = (
        robot.in_coordinates(at).frame_jacobian(q, frame),
        robot.in_coordinates(at).frame_jacobian_rate(q, v, frame),
    )
    assert_agree(J, other.rows("mj_jac"))
    assert_agree(Jdot, other.rows("mj_jacDot"))
    velocity = robot.in_coordinates(at).frame_velocity(q, v, frame)
    assert_agree(other.motion("mj_objectVelocity", 0), velocity)
    body = robot.in_coordinates(at).frame_velocity(q, v, frame, "body")
    assert_agree(other.motion("mj_objectVelocity", 1), body)
    # MuJoCo's accelerations count gravity in: a robot at rest accelerates upwards.
    hybrid = robot.in_coordinates(at).frame_acceleration(q, v, a, frame)
    hybrid[3:] -= robot.gravity_vector
    assert_agree(other.motion("mj_objectAcceleration", 0), hybrid)
    assert_agree(other.motion("mj_objectAcceleration", 1), turned(R.T, hybrid))
    # cvel is a spatial twist, with the origin at the center of mass of the whole tree.
    spatial = robot.in_coordinates(at).frame_velocity(q, v, frame, "spatial")
    com = other.data.subtree_com[other.model.body_rootid[other.body]]
    spatial[3:] += np.cross(spatial[:3], com)
    assert_agree(other.data.cvel[other.body], spatial)
