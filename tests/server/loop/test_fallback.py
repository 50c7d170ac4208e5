"""What the fallback does with robots of MuJoCo: arms with loads that their models lack, and robots
that stand. In lock step, through the daemon's compiled tick."""

from collections import deque
from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from support.scripted_session import ScriptedSession
from torqued.common.status import FALLBACK, OVERRUN, STALE, STOPPED, TABLE
from torqued.kernels.control.unknown_load import LOAD
from torqued.kernels.model.description import Inertia
from torqued.server.loop.session_modes import Mode
from torqued.tools.demos.generalize_loop import hold
from torqued.tools.demos.generalize_robots import ROWS, describe, load
from torqued.tools.demos.generalize_stance import stance_of, standing_plant
from torqued.tools.demos.plant import Plant, Push

SAFETY = {"hold": 0.02, "fade": 0.1}
DELAY = 2  # ticks
NOISE = 1e-3  # rad/s
ROTOR = 0.1  # kg m²
#: Where the load is in the axes of the last link, m.
GRASP = np.array([0.03, 0.0, 0.08])
#: Bits with which a torque is still the law's.
USABLE = sum(row.bit for row in TABLE if row.usable)


@cache
def described(name):
    (row,) = [row for row in ROWS if row.name == name and (row.kind != "arm" or name != "icub")]
    return row, describe(row)


def with_load(description, mass, rotor):
    """The robot as it is: with a load at its last link and rotors that its model lacks."""
    place = max(k for k, link in enumerate(description.links) if link.inertia.mass > 0.0)
    last = description.links[place]
    m, c = last.inertia.mass, last.inertia.com
    center = (m * c + mass * GRASP) / (m + mass)
    offsets = ((m, c - center), (mass, GRASP - center))
    spread = sum(x * (d @ d * np.eye(3) - np.outer(d, d)) for x, d in offsets)
    inertia = Inertia(m + mass, center, last.inertia.rotational + spread + 1e-3 * mass * np.eye(3))
    joints = tuple(
        joint if joint.type == "fixed" else replace(joint, armature=rotor)
        for joint in description.joints
    )
    links = list(description.links)
    links[place] = replace(last, inertia=inertia)
    return replace(description, links=tuple(links), joints=joints)


class Stopped:
    """An arm under `gravity` that is stopped in motion; a row per tick."""

    def __init__(self, name, mass, rotor, kind, seconds=0.7, speed=0.5):
        row, description = described(name)
        self.robot = robot = load(description, row.base)
        plant = Plant(with_load(description, mass, rotor))
        rng = np.random.default_rng(1)
        while True:  # a pose that motors can hold
            q = np.clip(robot.random_state(rng)[0], -2.0, 2.0)
            if (np.abs(plant.robot.gravity(q)) < 0.5 * robot.limits.effort).all():
                break
        self.start = speed * robot.limits.velocity * rng.choice([-1.0, 1.0], robot.nv)
        plant.reset(q, self.start)
        self.session = ScriptedSession(
            robot, "gravity", SAFETY | {"fallback": kind}, clock="lockstep", walls=False
        )
        late, rows = deque(), []
        for k in range(round(1e3 * seconds)):
            q, v = plant.q, plant.v
            self.session.state(q=q, v=v + NOISE * rng.normal(size=robot.nv), at=1e-3 * k)
            if k == 1:
                self.session.halt()
            tau = self.session.tick().tau.copy()
            rows.append((q, v, tau))
            late.append(tau)
            plant.step(late.popleft() if len(late) > DELAY else tau, 1e-3)
        self.q, self.v, self.tau = map(np.array, zip(*rows, strict=True))


@pytest.mark.parametrize("kind", ["brake", "hold"])
@pytest.mark.parametrize(
    ("name", "mass", "rotor"),
    [("ur10", 0.0, ROTOR), ("ur10", 2.0, 0.0), ("ur5", 3.0, ROTOR), ("panda", 2.0, ROTOR)],
)
def test_arm_with_unknown_load_comes_to_rest_and_stays(name, mass, rotor, kind):
    """From half of the speed limits, with rotors and loads that the model does not have."""
    run = Stopped(name, mass, rotor, kind)
    limits = run.robot.limits
    at_rest = (np.abs(run.v[500:]) < 0.03 * limits.velocity).all()
    assert at_rest
    # While the law's torque fades, nothing can brake fully: 0.06 s at the speed that there was.
    way = np.abs(run.q - run.q[0]) - 0.06 * np.abs(run.start)
    assert way.max() < 0.12
    assert np.abs(run.q[-1] - run.q[500]).max() < 0.02
    assert (np.abs(run.tau) <= limits.effort).all()


def test_load_that_appears_while_the_arm_rests_is_held():
    """Under `gravity` an unknown load sinks from the first tick on."""
    run = Stopped("ur10", 3.0, ROTOR, "brake", speed=0.0)
    assert np.abs(run.q - run.q[0]).max() < 0.05
    assert np.abs(run.v[-100:]).max() < 0.02


def pressing(seconds):
    """An arm that stands still before something rigid, pressing with a `pd` law; then stopped."""
    row, description = described("panda")
    robot = load(description, row.base)
    session = ScriptedSession(robot, "pd", SAFETY, clock="lockstep", reference_limits=False)
    q = robot.neutral()
    for k in range(round(1e3 * seconds)):
        session.q, session.v = q, np.zeros(robot.nv)
        session.state({"q_ref": q + 0.1}, at=1e-3 * k)
        if k == 5:
            pressed = session.ticks[-1].tau.copy()
            session.halt()
        session.tick()
    return robot, session, pressed


def test_stopped_arm_does_not_go_on_pressing():
    robot, session, pressed = pressing(0.3)
    weight = robot.gravity(session.q)
    assert np.abs(pressed - weight).max() > 1.0
    assert np.allclose(session.ticks[-1].tau, weight, atol=1e-6)


def test_integral_action_ends_at_the_effort_limit_and_begins_at_zero():
    robot, session, _ = pressing(0.3)
    for k in range(300, 900):  # someone holds it away, and holds it there
        session.state(q=session.q + 0.05, v=np.zeros(robot.nv), at=1e-3 * k)
        session.tick()
    effort, tau = robot.limits.effort, session.ticks[-1].tau
    share = np.abs(tau) / effort
    assert share.max() == 1.0 and (tau - robot.gravity(session.q)).sum() < 0.0
    assert (np.abs(session.data.unknown[LOAD]) <= effort).all()
    session.resume()
    session.state(at=0.9)
    session.tick()
    session.state(at=0.901)
    session.halt()
    session.tick()
    assert (session.data.unknown[LOAD] == 0.0).all()


class Standing:
    """A robot with legs under a whole-body law: a slow squat, then what a test does."""

    def __init__(self, name, law, delay=0):
        row, description = described(name)
        self.robot = robot = load(description, row.base)
        self.stance = stance_of(robot, description, row.kind == "biped")
        self.plant = standing_plant(description, self.stance)
        children = {joint.child for joint in description.joints}
        self.root = next(x.name for x in description.links if x.name not in children)
        options = {"contacts": self.stance.contacts}
        if law == "wholebody":
            orientation = {"kind": "orientation", "frame": self.root}
            options["tasks"] = [{"kind": "com"}, orientation, {"kind": "posture"}]
        self.session = ScriptedSession(robot, law, SAFETY, clock="lockstep", **options)
        self.held = hold(self.session.controller, robot, "", self.stance.q)
        self.com_name = next(x for x in self.held if "com" in x)
        self.plant.reset(self.stance.q, np.zeros(robot.nv))
        self.late, self.delay, self.time = deque(), delay, 0

    @property
    def com(self):
        return self.robot.center_of_mass(self.plant.q)

    def squat(self):
        """References of a squat of 5 cm at 0.5 Hz."""
        down = 0.025 * (1.0 - np.cos(np.pi * 1e-3 * self.time))
        return self.held | {self.com_name: self.held[self.com_name] - [0.0, 0.0, down]}

    def run(self, seconds, references=None, push=0.0):
        """The farthest that the center of mass got from where it was, m, and all status bits."""
        begin, far, status = self.com, 0.0, 0
        force = np.array([push * 9.81 * self.robot.total_mass, 0.0, 0.0])
        for k in range(round(1e3 * seconds)):
            self.plant.pushes = [Push(self.root, force)] if push and k < 100 else []
            given = references() if references else None
            self.session.state(given, q=self.plant.q, v=self.plant.v, at=1e-3 * self.time)
            tick = self.session.tick()
            status |= tick.status
            self.late.append(tick.tau.copy())
            late = self.late.popleft() if len(self.late) > self.delay else tick.tau
            self.plant.step(late, 1e-3)
            self.time += 1
            if k % 10 == 0:
                far = max(far, float(np.linalg.norm(self.com - begin)))
        return far, status


@pytest.mark.parametrize("law", ["wholebody", "balance"])
@pytest.mark.parametrize("name", ["go2", pytest.param("talos", marks=pytest.mark.slow)])
def test_stopped_robot_stands_on_is_pushed_and_resumes(name, law):
    robot = Standing(name, law)
    robot.run(0.7, robot.squat)
    robot.session.halt()
    # References of states go on, and do not count.
    far, status = robot.run(0.5, robot.squat)
    assert far < 0.05 and status & ~USABLE == FALLBACK
    assert robot.session.ticks[-1].reason == STOPPED
    far, _ = robot.run(0.8, robot.squat, push=0.1)
    assert far < 0.05
    robot.session.resume()
    far, _ = robot.run(0.4)
    assert far < 0.05 and robot.session.ticks[-1].mode == Mode.HOLDING
    assert robot.session.ticks[-1].status & FALLBACK == 0


def test_torque_does_not_jump_when_a_standing_robot_is_stopped_or_resumed():
    robot = Standing("go2", "wholebody")
    robot.run(0.7, robot.squat)
    before = robot.session.ticks[-1].tau
    robot.session.halt()
    robot.run(0.001)
    stopped = robot.session.ticks[-1].tau
    robot.run(0.3)
    last = robot.session.ticks[-1].tau
    robot.session.resume()
    robot.run(0.001)
    effort = robot.robot.limits.effort[6:]
    assert (np.abs(stopped - before)[6:] < 0.02 * effort).all()
    assert (np.abs(robot.session.ticks[-1].tau - last)[6:] < 0.005 * effort).all()


@pytest.mark.parametrize("stopped", [False, True])
def test_robot_whose_law_fails_stands_on_springs_and_resumes(stopped):
    """Also where the law fails after a stop, and with late torques."""
    robot = Standing("go2", "wholebody", delay=DELAY)
    robot.run(0.5, robot.squat)
    if stopped:
        robot.session.halt()
        robot.run(0.1)
    robot.session.use_up_time()
    far, status = robot.run(0.8, push=0.05)
    assert far < 0.05 and status & OVERRUN
    assert robot.session.record.law_holds == 0
    robot.session.give_time()
    far, _ = robot.run(0.2)
    assert robot.session.ticks[-1].status & FALLBACK and far < 0.02  # until it is resumed
    robot.session.resume()
    far, _ = robot.run(0.5)
    assert far < 0.05 and robot.session.ticks[-1].status & FALLBACK == 0


def test_contacts_of_a_stopped_robot_stay_as_they_are():
    robot = Standing("go2", "wholebody")
    active = np.array([1.0, 1.0, 1.0, 0.0])
    references = robot.held | {"active": active}
    robot.session.state(references, q=robot.stance.q, v=np.zeros(robot.robot.nv), at=0.0)
    robot.session.tick()
    robot.session.halt()
    for k in range(1, 5):
        robot.session.state(
            robot.held | {"active": np.ones(4)},
            q=robot.stance.q,
            v=np.zeros(robot.robot.nv),
            at=1e-3 * k,
        )
        robot.session.tick()
    names = robot.session.controller.references
    start = len(robot.session.data.state) - len(robot.session.data.command)
    for name, value in names.items():
        if name == "active":
            assert np.array_equal(robot.session.data.state[start : start + 4], active)
        start += value.size


def test_law_does_not_hold_without_states():
    """What stands elsewhere when states come again is held by springs."""
    robot = Standing("go2", "wholebody")
    robot.run(0.02)
    robot.session.halt()
    robot.run(0.02)
    assert robot.session.record.law_holds == 1
    robot.session.state(q=robot.plant.q * np.nan, at=1e-3 * robot.time)
    robot.session.tick()
    assert robot.session.record.law_holds == 0
    assert robot.session.ticks[-1].status & (FALLBACK | STALE)


@pytest.mark.parametrize("kind", ["gravity", "zero"])
def test_other_fallbacks_end_the_law_of_a_standing_robot(kind):
    robot = Standing("go2", "wholebody")
    robot.session.record.fallback = {"gravity": 2, "zero": 3}[kind]
    robot.run(0.02)
    robot.session.halt()
    robot.run(0.01)
    assert robot.session.record.law_holds == 0
