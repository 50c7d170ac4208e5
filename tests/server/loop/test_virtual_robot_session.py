"""Sessions whose robot follows positions: starts, stops, faults, and robots that do not follow."""

import numpy as np
import pytest

from support.daemons import daemon_of
from support.scripted_session import PERIOD, ScriptedSession
from torqued.client import errors
from torqued.common.status import FALLBACK, FROZEN, LAGGING, LAST, NONFINITE, STALE, STOPPED
from torqued.kernels import InputError, Robot
from torqued.kernels.control.controller import Controller
from torqued.kernels.control.virtual_robot import REACH
from torqued.kernels.model.catalog import find_file
from torqued.server.loop.session import Safety, chosen_safety
from torqued.server.loop.session_modes import Mode

Q = np.array([0.0, -1.2, 1.8, -2.1, -1.57, 0.3])
FAR = {"q_ref": Q + np.array([1.0, 0.6, -0.8, 1.0, 1.0, -1.0])}
DT = PERIOD * 1e-9


daemon = daemon_of("ur5")


@pytest.fixture(scope="module")
def ur5():
    return Robot.from_urdf(find_file("ur5"))


class Following:
    """A session and its robot, which follows each command with a lag, or stands."""

    def __init__(self, robot, law="computed_torque", lag=0.02, clock="loop", **options):
        option = {"sensor": "none", "lag": 0.05}
        self.session = ScriptedSession(robot, law, None, clock, admittance=option, **options)
        self.session.q, self.session.v = Q.copy(), np.zeros(6)
        self.lag, self.follows, self.rows = lag, True, []
        self.limits = robot.limits

    @property
    def command(self):
        out = self.session.controller.split(self.session.data.out)
        return out["q_command"].copy(), out["v_command"].copy()

    def go(self, ticks, references=None, silent=False, late=0, **state):
        """So many ticks; the last of them. Every command is checked against the one before."""
        for k in range(ticks):
            if self.follows and self.rows:
                before = self.session.q
                self.session.q = before + DT / self.lag * (self.rows[-1][0] - before)
                self.session.v = (self.session.q - before) / DT
            else:
                self.session.v = np.zeros(6)
            if not silent:
                self.session.state(references, **state)
            tick = self.session.tick(late=50_000 + (late * k) % 700_000)
            self.rows.append(self.command)
            self.check()
        return tick

    def check(self):
        q, v = self.rows[-1]
        assert np.isfinite(q).all() and np.isfinite(v).all()
        assert (np.abs(v) <= self.limits.velocity * (1 + 1e-9)).all()
        if len(self.rows) > 1:
            step, change = q - self.rows[-2][0], v - self.rows[-2][1]
            assert (np.abs(step) <= self.limits.velocity * DT * (1 + 1e-9)).all()
            assert (np.abs(change) <= self.limits.velocity / REACH * DT * (1 + 1e-6)).all()

    @property
    def speed(self):
        return np.abs(self.rows[-1][1]).max()


def moving(robot, **options):
    arm = Following(robot, **options)
    assert not arm.go(250, FAR).status & FALLBACK
    assert arm.speed > 0.3
    return arm


def test_commands_begin_where_the_robot_is_and_reach_the_reference(ur5):
    arm = Following(ur5)
    arm.session.serve()
    assert arm.session.outputs == 0  # no position is safe before a state has come
    tick = arm.go(1, FAR)
    assert np.allclose(arm.command[0], Q, atol=1e-5) and not tick.status & FALLBACK
    tick = arm.go(2000, FAR)
    assert not tick.status & ~0x100  # but WALL
    assert np.allclose(arm.command[0], FAR["q_ref"], atol=2e-3)
    assert np.allclose(arm.session.q, FAR["q_ref"], atol=5e-3)


def test_without_states_the_commanded_motion_comes_to_rest(ur5):
    arm = moving(ur5)
    arm.follows = False
    tick = arm.go(400, silent=True)
    assert tick.status & STALE and tick.status & FALLBACK and tick.reason == STALE
    assert arm.speed < 1e-3


@pytest.mark.parametrize("how", ["halt", "stop", "nan"])
def test_stops_and_faults_brake_the_commanded_motion(ur5, how):
    arm = moving(ur5)
    if how == "nan":
        tick = arm.go(400, FAR, v=np.full(6, np.nan))
        assert tick.reason & NONFINITE
    else:
        getattr(arm.session, how)()
        tick = arm.go(400, FAR)
        assert tick.reason == STOPPED
    assert tick.status & FALLBACK and arm.speed < 1e-3
    arm.session.recover()
    arm.go(2, FAR)
    arm.session.resume()
    tick = arm.go(1500, FAR)
    assert not tick.status & FALLBACK
    assert np.allclose(arm.command[0], FAR["q_ref"], atol=2e-3)


def test_resume_waits_until_the_motion_is_at_rest(ur5):
    arm = moving(ur5)
    arm.session.halt()
    arm.go(2, FAR)
    arm.session.resume()
    assert arm.go(3, FAR).status & FALLBACK  # it still moves
    ticks = 0
    while arm.go(1, FAR).status & FALLBACK:
        ticks += 1
        assert ticks < 900
    assert np.abs(arm.rows[-2][1] / ur5.limits.velocity).max() < 0.01


def test_robot_that_stands_while_commands_move_ends_the_motion(ur5):
    arm = moving(ur5)
    arm.follows = False
    stands = arm.session.q.copy()
    tick = arm.go(150, FAR)
    assert tick.status & LAGGING and tick.status & FALLBACK and tick.reason & LAGGING
    assert not tick.status & FROZEN
    arm.go(400, FAR)
    assert arm.speed < 1e-3
    assert np.abs(arm.command[0] - stands).max() < 1.3 * 0.05 * 3.2 + 0.2  # V T, and braking
    arm.session.resume()
    arm.rows.clear()  # the command goes to where the robot is: the one step that is allowed
    tick = arm.go(1)
    assert not tick.status & (FALLBACK | LAGGING)
    assert np.allclose(arm.command[0], stands, atol=1e-6)
    arm.follows = True
    tick = arm.go(2000, FAR)
    assert np.allclose(arm.session.q, FAR["q_ref"], atol=5e-3)


def test_resume_keeps_no_robot_that_lags_out_of_its_fallback(ur5):
    arm = moving(ur5)
    arm.follows = False
    for _ in range(300):
        arm.session.resume()
        arm.rows.clear()  # once at rest, the command goes to where the robot is
        tick = arm.go(1, FAR)
        if arm.session.record.fallbacks == 1 and tick.mode != Mode.FALLBACK:
            break
    assert arm.session.record.fallbacks == 1
    assert np.allclose(arm.command[0], arm.session.q, atol=1e-4)


def test_one_wrong_reading_is_not_a_robot_that_lags(ur5):
    arm = moving(ur5)
    tick = arm.go(1, FAR, q=arm.session.q + 0.3)
    assert tick.status & LAGGING
    tick = arm.go(5, FAR)
    assert not tick.status & FALLBACK and arm.session.record.mode == Mode.FOLLOWING


def test_standing_robot_under_a_changing_virtual_torque_is_not_frozen(ur5):
    """At a joint's end nothing moves, whatever the torque."""
    arm = Following(ur5, law="torque", walls=False)
    arm.follows = False
    arm.session.q[5] = ur5.limits.upper[5]
    for size in (0.1, 0.9, 0.3, 0.8):
        tau = ur5.gravity(arm.session.q) + size * ur5.limits.effort * (np.arange(6) == 5)
        tick = arm.go(100, {"tau": tau})
        assert not tick.status & FROZEN
    assert arm.command[0][5] == pytest.approx(ur5.limits.upper[5], abs=1e-6)


def test_encoder_that_contradicts_its_speed_is_frozen(ur5):
    arm = moving(ur5)
    q, v = arm.session.q.copy(), arm.session.v.copy()
    arm.follows = False
    tick = arm.go(60, FAR, q=q, v=v)
    assert tick.status & FROZEN and tick.status & FALLBACK and tick.reason & FROZEN
    arm.go(400, FAR, q=q, v=v)
    assert arm.speed < 1e-3


def test_last_frame_keeps_the_position_at_rest(ur5):
    arm = moving(ur5)
    last = arm.command[0]
    tick = arm.session.close()
    assert tick.status & LAST and (tick.tau == 0.0).all()
    assert np.array_equal(arm.command[0], last) and (arm.command[1] == 0.0).all()


def test_lock_step_gives_the_same_bits_at_any_pace(ur5):
    runs = []
    for late in (0, 130_000):
        arm = Following(ur5, clock="lockstep")
        for k in range(300):
            arm.go(1, FAR, late=late, at=7.0 + k * DT)
            if late and k % 7 == 0:
                arm.session.tick(3)  # the loop is faster than the simulation
        runs.append(np.array(arm.rows))
    assert np.array_equal(*runs)


def test_orders_move_the_virtual_robot(ur5):
    arm = Following(ur5)
    arm.go(3)
    arm.session.move(0.2, 0.5)
    tick = arm.go(700)
    assert tick.mode == Mode.HOLDING
    assert arm.session.q[5] == pytest.approx(Q[5] + 0.2, abs=3e-3)


@pytest.mark.parametrize("transport", ["socket", "memory"])
def test_client_follows_commands_by_name_and_has_to_measure(client, ur5, transport):
    option, w = {"sensor": "wrench", "frame": "tool0"}, np.zeros(6)
    with client.session(
        "gravity", admittance=option, transport=transport, clock="lockstep"
    ) as session:
        assert session.measured == ["measured_wrench"]
        with pytest.raises(ValueError, match="measured_wrench is missing"):
            session.step(Q, w)
        q, v = Q, np.zeros(6)
        for k in range(200):
            w[5] = -5.0
            output = session.step(q, v, at=2e-3 * k, measured_wrench=w)
            q, v = output.q_command, output.v_command
        assert not output.status
        moved = ur5.frame_pose(q, "tool0")[:3, 3] - ur5.frame_pose(Q, "tool0")[:3, 3]
        assert ur5.frame_pose(Q, "tool0")[:3, 2] @ moved < -0.01
        assert np.allclose(client.look(session.number).v, v, atol=0.05)
        bad = session.step(q, v, at=0.4, measured_wrench=np.full(6, np.nan))
        assert bad.status & NONFINITE and np.isfinite(bad.q_command).all()
    with pytest.raises(errors.FieldError, match=r"admittance: lag is 2\.0"):
        client.session("gravity", admittance=option | {"lag": 2.0})


@pytest.mark.parametrize(
    "given", [{"fallback": "zero"}, {"fallback": "gravity"}, {"without_states": "gravity"}]
)
def test_fallbacks_that_do_not_brake_are_refused(ur5, given):
    law = Controller(ur5, "pd", admittance={"sensor": "none"})
    with pytest.raises(InputError, match="brakes or holds"):
        chosen_safety(Safety(), given, law)
    assert chosen_safety(Safety(), {"fallback": "hold"}, law).fallback == "hold"
