"""Streams: the quantities of each state by their names, as requests and the robot give them."""

import asyncio
import pickle

import numpy as np
import pytest

from support.daemons import daemon_of
from support.eventually import PATIENCE
from torqued.client import AsyncClient
from torqued.kernels import Robot
from torqued.kernels.dynamics.quantities import WANTS

#: All that there is.
WANT = tuple(WANTS)
#: With its fingers free: the second one follows the first.
ROBOT = "panda"


daemon = daemon_of(ROBOT, "--locked", "")


@pytest.fixture(scope="module")
def robot():
    return Robot.named(ROBOT, locked=())


@pytest.fixture(params=["socket", "memory"])
def transport(request):
    return request.param


def states(robot, count=3):
    rng = np.random.default_rng(0)
    return [robot.random_state(rng) for _ in range(count)]


def assert_same(output, expected):
    for name in expected:
        value = expected[name]
        found = getattr(output, name)
        if isinstance(value, dict):
            assert list(found) == list(value)
            for frame in value:
                assert found[frame].shape == value[frame].shape
                assert np.allclose(found[frame], value[frame], rtol=1e-12, atol=1e-12), name
        else:
            assert found.shape == value.shape
            assert np.allclose(found, value, rtol=1e-12, atol=1e-12), name


def test_stream_gives_what_requests_and_the_robot_give(client, robot, transport):
    frames = [robot.frame_names[-1], robot.frame_names[2]]
    with client.stream(WANT, frames, transport=transport) as stream:
        for q, v in states(robot):
            output = stream.step(q, v)
            assert output.status_names == []
            assert_same(output, client.dynamics(q, v, WANT, frames).as_dict())
            assert_same(output, robot.dynamics(q, v, WANT, frames))


def test_stream_is_of_M_and_C_unless_it_is_asked_for_others(client, robot, transport):
    q, v = states(robot)[0]
    with client.stream(transport=transport) as stream:
        output = stream.step(q, v)
    assert {"M", "C"} <= set(output.values)
    assert np.allclose(output.C @ v + robot.gravity(q), robot.bias(q, v))


def test_state_without_a_velocity_is_at_rest(client, robot, transport):
    q, v = states(robot)[0]
    with client.stream("bias", transport=transport) as stream:
        assert np.allclose(stream.step(q, v).bias, robot.bias(q, v))
        assert np.allclose(stream.step(q).bias, robot.gravity(q))


def test_torque_needs_a_velocity(client, robot):
    q, _ = states(robot)[0]
    with (
        client.session("gravity") as session,
        pytest.raises(ValueError, match="v is missing, law 'gravity' needs it with every state"),
    ):
        session.step(q)


def test_each_state_is_answered_with_its_own_numbers(client, robot):
    with client.stream(transport="memory") as stream:
        assert stream.clock == "state"
        for q, v in states(robot, 100):
            output = stream.step(q, v)
            assert output.sequence == output.seen
            assert np.allclose(output.M, robot.mass_matrix(q))


def test_clock_may_be_chosen(client):
    with client.stream(transport="memory", clock="loop") as stream:
        assert stream.clock == "loop"


def test_outputs_can_be_kept_and_copied(client, robot):
    (q, v), other, _ = states(robot)
    frame = robot.frame_names[-1]
    with client.stream(("M", "J"), frame, transport="memory") as stream:
        output = stream.step(q, v)
        stream.step(*other)
        copy = pickle.loads(pickle.dumps(output))
    for kept in (output, copy):
        assert np.allclose(kept.M, robot.mass_matrix(q))
        assert np.allclose(kept.J[frame], robot.dynamics(q, v, ["J"], [frame])["J"][frame])


def test_stream_is_there_in_asyncio_too(daemon, robot, transport):
    q, v = states(robot)[0]
    frame = robot.frame_names[-1]

    async def ask():
        async with (
            AsyncClient(daemon.endpoint, timeout=PATIENCE) as client,
            client.stream(("M", "pose"), frame, transport=transport) as stream,
        ):
            return await stream.step(q, v)

    assert_same(asyncio.run(ask()), robot.dynamics(q, v, ("M", "pose"), [frame]))
