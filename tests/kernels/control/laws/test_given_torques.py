"""Torques that a user gives: the whole one (`torque`), or beside a joint law's (`tau_ff`)."""

import numpy as np
import pytest

from support.scripted_session import ScriptedSession
from support.served import serving
from torqued.common.status import CLAMPED
from torqued.kernels import Robot
from torqued.kernels.control.controller import Controller
from torqued.server.loop.session_modes import Mode

ROBOT = Robot.named("ur5")
Q, V = ROBOT.random_state(np.random.default_rng(4))
V = 0.01 * V
TAU = np.array([3.0, -20.0, 5.0, 1.0, -1.0, 0.5])
JOINT_LAWS = {"pd": {}, "pd_plus": {}, "computed_torque": {}, "passivity": {}}
JOINT_LAWS["adaptive"] = {"frame": "tool0"}


def test_given_torque_is_the_whole_torque():
    given = Controller(ROBOT, "torque").torque(Q, V, tau=TAU)
    assert given.tau.tolist() == TAU.tolist()
    assert given.reference_power == pytest.approx(V @ (TAU - ROBOT.gravity(Q)))


def test_state_without_a_torque_has_gravity_compensated_and_motion_damped():
    controller, gravity = Controller(ROBOT, "torque"), Controller(ROBOT, "gravity")
    for references in ({}, {"tau": TAU}, {}):
        found = controller.torque(Q, V, **references)
        wanted = references.get("tau", gravity.torque(Q, V).tau)
        assert found.tau.tolist() == np.asarray(wanted).tolist()


def test_given_torque_passes_limits_and_rates():
    controller = Controller(ROBOT, "torque")
    assert controller.torque(Q, V, tau=np.full(ROBOT.nv, 1e4)).status == ["CLAMPED"]
    first = controller.step(Q, V, 1e-3, tau=TAU).tau
    second = controller.step(Q, V, 1e-3, tau=TAU + 200.0).tau
    assert (second - first <= 50.0 * ROBOT.limits.effort * 1e-3 + 1e-9).all()


def test_floating_base_gets_joint_torques_alone():
    robot = Robot.family("biped", 8)
    q = robot.neutral()
    tau = np.ones(robot.nv)
    assert Controller(robot, "torque").torque(q, np.zeros(robot.nv), tau=tau).tau.tolist() == [
        *[0.0] * 6,
        *[1.0] * (robot.nv - 6),
    ]


@pytest.mark.parametrize("law", JOINT_LAWS)
def test_feed_forward_adds_to_the_torque_for_one_state(law):
    controller = Controller(ROBOT, law, **JOINT_LAWS[law])
    plain = controller.torque(Q, V, q_ref=Q)
    pushed = controller.torque(Q, V, tau_ff=TAU)
    assert pushed.tau == pytest.approx(plain.tau + TAU)
    assert pushed.reference_power == pytest.approx(plain.reference_power + pushed.port @ TAU)
    assert controller.torque(Q, V).tau.tolist() == plain.tau.tolist()


@pytest.mark.parametrize(("law", "name"), [("torque", "tau"), ("passivity", "tau_ff")])
def test_session_forgets_a_torque_with_the_next_state(law, name):
    s = ScriptedSession(ROBOT, law, clock="lockstep", low_pass=0.0)
    s.q = Q.copy()

    def tick(references=None):
        s.state(references, at=1e-3 * s.sent)
        return s.tick()

    plain = tick().tau
    mode = tick({name: plain + 1.0}).mode
    assert mode == Mode.FOLLOWING
    assert tick().tau == pytest.approx(plain) and s.ticks[-1].mode == Mode.HOLDING
    if law == "torque":  # replays have the torque in effect
        assert s.ticks[-1].numbers[-ROBOT.nv :].tolist() == s.ticks[-1].tau.tolist()
    s.hold()
    held = tick({name: plain + 1.0})
    assert held.tau == pytest.approx(plain) and not held.status & CLAMPED


def test_client_gives_a_torque_with_one_state_only(tmp_path):
    still = np.zeros(ROBOT.nv)
    options = {"clock": "lockstep", "low_pass": 0.0, "rate_limit": [1e9] * ROBOT.nv}
    with serving(ROBOT, tmp_path) as served, served.session(law="torque", **options) as session:
        gravity = session.step(Q, still, at=0.0).tau
        assert session.step(Q, still, TAU, at=0.001).tau.tolist() == TAU.tolist()
        assert session.step(Q, still, at=0.002).tau.tolist() == gravity.tolist()
