"""Sessions of `elastic`: the layout of their states, motors by name, and the fallback."""

import numpy as np
import pytest

from support.daemons import daemon_of
from support.spring_arm import SpringArm, state_of
from torqued.client import errors
from torqued.common.status import FALLBACK, NONFINITE
from torqued.kernels import Robot
from torqued.kernels.model.catalog import find_file

SPRINGS = {"stiffness": [843.0] * 3 + [250.0] * 3, "motor_inertia": [0.3] * 3 + [0.05] * 3}
Q = np.array([0.3, -1.2, 1.4, -0.6, 0.5, 0.2])
REST = np.zeros(6)


daemon = daemon_of("ur5")


@pytest.fixture(scope="module")
def arm():
    return SpringArm(Robot.from_urdf(find_file("ur5")), **SPRINGS)


def test_states_have_motors_behind_links(client):
    opened = client.call("open", law="elastic", springs=SPRINGS)
    names = [part["name"] for part in (*opened["state"], *opened["references"])]
    assert names[:4] == ["q", "v", "motor_q", "motor_v"]
    assert names[4:] == ["q_ref", "v_ref", "a_ref", "jerk_ref", "snap_ref"]
    offsets = [part["offset"] for part in (*opened["state"], *opened["references"])]
    assert offsets == [32 + 48 * k for k in range(9)]
    assert opened["state"][2]["unit"] == "rad"
    assert opened["stability"]["checked"] and opened["stability"]["reduced_by"] == 1.0
    client.call("close", session=opened["session"])


def test_states_without_motors_are_not_sent(client, arm):
    x = arm.at_rest(Q)
    with client.session("elastic", springs=SPRINGS) as session:
        assert session.measured == ["motor_q", "motor_v"]
        with pytest.raises(ValueError, match="motor_q is missing, law 'elastic' needs it"):
            session.send(Q, REST)
        with pytest.raises(ValueError, match="motor_v is missing"):
            session.send(Q, REST, motor_q=x[2])
        output = session.step(Q, REST, motor_q=x[2], motor_v=REST)
        assert output.status == 0
        assert np.allclose(output.tau, arm.robot.gravity(Q), atol=1e-6)
        bad = session.step(Q, REST, motor_q=np.full(6, np.nan), motor_v=REST)
        assert bad.status & NONFINITE


def test_requests_take_motors_beside_q_and_v(client, arm):
    x = arm.at_rest(Q)
    motors = {"motor_q": x[2], "motor_v": x[3]}
    one = client.control("elastic", Q, REST, springs=SPRINGS, **motors)
    assert np.allclose(one.tau, arm.robot.gravity(Q), atol=1e-6)
    stacked = {name: np.array([value, value + 0.01]) for name, value in motors.items()}
    both = client.batch(
        "control", q=[Q, Q], v=[REST, REST], law="elastic", springs=SPRINGS, **stacked
    )
    assert np.array_equal(both.tau[0], one.tau) and not np.allclose(both.tau[1], one.tau)
    with pytest.raises(errors.FieldError, match="motor_v is missing, law 'elastic' needs it"):
        client.control("elastic", Q, REST, springs=SPRINGS, motor_q=x[2])
    with pytest.raises(errors.FieldError, match="springs is missing"):
        client.control("elastic", Q, REST, **motors)
    with pytest.raises(
        errors.FieldError, match="motor_q: law 'pd' measures nothing beside q and v"
    ):
        client.control("pd", Q, REST, motor_q=x[2])
    with pytest.raises(errors.FieldError, match=r"references.motor_q: measured"):
        client.control("elastic", Q, REST, springs=SPRINGS, references=motors)
    with pytest.raises(errors.FieldError, match="springs is missing"):
        client.simulate(Q, REST, None, 0.01, 1e-3, law="elastic")


def test_orders_move_an_arm_with_springs(client, arm):
    """A movement goes on by its own references; motors' states still come with every state."""
    x = arm.at_rest(Q)
    options = {"springs": SPRINGS, "low_pass": 0.0}
    with client.session("elastic", **options) as session:

        def step(x, t):
            state, motors = state_of(x)
            return session.step(*state, **motors, at=t).tau

        x = arm.moved(x, step(x, 0.0), 1e-3, 1)
        session.move_to(Q + 0.2, seconds=0.8)
        for k in range(1, 1300):
            x = arm.moved(x, step(x, 1e-3 * k), 1e-3, 1)
    assert np.abs(x[0] - Q - 0.2).max() < 2e-3


@pytest.mark.parametrize("fallback", ["brake", "hold"])
def test_fallback_brings_motors_and_links_to_rest(client, arm, fallback):
    """A brake that went by the speed of links would make the springs swing."""
    x = arm.at_rest(Q)
    x[1] = x[3] = np.array([1.0, -0.5, 0.8, 1.0, -1.0, 2.0])
    with client.session("elastic", springs=SPRINGS, fallback=fallback, low_pass=0.0) as session:
        status = 0
        for k in range(1500):
            state, motors = state_of(x)
            output = session.step(*state, **motors, at=1e-3 * k)
            if k == 20:
                client.stop(session.number)
            if k > 40:
                status = output.status
                assert status & FALLBACK
            x = arm.moved(x, output.tau, 1e-3, 1)
    assert status & FALLBACK
    assert np.abs(x[1]).max() < 0.05 and np.abs(x[3]).max() < 0.05
    assert np.abs(x[0] - Q).max() < 1.0
