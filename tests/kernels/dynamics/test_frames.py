"""Poses, Jacobians and motions of frames and points, and their four representations."""

from __future__ import annotations

import numpy as np
import pytest

from support.agreement import assert_agree
from support.cases import cases, examples
from support.textbook import X, Y, Z, body, chain
from torqued.kernels import InputError, Robot
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.model.description import Array, Description, Joint, Link, Pose

representations = pytest.mark.parametrize("representation", REPRESENTATIONS)


def skew(p: Array) -> Array:
    x, y, z = p
    return np.array([[0.0, -z, y], [z, 0.0, -x], [-y, x, 0.0]])


def from_hybrid(representation: str, pose: Array) -> Array:
    """(6, 6) that takes a twist from `hybrid` to a representation, by its definition."""
    R, p = pose[:3, :3], pose[:3, 3]
    zero, one = np.zeros((3, 3)), np.eye(3)
    return {
        "hybrid": np.eye(6),
        "body": np.block([[R.T, zero], [zero, R.T]]),
        "spatial": np.block([[one, zero], [skew(p), one]]),  # u at the origin is u − ω × p
        "mixed": np.block([[R.T, zero], [zero, one]]),
    }[representation]


@representations
@examples(25, case=cases())
def test_representations_are_what_they_say(case, representation):
    robot, q, frame, point = case.robot, case.q, case.frame(), case.rng.normal(size=3)
    T = from_hybrid(representation, robot.frame_pose(q, frame, point))
    hybrid = robot.frame_jacobian(q, frame, "hybrid", point)
    assert_agree(robot.frame_jacobian(q, frame, representation, point), T @ hybrid, size=1.0)


@examples(25, case=cases())
def test_point_is_given_in_the_frames_axes(case):
    robot, q, frame, point = case.robot, case.q, case.frame(), case.rng.normal(size=3)
    pose = robot.frame_pose(q, frame)
    shifted = robot.frame_pose(q, frame, point)
    assert_agree(shifted[:3, :3], pose[:3, :3])
    assert_agree(shifted[:3, 3], pose[:3, 3] + pose[:3, :3] @ point, size=1.0)
    J, J_point = robot.frame_jacobian(q, frame), robot.frame_jacobian(q, frame, point=point)
    assert_agree(J_point[:3], J[:3], size=1.0)
    assert_agree(J_point[3:], J[3:] - skew(pose[:3, :3] @ point) @ J[:3], size=1.0)


def with_tool() -> Robot:
    """One joint about z, a tool fixed to its link half a metre out and turned about z."""
    heavy = body(1.0, 0.1 * X, 0.01, 0.01, 0.01)
    arm = chain(("revolute", Z, Z, heavy))
    quarter = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    tool = Joint("mount", "fixed", "l1", "tool", Pose(quarter, 0.5 * X))
    post = Joint("post_mount", "fixed", "base", "post", Pose(np.eye(3), 2.0 * Y))
    return Robot.from_description(
        Description("arm", (*arm.links, Link("tool"), Link("post")), (*arm.joints, tool, post))
    )


class TestTool:
    def test_pose(self):
        pose = with_tool().frame_pose([np.pi / 2], "tool")
        expected = np.array([[-1, 0, 0, 0], [0, -1, 0, 0.5], [0, 0, 1, 1], [0, 0, 0, 1.0]])
        assert_agree(pose, expected)

    @pytest.mark.parametrize(
        ("representation", "expected"),
        [
            ("hybrid", [0, 0, 1, -0.5, 0, 0]),
            ("body", [0, 0, 1, 0.5, 0, 0]),
            ("spatial", [0, 0, 1, 0, 0, 0]),
            ("mixed", [0, 0, 1, -0.5, 0, 0]),
        ],
    )
    def test_jacobian(self, representation, expected):
        J = with_tool().frame_jacobian([np.pi / 2], "tool", representation)
        assert_agree(J[:, 0], expected)

    @pytest.mark.parametrize(
        ("representation", "expected"),
        [
            ("hybrid", [0, 0, 0, 0, -2.0, 0]),  # towards the axis
            ("body", [0, 0, 0, 0, 0, 0]),  # v is constant in the frame's own axes
            ("spatial", [0, 0, 0, 0, 0, 0]),
            ("mixed", [0, 0, 0, 0, -2.0, 0]),
        ],
    )
    def test_bias_is_the_centripetal_acceleration(self, representation, expected):
        bias = with_tool().frame_bias([np.pi / 2], [2.0], "tool", representation)
        assert_agree(bias, expected, size=1.0)

    @representations
    def test_frame_of_the_fixed_world_does_not_move(self, representation):
        robot = with_tool()
        for frame in ("base", "post"):
            assert not robot.frame_jacobian([0.3], frame, representation).any()
            assert not robot.frame_velocity([0.3], [1.0], frame, representation).any()
            assert not robot.frame_acceleration([0.3], [1.0], [1.0], frame, representation).any()
        assert_agree(robot.frame_pose([0.3], "post")[:3, 3], 2.0 * Y)

    def test_gravity_is_not_in_accelerations(self):
        assert not with_tool().frame_acceleration([0.3], [0.0], [0.0], "tool").any()

    def test_joints_are_frames_too(self):
        robot = with_tool()
        assert robot.frame_names == ("base", "l1", "tool", "post", "j1", "mount", "post_mount")
        np.testing.assert_array_equal(
            robot.frame_pose([0.3], "mount"), robot.frame_pose([0.3], "tool")
        )
        np.testing.assert_array_equal(robot.frame_pose([0.3], "j1"), robot.frame_pose([0.3], "l1"))


class TestErrors:
    @pytest.mark.parametrize("method", ["frame_pose", "frame_jacobian"])
    def test_unknown_frame(self, method):
        with pytest.raises(InputError) as caught:
            getattr(with_tool(), method)([0.0], "hand")
        assert str(caught.value).startswith("frame 'hand' is unknown; known: 'base', ")
        assert caught.value.field == "frame"

    def test_unknown_frame_of_a_force(self):
        with pytest.raises(InputError, match="frame 'hand' is unknown"):
            with_tool().inverse_dynamics([0.0], [0.0], [0.0], {"hand": np.zeros(6)})

    @pytest.mark.parametrize(
        "call",
        [
            lambda robot: robot.frame_jacobian([0.0], "tool", "local"),
            lambda robot: robot.frame_velocity([0.0], [0.0], "tool", "local"),
            lambda robot: robot.frame_acceleration([0.0], [0.0], [0.0], "tool", "local"),
            lambda robot: robot.frame_bias([0.0], [0.0], "tool", "local"),
            lambda robot: robot.dynamics([0.0], [0.0], ("J",), ("tool",), "local"),
        ],
    )
    def test_unknown_representation(self, call):
        with pytest.raises(InputError) as caught:
            call(with_tool())
        assert str(caught.value) == (
            "representation: 'local' is unknown, allowed: 'hybrid', 'body', 'spatial', 'mixed'"
        )

    def test_bad_point(self):
        with pytest.raises(InputError, match=r"point: shape \(2,\), expected \(3,\)"):
            with_tool().frame_pose([0.0], "tool", [1.0, 2.0])
        with pytest.raises(InputError, match=r"point\[1\] is nan"):
            with_tool().frame_jacobian([0.0], "tool", point=[1.0, np.nan, 0.0])
