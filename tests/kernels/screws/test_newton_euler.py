"""Inverse dynamics in every representation: the same torques, and wrenches that are the same ones
seen differently."""

from __future__ import annotations

import numpy as np
import pytest

from support.agreement import assert_agree, largest
from support.cases import Case, cases, examples
from support.robots import random_motion
from torqued.kernels import InputError, Robot
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.screws import convert, convert_wrench

representations = pytest.mark.parametrize("representation", REPRESENTATIONS)


def external(case: Case) -> dict[str, np.ndarray]:
    return {case.frame(): case.rng.normal(size=6), case.frame(): case.rng.normal(size=6)}


def link_of(robot: Robot, joint: str) -> str:
    """The first link that a joint carries."""
    info = next(j for j in robot.model.joints if j.name == joint)
    body = robot.work.arrays.body_of[info.v + info.nv - 1]
    return next(frame.name for frame in robot.model.frames if frame.body == body)


@representations
@examples(10, case=cases())
def test_torques_are_those_of_inverse_dynamics(case, representation):
    robot, q, v, a, f_ext = case.robot, case.q, case.v, case.a, external(case)
    size = largest(robot.mass_matrix(q)) * max(1.0, largest(v), largest(a)) ** 2
    found = robot.screws.newton_euler(q, v, a, representation, f_ext)
    assert_agree(found.tau, robot.inverse_dynamics(q, v, a, f_ext), size=size)
    for joint, twist in found.twists.items():
        expected = robot.frame_velocity(q, v, link_of(robot, joint), representation)
        assert_agree(twist, expected, size=1.0)


@representations
@examples(10, case=cases())
def test_wrenches_are_the_same_in_every_representation(case, representation):
    robot, q, v, a, f_ext = case.robot, case.q, case.v, case.a, external(case)
    found = robot.screws.newton_euler(q, v, a, representation, f_ext)
    hybrid = robot.screws.newton_euler(q, v, a, "hybrid", f_ext)
    for joint, wrench in found.wrenches.items():
        pose = robot.frame_pose(q, link_of(robot, joint))
        expected = convert_wrench("hybrid", representation, pose, hybrid.wrenches[joint])
        assert_agree(wrench, expected, size=1.0 + largest(expected))


def test_first_joint_carries_the_whole_robot():
    """An oracle beside the recursion: the rate of the total momentum about the world's origin."""
    robot = Robot.family("chain", 6)
    q, v, a = random_motion(robot)
    found = robot.screws.newton_euler(q, v, a, "spatial")
    momenta = robot.screws.momentum_form(q, v, a)
    total = momenta.rate.sum(axis=0) - momenta.gravity.sum(axis=0)
    assert_agree(found.wrenches[robot.joint_names[0]], total)


@pytest.mark.parametrize("same_axes", [True, False])
@examples(10, case=cases(mimics=False))
def test_in_a_moving_frame_the_torques_stay_the_same(case, same_axes):
    robot, q, v, a, f_ext = case.robot, case.q, case.v, case.a, external(case)
    frame = case.frame()
    axes = frame if same_axes else case.frame()
    found = robot.screws.newton_euler_in_frame(q, v, a, frame, None if same_axes else axes, f_ext)
    size = largest(robot.mass_matrix(q)) * max(1.0, largest(v), largest(a)) ** 2
    assert_agree(found.tau, robot.inverse_dynamics(q, v, a, f_ext), size=10.0 * size)
    spatial = robot.screws.newton_euler(q, v, a, "spatial", f_ext)
    pose = robot.frame_pose(q, frame)
    pose[:3, :3] = robot.frame_pose(q, axes)[:3, :3]
    for joint, wrench in found.wrenches.items():
        expected = convert_wrench("spatial", "body", pose, spatial.wrenches[joint])
        assert_agree(wrench, expected, size=size)
        (twist,) = convert("spatial", "body", pose, spatial.twists[joint])
        assert_agree(found.twists[joint], twist, size=1.0)


def test_rates_in_a_moving_frame_are_rates_of_those_numbers():
    """[M18] eq. 60 is about the rate of kV, which is no acceleration of anything at rest."""
    from torqued.kernels.screws.arbitrary_frame import newton_euler_in_frame

    robot = Robot.family("biped", 6)
    q, v, a = random_motion(robot)
    frame, axes = robot.frame_names[-1], robot.frame_names[3]

    def twists_at(t: float) -> np.ndarray:
        there = robot.integrate(q, v + 0.5 * t * a, t)
        found = robot.screws.newton_euler_in_frame(there, v + t * a, a, frame, axes)
        return np.array(list(found.twists.values()))

    bodies = robot.screws.bodies(q)
    place = robot.screws._place(q, v, frame, axes)
    spatial, rates = (
        np.array([function(name) for name in map(lambda j: link_of(robot, j), robot.joint_names)])
        for function in (
            lambda name: robot.frame_velocity(q, v, name, "spatial"),
            lambda name: robot.frame_acceleration(q, v, a, name, "spatial"),
        )
    )
    none = np.zeros_like(spatial)
    found = newton_euler_in_frame(bodies, place, spatial, rates, a, np.zeros(3), none)
    h = 1e-5
    assert_agree(found.rates, (twists_at(h) - twists_at(-h)) / (2 * h), within=1e-7)


class TestErrors:
    def test_unknown_names(self):
        robot = Robot.family("chain", 2)
        zero = np.zeros(2)
        with pytest.raises(InputError, match="representation: 'local' is unknown"):
            robot.screws.newton_euler(zero, zero, zero, "local")
        with pytest.raises(InputError, match="frame 'hand' is unknown"):
            robot.screws.newton_euler_in_frame(zero, zero, zero, "hand")
        with pytest.raises(InputError) as caught:
            robot.screws.newton_euler_in_frame(zero, zero, zero, robot.frame_names[0], "hand")
        assert caught.value.field == "axes"
