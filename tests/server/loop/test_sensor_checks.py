"""Encoders that stop while their states stay fresh: found, survived, and not seen where none did.

The robot is MuJoCo's, in lock step with the daemon's compiled session.
"""

from dataclasses import replace

import numpy as np
import pytest

from support.scripted_session import LATE, ScriptedSession
from torqued.common.status import FROZEN
from torqued.kernels import Robot
from torqued.kernels.model.description import Limits
from torqued.server.loop.session_modes import Mode
from torqued.tools.demos.generalize_loop import add_losses
from torqued.tools.demos.models import PANDA_READY, panda
from torqued.tools.demos.plant import Plant, Toucher, Wall

ARM = panda()
ROBOT = Robot.from_description(ARM)
SPEED, EFFORT = ROBOT.limits.velocity, ROBOT.limits.effort
ALL = tuple(range(ROBOT.nv))
SIDES = np.where(np.arange(ROBOT.nv) % 2, -1.0, 1.0)
REVOLUTION = 2.0 * np.pi
SAFETY = {"hold": 0.02, "fade": 0.1, "without_states": "gravity"}


def swing(share, rate=5.0):
    """All joints swing, at that share of their speed limits."""

    def references(t):
        size = SIDES * share * SPEED / rate
        q = PANDA_READY + size * (1.0 - np.cos(rate * t))
        return {
            "q_ref": q,
            "v_ref": size * rate * np.sin(rate * t),
            "a_ref": size * rate**2 * np.cos(rate * t),
        }

    return references


def rest(t):
    return {"q_ref": PANDA_READY}


class Run:
    """A robot that follows references under `passivity`; `sense` changes its readings."""

    def __init__(
        self,
        references,
        sense,
        seconds,
        plant=None,
        period=1e-3,
        limited=1,
        clock="lockstep",
        late=lambda k: LATE,
        **safety,
    ):
        """`late` is by how many ns tick k begins after its deadline."""
        self.plant = plant = plant or Plant(ARM)
        plant.reset(PANDA_READY, np.zeros(ROBOT.nv))
        self.session = ScriptedSession(ROBOT, "passivity", SAFETY | safety, clock)
        self.session.loop.on_arrival = int(clock == "state")
        self.session.controller.record[0].limited = limited  # references
        self.found, self.fastest, self.pressed = None, 0.0, 0.0
        for k in range(round(seconds / period)):
            t = k * period
            q, v = sense(t, plant.q, plant.v)
            self.session.state(references(t), q=q, v=v, at=100.0 + t)
            self.last = self.session.tick(late=late(k))
            if self.last.status & FROZEN and self.found is None:
                self.found = t
            plant.step(self.last.tau, period)
            self.fastest = max(self.fastest, (np.abs(plant.v) / SPEED).max())
            self.pressed = max(self.pressed, plant.contact_force())


def freezing(at, what, joints):
    kept = []

    def sense(t, q, v):
        if t >= at:
            kept.append((q.copy(), v.copy()))
            for k in joints:
                q[k] = kept[0][0][k] if "q" in what else q[k]
                v[k] = kept[0][1][k] if "v" in what else v[k]
        return q, v

    return sense


def exact(t, q, v):
    return q, v


def noisy(sense=exact):
    rng = np.random.default_rng(0)

    def measured(t, q, v):
        return sense(t, q + 1e-5 * rng.normal(size=len(q)), v + 1e-3 * rng.normal(size=len(v)))

    return measured


def coarse(bits):
    step = REVOLUTION / 2**bits
    return lambda t, q, v: (np.round(q / step) * step, np.round(v / 1e-3) * 1e-3)


@pytest.mark.parametrize("joints", [ALL, (1,), (3,), (6,)])
@pytest.mark.parametrize("what", ["q", "qv"])
def test_encoder_that_stops_in_motion_is_found_and_the_robot_stays_within_its_speeds(what, joints):
    run = Run(swing(0.7), freezing(0.2, what, joints), 0.55)
    assert 0.2 <= run.found <= 0.235
    assert run.last.mode == Mode.FALLBACK and run.last.reason == FROZEN
    assert run.fastest < 1.1


def test_velocity_that_stops_is_found_once_the_joint_moves_otherwise():
    run = Run(swing(0.7), freezing(0.1, "v", (1,)), 0.5)
    assert 0.1 < run.found < 0.2
    assert run.fastest < 1.1


def test_unchecked_the_same_robot_runs_away():
    assert Run(swing(0.7), freezing(0.2, "qv", (1,)), 0.55, frozen_after=0.0).fastest > 2.0


def test_noisy_encoder_that_stops_at_rest_is_found_when_the_reference_moves():
    def references(t):
        return swing(0.7)(max(t - 0.5, 0.0))

    # Limits would delay the reference, and with it the torque by which the encoder is found.
    run = Run(references, noisy(freezing(0.45, "qv", (3,))), 0.75, limited=0)
    assert 0.5 < run.found < 0.6
    assert run.fastest < 1.1


def test_estimate_begins_where_the_encoder_stopped():
    """20 ms pass until it is found: 0.03 rad here."""
    run = Run(swing(0.7), freezing(0.2, "qv", ALL), 0.24)
    estimate = run.session.data.state[: ROBOT.nq]
    assert run.found < 0.24
    assert np.abs(estimate - run.plant.q).max() < 0.01


def test_robot_with_a_frozen_encoder_brakes_on_when_its_states_end():
    """Readings that work, but are old, are not fed back either."""
    run = Run(swing(0.7), freezing(0.2, "qv", (3,)), 0.24, clock="loop")
    assert run.found < 0.23
    for _ in range(150):
        run.plant.step(run.session.tick().tau)
        assert (np.abs(run.plant.v) / SPEED).max() < 0.7
    assert (np.abs(run.plant.v) / SPEED).max() < 0.1


@pytest.mark.parametrize("clock", ["loop", "state"])
@pytest.mark.parametrize("what", ["q", "qv"])
def test_encoder_that_stops_is_found_on_every_clock_whenever_ticks_come(clock, what):
    late = np.random.default_rng(1).integers(0, 900_000, 550)
    options = {"clock": clock, "late": lambda k: int(late[k])}
    assert Run(swing(0.7), noisy(), 0.55, **options).found is None
    run = Run(swing(0.7), freezing(0.2, what, ALL), 0.55, **options)
    assert 0.2 <= run.found <= 0.235
    assert run.fastest < 1.1


@pytest.mark.parametrize("period", [1e-3, 1e-2])
def test_rate_of_states_makes_no_difference(period):
    run = Run(swing(0.5, 3.0), freezing(0.3, "qv", ALL), 0.4, period=period)
    assert 0.3 < run.found <= 0.34


@pytest.mark.parametrize(
    ("references", "sense"),
    [
        (rest, exact),
        (rest, noisy()),
        (swing(0.01), coarse(14)),
        (swing(0.8), coarse(14)),
        (swing(0.8), coarse(20)),
        (swing(0.95, 3.0), noisy()),
    ],
)
def test_live_encoders_are_believed(references, sense):
    assert Run(references, sense, 1.3).found is None


@pytest.mark.parametrize("bits", [14, 17])
def test_joints_that_friction_holds_are_believed(bits):
    plant = Plant(ARM)
    add_losses(plant, 0.01 * EFFORT, 0.08 * EFFORT)
    assert Run(swing(0.05, 2.0), coarse(bits), 1.5, plant).found is None


@pytest.mark.parametrize("bits", [14, 20])
def test_arm_that_presses_on_a_hard_wall_is_believed(bits):
    link = [joint.child for joint in ARM.joints if joint.type != "fixed"][-1]
    place = ROBOT.frame_pose(PANDA_READY, link)[:3, 3]
    wall = Wall(place - np.array([0.0, 0.0, 0.06]), np.array([0.0, 0.0, 1.0]))
    plant = Plant(ARM, walls=(wall,), touchers=(Toucher(link, radius=0.05),))

    def press(t):
        return {"q_ref": PANDA_READY + 0.1 * np.sin(3.0 * t) * (np.arange(ROBOT.nv) % 2)}

    run = Run(press, coarse(bits), 1.5, plant)
    assert run.found is None
    assert run.pressed > 30.0  # N


def test_late_velocities_are_believed():
    late = []

    def sense(t, q, v):
        late.append(v.copy())
        return q, late[max(0, len(late) - 6)]

    assert Run(swing(0.6, 4.0), sense, 1.0).found is None


def session_at_rest(**safety):
    """A session whose joints stand, to the bit."""
    s = ScriptedSession(ROBOT, "gravity", SAFETY | safety, "lockstep")
    s.q = PANDA_READY.copy()
    return s


def serve(s, count, q=None, v=None):
    for _ in range(count):
        s.state(q=q, v=v, at=100.0 + 1e-3 * s.sent)
        s.tick()
    return s.ticks[-1].status & FROZEN


def test_constant_state_with_a_velocity_is_frozen_until_resumed_and_at_rest_it_is_not():
    s = session_at_rest()
    assert not serve(s, 200)
    moving = 0.2 * SPEED
    assert serve(s, 60, v=moving)
    assert serve(s, 60), "v changed and q did not"
    s.resume()
    assert not serve(s, 60) and s.ticks[-1].mode == Mode.HOLDING


def test_joint_that_changes_and_agrees_again_is_believed_again():
    s = session_at_rest()
    serve(s, 20)
    assert serve(s, 40, v=0.2 * SPEED)
    for k in range(100):
        serve(s, 1, q=PANDA_READY + 1e-4 * k * SPEED, v=0.1 * SPEED + 1e-6 * k)
    assert not s.ticks[-1].status & FROZEN
    assert s.ticks[-1].mode == Mode.FALLBACK


def test_first_torque_is_no_change_that_an_encoder_has_to_answer():
    """States are rare at first: the torque of the second one already holds the arm."""
    s = session_at_rest()
    for at in (100.0, 100.02):
        s.state(at=at)
        s.tick()
    assert (np.abs(s.ticks[-1].tau) > 0.25 * EFFORT).any()
    for k in range(60):
        s.state(at=100.021 + 1e-3 * k)
        s.tick()
    assert not s.ticks[-1].status & FROZEN


def test_ticks_without_a_new_state_do_not_count():
    s = session_at_rest()
    serve(s, 20)
    for _ in range(5):
        serve(s, 1, v=0.3 * SPEED)
        s.tick(30)
    assert not s.ticks[-1].status & FROZEN


def test_single_wrong_sample_freezes_nothing():
    s = session_at_rest()
    serve(s, 50)
    assert not serve(s, 1, v=1e6 * SPEED)
    assert not serve(s, 60)


def is_frozen_under(s, share):
    """Whether an unanswered push of that share of the first joint's effort is a fault."""
    push = share * EFFORT * np.eye(ROBOT.nv)[0]
    for _ in range(60):
        s.state({"tau_ff": push}, at=100.0 + 1e-3 * s.sent)
        s.tick()
    return bool(s.ticks[-1].status & FROZEN)


@pytest.mark.parametrize(
    ("share", "friction", "frozen"),
    [(0.2, 0.0, False), (0.3, 0.0, True), (0.3, 0.2, False), (0.6, 0.2, True)],
)
def test_torque_that_changes_unanswered_is_a_fault_unless_friction_may_hold_it(
    share, friction, frozen
):
    given = {"friction": {"coulomb": friction * EFFORT}} if friction else {}
    s = ScriptedSession(ROBOT, "pd", SAFETY, "lockstep", **given)
    s.q = PANDA_READY.copy()
    serve(s, 60)
    assert is_frozen_under(s, share) == frozen


def test_velocity_that_a_filter_brings_to_rest_makes_no_noisy_encoder():
    s = ScriptedSession(ROBOT, "pd", SAFETY, "lockstep")
    s.q = PANDA_READY.copy()
    for k in range(400):
        serve(s, 1, v=1e-4 * SPEED * 0.97**k)
    s.v = s.v * 0.0
    serve(s, 30)
    assert not is_frozen_under(s, 0.2)


def test_joint_that_turns_past_its_half_turn_is_believed():
    turning = [replace(joint, type="continuous", limits=Limits()) for joint in ARM.joints[:1]]
    robot = Robot.from_description(replace(ARM, joints=(*turning, *ARM.joints[1:])))
    assert robot.limits.upper[0] == np.inf
    s = ScriptedSession(robot, "gravity", SAFETY, "lockstep")
    for k in range(300):
        q, v = PANDA_READY.copy(), np.zeros(robot.nv)
        v[0] = 1.0
        q[0] = (3.0 + 1e-3 * k + np.pi) % REVOLUTION - np.pi
        serve(s, 1, q=q, v=v)
    assert not any(tick.status & FROZEN for tick in s.ticks)


def test_motors_behind_springs_are_checked_too():
    springs = {"stiffness": 500.0, "motor_inertia": 0.3}
    s = ScriptedSession(ROBOT, "elastic", SAFETY, "lockstep", springs=springs)
    s.q, s.v = PANDA_READY.copy(), 0.2 * SPEED  # of motors, which the script does not move
    for k in range(60):
        s.state(q=PANDA_READY + 1e-3 * k * s.v, at=100.0 + 1e-3 * k)
        s.tick()
    assert s.ticks[-1].status & FROZEN
