"""Drake's column of docs/KINEMATICS.md, shown where Drake is installed (`pip install drake`)."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from support.agreement import assert_agree
from support.robots import load_real
from torqued.kernels import Robot
from torqued.kernels.model.catalog import find_urdf
from torqued.kernels.model.description import Array

pytest.importorskip("pydrake", reason="Drake is not installed: its column is not shown here")

from pydrake.multibody.parsing import Parser
from pydrake.multibody.plant import MultibodyPlant
from pydrake.multibody.tree import JacobianWrtVariable

#: Not Panda: Drake holds the joint that follows another, which needs a plant in discrete time.
ROBOTS = [("solo12", "floating", "HR_FOOT"), ("ur5", "fixed", "wrist_3_link")]


class Drake:
    """A robot and the same in Drake, in one state.

    With a floating base Drake has v = [ω, ẋ] in world axes as the coordinates `hybrid` have, and
    q = [w x y z, position].
    """

    def __init__(self, name: str, base: str, frame: str) -> None:
        path = find_urdf(name)
        self.robot: Robot = load_real(path, base, mimic="free")
        self.plant = MultibodyPlant(time_step=0.0)
        Parser(self.plant).AddModels(str(path))
        root = self.robot.frame_names[0]
        if base == "fixed" and root != "world":  # which Drake fixes by itself
            self.plant.WeldFrames(self.plant.world_frame(), self.plant.GetFrameByName(root))
        self.plant.Finalize()
        self.context = self.plant.CreateDefaultContext()
        self.body = self.plant.GetBodyByName(frame)
        rng = np.random.default_rng(0)
        self.q, self.v = self.robot.in_coordinates("hybrid").random_state(rng)
        q, v = np.zeros(self.plant.num_positions()), np.zeros(self.plant.num_velocities())
        self.order = np.arange(len(v))  # where each of our velocities is in Drake's
        for joint in self.robot.model.joints:
            if joint.type == "floating":
                q[:4], q[4:7] = self.q[[6, 3, 4, 5]], self.q[:3]
                continue
            other = self.plant.GetJointByName(joint.name)
            q[other.position_start()] = self.q[joint.q]
            self.order[joint.v] = other.velocity_start()
        v[self.order] = self.v
        self.plant.SetPositions(self.context, q)
        self.plant.SetVelocities(self.context, v)

    def jacobian(self, axes: Any) -> Array:
        J = self.plant.CalcJacobianSpatialVelocity(*self._where(axes))
        return np.asarray(J[:, self.order])

    def bias(self, axes: Any) -> Array:
        found = self.plant.CalcBiasSpatialAcceleration(*self._where(axes))
        return np.asarray(found.get_coeffs())

    def _where(self, axes: Any) -> tuple[Any, ...]:
        frame, world = self.body.body_frame(), self.plant.world_frame()
        return self.context, JacobianWrtVariable.kV, frame, np.zeros(3), world, axes


@pytest.fixture(params=ROBOTS, ids=lambda p: p[0])
def drake(request: pytest.FixtureRequest) -> Drake:
    return Drake(*request.param)


def test_names_in_drake(drake):
    robot, frame, at = drake.robot, drake.body.name(), "hybrid"
    q, v, plant = drake.q, drake.v, drake.plant
    world, own = plant.world_frame(), drake.body.body_frame()
    assert_agree(drake.jacobian(world), robot.in_coordinates(at).frame_jacobian(q, frame))
    assert_agree(drake.jacobian(own), robot.in_coordinates(at).frame_jacobian(q, frame, "body"))
    velocity = plant.EvalBodySpatialVelocityInWorld(drake.context, drake.body).get_coeffs()
    assert_agree(velocity, robot.in_coordinates(at).frame_velocity(q, v, frame))
    assert_agree(drake.bias(world), robot.in_coordinates(at).frame_bias(q, v, frame))


def test_acceleration_in_drake_is_the_hybrid_one(drake):
    """Of the accelerations that Drake computes itself, falling freely."""
    robot, frame, at = drake.robot, drake.body.name(), "hybrid"
    a = drake.plant.get_generalized_acceleration_output_port().Eval(drake.context)[drake.order]
    found = drake.plant.EvalBodySpatialAccelerationInWorld(drake.context, drake.body).get_coeffs()
    assert_agree(
        found, robot.in_coordinates(at).frame_acceleration(drake.q, drake.v, a, frame), within=1e-9
    )


def test_bias_expressed_in_the_frame_is_turned_and_no_rate(drake):
    """With the frame's axes Drake turns the hybrid J̇ v; the rate of the body Jacobian differs."""
    robot, frame, at = drake.robot, drake.body.name(), "hybrid"
    R = robot.in_coordinates(at).frame_pose(drake.q, frame)[:3, :3]
    hybrid = robot.in_coordinates(at).frame_bias(drake.q, drake.v, frame)
    turned = np.concatenate([R.T @ hybrid[:3], R.T @ hybrid[3:]])
    assert_agree(drake.bias(drake.body.body_frame()), turned)
    body = robot.in_coordinates(at).frame_bias(drake.q, drake.v, frame, "body")
    assert np.abs(body - turned).max() > 1e-2
