"""All runs of one robot: every law, each run from the start, and what came of it as numbers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np

from torqued.kernels import Robot
from torqued.kernels.control import Controller
from torqued.kernels.model.description import Array
from torqued.tools.demos import generalize_motions as motions
from torqued.tools.demos.generalize_loop import (
    CLEAN,
    LATE,
    PERIOD,
    ROUGH,
    Condition,
    Log,
    References,
    Trial,
    add_losses,
    beyond_limits,
    chatter,
    hold,
    hold_hard,
    losses,
    over_speed,
    rotors,
)
from torqued.tools.demos.generalize_menagerie import MenageriePlant
from torqued.tools.demos.generalize_robots import (
    ARM_LAWS,
    GRASP,
    HEAVIEST,
    STANDING_LAWS,
    Row,
    bearable,
    describe,
    heavier,
    last_frame,
    load,
    useful_effort,
    with_losses,
)
from torqued.tools.demos.generalize_stance import Stance, stance_of, standing_plant
from torqued.tools.demos.models import with_payload
from torqued.tools.demos.plant import Plant

#: rad, that joints are off when a rest begins.
NUDGE = 0.005
#: s at the end of a rest that chatter is measured in, and at the start of a motion that errors
#: leave out.
LISTEN, SETTLING = 0.5, 1.0
STILL = 0.2  # s at the end of a run in which a robot should rest
#: A standing robot has fallen when its base is so far down, as a share, or turned by so much, rad.
FALLEN_HEIGHT, FALLEN_TURN = 0.25, 0.6


#: References over time, for the controller of a run.
Plan = Callable[[Controller], Callable[[float], References]]


@dataclass(frozen=True)
class Budget:
    """How much is run: poses, and seconds of each kind of run."""

    poses: int = 1000
    hold: float = 1.0
    rest: float = 1.5
    track: float = 3.0
    jump: float = 1.5
    settle: float = 4.0
    learn: float = 4.0
    stretch: float = motions.STRETCH_SECONDS
    stand: float = 4.0


QUICK = Budget(poses=60, hold=0.5, rest=1.0, track=2.0, jump=1.0, learn=3.0, stand=1.5)


@dataclass
class Outcome:
    """One run. Numbers without a meaning for it are NaN."""

    robot: str
    kind: str
    law: str
    condition: str
    run: str  # poses, hold, rest, track, jump, stretch, stand; those of generalize_lab.py
    error: float = np.nan  # rad (impedance, standing: m), RMS; what its run says
    drift: float = np.nan  # rad (standing: m), the farthest from where it began
    chatter: float = np.nan  # of the effort limit
    speed: float = np.nan  # of the velocity limit
    joint: str = ""  # the fastest one
    end_speed: float = np.nan  # of the velocity limit, in the last `STILL` s
    delay: float = np.nan  # s until frozen encoders were found
    beyond: float = np.nan  # rad past a joint's end
    fell: bool = False
    ran_away: bool = False  # the simulation ended in numbers that mean nothing
    status: list[str] = field(default_factory=list)
    unstable: int = 0  # poses
    poses: int = 0
    cut: int = 0
    growth: float = np.nan  # 1/s of the worst pose
    friction_compensated: bool = False
    refused: str = ""  # why the law did not open


class Places:
    """Where an arm is tried, whatever its condition."""

    def __init__(self, robot: Robot, frame: str, effort: Array) -> None:
        self.ready = motions.ready_pose(robot, frame, effort)
        self.swing = motions.motion(robot, self.ready, effort)
        self.path = motions.Stretch(robot, frame, self.ready)
        self.stretched = motions.stretched_pose(robot, frame, effort)


class Case:
    """A robot in one condition."""

    def __init__(self, row: Row, condition: Condition, like: Case | None = None) -> None:
        """With effort limits, places and stance of another condition, where there is one."""
        self.row, self.condition = row, condition
        described = describe(row)
        plain = load(described, row.base)
        self.effort: Array = like.effort if like else useful_effort(plain)
        self.frame = row.frame or last_frame(described)
        children = {joint.child for joint in described.joints}
        self.root = next(link.name for link in described.links if link.name not in children)
        self.stance: Stance | None = None
        self.real = heavier(described, condition.mass)
        if row.kind == "arm":
            self.places: Places = like.places if like else Places(plain, self.frame, self.effort)
            if condition.payload:
                up = np.array([0.0, 0.0, 1.0])
                weight = bearable(plain, self.places.ready, self.frame, self.effort, up)
                mass = min(weight / 9.81, HEAVIEST * plain.total_mass)
                self.real = with_payload(self.real, self.frame, mass, GRASP)
            if row.mjcf:
                self.plant: Plant = MenageriePlant(described, row.base, row.mjcf)
            else:
                self.plant = Plant(self.real, row.base)
        else:
            self.stance = like.stance if like else stance_of(plain, described, row.kind == "biped")
            assert self.stance is not None
            self.plant = standing_plant(self.real, self.stance, row.mjcf)
        first = plain.nv - len(plain.joint_names) if row.base == "fixed" else 6
        if isinstance(self.plant, MenageriePlant):
            hold_hard(self.plant)
            lost = self.plant.losses()
        else:
            armature = condition.rotors * rotors(plain, self.effort)
            lost = np.array([*losses(condition, self.effort), armature])
            lost[:, :first] = 0.0
            add_losses(self.plant, *lost)
        self.losses = {"viscous": lost[0], "coulomb": lost[1]}
        names = list(plain.joint_names)[-(plain.nv - first) :]
        #: What the law's model is loaded from.
        self.described = with_losses(described, condition.told * lost[:, first:], names)
        self.robot: Robot = load(self.described, row.base)

    @property
    def laws(self) -> tuple[str, ...]:
        return ARM_LAWS if self.row.kind == "arm" else STANDING_LAWS

    def options(self, law: str) -> dict[str, Any]:
        """The required options of a law; nothing else is given."""
        if self.stance is not None:
            options: dict[str, Any] = {"contacts": self.stance.contacts}
            if law == "wholebody":
                options["tasks"] = [
                    {"kind": "com"},
                    {"kind": "orientation", "frame": self.root},
                    {"kind": "posture"},
                ]
            return options
        if law == "wholebody":
            return {"tasks": [{"kind": "posture"}]}
        return {"frame": self.frame} if law in ("adaptive", "impedance") else {}

    def controller(self, law: str, force: Any = None) -> tuple[Controller, bool]:
        """With default gains; whether it compensates the friction that there is."""
        rubs = any(value.any() for value in self.losses.values())
        known = self.condition.told and rubs
        options = self.options(law) | ({"friction": self.losses} if known else {})
        options |= {"force": force} if force else {}
        controller = Controller(self.robot, law, **options)
        controller.stabilize(PERIOD, ROUGH.delay * PERIOD)  # as opening a session does
        return controller, known

    def outcome(self, law: str, run: str) -> Outcome:
        return Outcome(self.row.label, self.row.kind, law, self.condition.name, run)

    def attempt(
        self,
        law: str,
        run: str,
        q: Array,
        seconds: float,
        references: Plan | None = None,
        settle: Array | None = None,
        force: Any = None,
        plant: Plant | None = None,
        **options: Any,
    ) -> tuple[Outcome, Log]:
        """A run from rest at q, and the numbers that every run has."""
        controller, compensated = self.controller(law, force)
        trial = Trial(self.robot, plant or self.plant, controller, self.condition, **options)
        if references is not None:
            trial.references = references(controller)
        log = trial.run(q, seconds, settle)
        outcome = self.outcome(law, run)
        outcome.friction_compensated, outcome.ran_away = compensated, log.ran_away
        outcome.speed, outcome.joint = over_speed(self.robot, log.v)
        outcome.end_speed, _ = over_speed(self.robot, log.v[-round(STILL / PERIOD) :])
        outcome.beyond, outcome.status = beyond_limits(self.robot, log.q), log.statuses
        return outcome, log

    def held_at(self, q: Array) -> Plan:
        """References that hold the robot at q."""

        def plan(controller: Controller) -> Callable[[float], References]:
            given = hold(controller, self.robot, self.frame, q)
            return lambda t: given

        return plan

    def rest(self, law: str, run: str, q: Array, budget: Budget) -> tuple[Outcome, Log]:
        """Held at q, from a little beside it."""
        off = NUDGE * np.where(np.arange(self.robot.nv) % 2, 1.0, -1.0)
        start = self.robot.integrate(q, off, 1.0)
        return self.attempt(law, run, start, budget.rest, self.held_at(q))


def arm_runs(case: Case, law: str, worst: Array, budget: Budget) -> list[Outcome]:
    """All runs of a law on an arm; `worst` is the pose in which it is least stable."""
    q = case.places.ready
    rested, log = case.rest(law, "rest", worst, budget)
    rested.chatter = chatter(log.tau[-round(LISTEN / PERIOD) :], case.effort)
    if law == "gravity" or case.condition == LATE:
        return [rested]
    if case.condition.rotors:
        # Without being told nothing tracks a rotor; it should come to rest all the same.
        if case.condition.told:
            return [rested, track(case, law, q, budget)]
        return [rested, jump(case, law, q, budget.settle)]
    held, log = case.attempt(law, "hold", q, budget.hold)
    held.drift = float(np.abs(log.q - q).max())
    found = [rested, held, track(case, law, q, budget), jump(case, law, q, budget.jump)]
    if law == "impedance":
        # Beyond the arm's reach, and held where it is stretched: its Jacobian loses a direction.
        found.append(stretch(case, law, q, budget))
        found.append(case.rest(law, "singular", case.places.stretched, budget)[0])
    return found


def swinging(case: Case, begin: float = 0.0) -> Plan:
    """Joints swing from then on, s; a frame's pose is that of the swinging joints."""
    robot, swing = case.robot, case.places.swing

    def plan(controller: Controller) -> Callable[[float], References]:
        names = controller.references

        def references(t: float) -> References:
            q_ref, v_ref, a_ref = swing(max(t - begin, 0.0))
            if "position" in names and "q_ref" not in names:
                J = robot.frame_jacobian(q_ref, case.frame)
                bias = robot.frame_bias(q_ref, v_ref, case.frame)
                at = hold(controller, robot, case.frame, q_ref)
                return at | {"velocity": J @ v_ref, "acceleration": J @ a_ref + bias}
            posture = (f"posture.{name}" for name in ("position", "velocity", "acceleration"))
            given = dict(zip(("q_ref", "v_ref", "a_ref"), (q_ref, v_ref, a_ref), strict=True))
            given |= dict(zip(posture, (q_ref, v_ref, a_ref), strict=True))
            return {name: value for name, value in given.items() if name in names}

        return references

    return plan


def track(case: Case, law: str, q: Array, budget: Budget) -> Outcome:
    robot, swing = case.robot, case.places.swing
    outcome, log = case.attempt(law, "track", q, budget.track, swinging(case))
    late = log.time >= min(SETTLING, 0.5 * budget.track)
    if law == "impedance":
        off = [
            (robot.frame_pose(at, case.frame) - robot.frame_pose(swing(t)[0], case.frame))[:3, 3]
            for at, t in zip(log.q[late][::10], log.time[late][::10], strict=True)
        ]
        outcome.error = float(np.sqrt(np.mean(np.sum(np.square(off), axis=1))))
    else:
        wanted = np.array([swing(t)[0] for t in log.time[late]])
        outcome.error = float(np.sqrt(np.mean((log.q[late] - wanted) ** 2)))
    return outcome


def jump(case: Case, law: str, q: Array, seconds: float) -> Outcome:
    """The reference jumps by up to 1 rad in every joint."""
    here, there = case.held_at(q), case.held_at(motions.jumped(case.robot, q))

    def plan(controller: Controller) -> Callable[[float], References]:
        start, goal = here(controller)(0.0), there(controller)(0.0)
        return lambda t: start if t < 0.1 else goal

    return case.attempt(law, "jump", q, seconds, plan)[0]


def stretch(case: Case, law: str, q: Array, budget: Budget) -> Outcome:
    """The reference goes beyond the arm's reach, and back."""

    def plan(controller: Controller) -> Callable[[float], References]:
        start = hold(controller, case.robot, case.frame, q)
        return lambda t: start | {"position": case.places.path(t)}

    return case.attempt(law, "stretch", q, budget.stretch, plan)[0]


def standing_runs(case: Case, law: str, budget: Budget) -> list[Outcome]:
    """Standing without a reference, and with one that says to stand."""
    stance = case.stance
    assert stance is not None
    found = []
    for run in ("hold", "stand") if case.condition in (CLEAN, ROUGH) else ("stand",):
        references = case.held_at(stance.q) if run == "stand" else None
        outcome, log = case.attempt(
            *(law, run, stance.q, budget.stand, references),
            settle=standing_torque(case),
            failed=partial(fallen, stance),
        )
        outcome.fell = len(log.q) < round(budget.stand / PERIOD)
        off = farthest(case.robot, log.q)
        outcome.drift = float(off.max())
        outcome.error = float(np.sqrt(np.mean(off**2)))
        outcome.chatter = chatter(log.tau[-round(LISTEN / PERIOD) :, 6:], case.effort[6:])
        found.append(outcome)
    return found


def farthest(robot: Robot, q: Array) -> Array:
    """m, how far the center of mass was from where it began, at every twentieth step."""
    places = np.array([robot.center_of_mass(at) for at in q[::20]])
    off: Array = np.linalg.norm(places - places[:1], axis=1)
    return off


def standing_torque(case: Case) -> Array:
    """What `wholebody` would answer at the very start: holds until the first late torque comes."""
    controller = Controller(case.robot, "wholebody", **case.options("wholebody"))
    assert case.stance is not None
    references = hold(controller, case.robot, "", case.stance.q)
    controller.evaluate(case.stance.q, np.zeros(case.robot.nv), 0.0, references)
    tau: Array = controller.split(controller.data.out)["tau"].copy()
    return tau


def fallen(stance: Stance, q: Array) -> bool:
    turn = 2.0 * np.linalg.norm(q[3:6])
    return bool(q[2] < (1.0 - FALLEN_HEIGHT) * stance.height or turn > FALLEN_TURN)
