"""`inverse_kinematics` on the wire: the robot's method, refusals with names, and batches."""

from __future__ import annotations

import numpy as np
import pytest

from torqued.client import codec
from torqued.client.requests.computations import Computations
from torqued.common import errors
from torqued.kernels import Robot, Target
from torqued.server.requests.limits import MAX_INLINE
from torqued.server.requests.operations import OPERATIONS, batch

ROW = OPERATIONS["inverse_kinematics"]


@pytest.fixture(scope="module")
def robot():
    return Robot.family("chain", 6)


@pytest.fixture(scope="module")
def poses(robot):
    rng = np.random.default_rng(0)
    tip = robot.frame_names[-1]
    return tip, np.array([robot.frame_pose(robot.random_state(rng)[0], tip) for _ in range(4)])


def ask(robot, **fields):
    """As over the wire."""
    message = codec.decode(codec.encode(fields))
    try:
        result = ROW.compute(robot, ROW.fields_of(message))
    except errors.TorquedError as problem:
        from torqued.server.requests.replies import as_request_error

        raise as_request_error(problem) from problem
    return codec.decode(codec.encode(dict(result)))


def test_reply_is_the_robots_own(robot, poses):
    tip, values = poses
    targets = [Target(values[0], tip)]
    request = Computations.inverse_kinematics.make(targets, robot.neutral(), restarts=30)
    reply = request.result(ask(robot, **request.fields))
    found = robot.inverse_kinematics(targets, robot.neutral(), restarts=30)
    assert reply.status == found.status and reply.reached == list(found.reached)
    assert np.array_equal(reply.q, found.q) and np.array_equal(reply.errors, found.errors)
    assert np.array_equal(reply.left_over[0], found.left_over[0])
    assert (reply.iterations, reply.starts) == (found.iterations, found.starts)


def test_batch_has_a_target_for_each_state(robot, poses):
    tip, values = poses
    q = np.tile(robot.neutral(), (len(values), 1))
    targets = [
        {"frame": tip, "value": values},
        {"kind": "posture", "value": robot.neutral(), "priority": 1},
    ]
    request = Computations.batch.make("inverse_kinematics", q=q, targets=targets, restarts=30)
    message = codec.decode(codec.encode(request.fields))
    reply = codec.decode(codec.encode(batch(robot, message, lambda done, total: None)))
    assert reply["q"].shape == (4, 6) and reply["errors"].shape == (4, 2)
    for k, value in enumerate(values):
        own = [targets[0] | {"value": value}, targets[1]]
        one = ask(robot, q=q[k], targets=own, restarts=30)
        assert np.array_equal(reply["q"][k], one["q"]) and reply["status"][k] == one["status"]


def test_batch_with_other_counts_is_refused(robot, poses):
    tip, values = poses
    fields = {"operation": "inverse_kinematics", "q": np.zeros((3, 6))}
    with pytest.raises(errors.InputError, match=r"targets\[0\].value: 4 states, but q has 3"):
        targets = [{"frame": tip, "value": values}]
        batch(robot, {**fields, "targets": targets}, lambda done, total: None)


@pytest.mark.parametrize(
    ("targets", "message"),
    [
        ([{"frame": "link", "pose": []}], "'pose' is unknown, allowed: value, frame"),
        ([{"frame": "link"}], "'value' is missing"),
        ([{"value": "here"}], "value is a text, expected numbers"),
        ([{"value": [0.0], "frame": 3}], "frame is a whole number, expected a text"),
        ([{"value": [0.0], "priority": 0.5}], "priority is a number, expected a whole number"),
        ([{"value": [0.0], "radian": [1.0]}], "radian is a list of other things, expected a num"),
        ([], "targets: 0, expected 1 to"),
        ([{"value": np.eye(4), "frame": "nowhere"}], "frame 'nowhere' is unknown"),
        (3, "targets: a whole number, expected a list of maps"),
    ],
)
def test_wrong_targets_are_refused(robot, targets, message):
    with pytest.raises(errors.RequestError, match=message) as caught:
        ask(robot, q=robot.neutral(), targets=targets)
    assert caught.value.code in ("bad_field", "bad_value", "bad_shape")


def test_long_searches_go_to_the_worker_and_endless_ones_are_refused(robot, poses):
    tip, values = poses
    fields = {"q": robot.neutral(), "targets": [{"frame": tip, "value": values[0]}]}
    assert ROW.cost(robot, fields | {"restarts": 0}).seconds < MAX_INLINE
    assert ROW.cost(robot, fields | {"restarts": 2000}).seconds > MAX_INLINE
    with pytest.raises(errors.RequestError, match="search: 100001000 steps from all starts, at mo"):
        ROW.cost(robot, fields | {"restarts": 100_000, "iterations": 1000})
