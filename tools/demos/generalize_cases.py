"""All runs of one robot: every law, each run from the start, and what came of it as numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict, dataclass, field
from functools import partial
from typing import Any

import numpy as np

from torqued.common.errors import TorquedError
from torqued.kernels import Robot
from torqued.kernels.control import Controller
from torqued.kernels.control.controller import COMMON
from torqued.kernels.model.description import Array
from torqued.tools.demos import generalize_motions as motions
from torqued.tools.demos import generalize_stability as stability
from torqued.tools.demos.generalize_loop import (
    CLEAN,
    CONDITIONS,
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
    losses,
    over_speed,
)
from torqued.tools.demos.generalize_robots import (
    ARM_LAWS,
    STANDING_LAWS,
    Row,
    describe,
    heavier,
    last_frame,
    load,
    useful_effort,
    with_losses,
)
from torqued.tools.demos.generalize_stance import Stance, stance_of, standing_plant
from torqued.tools.demos.generalize_stances import stances
from torqued.tools.demos.plant import Plant

#: rad, that joints are off when a rest begins.
NUDGE = 0.005
#: s at the end of a rest in which torques are looked at, and at the start of a motion in which
#: they are not.
LISTEN, SETTLING = 0.5, 1.0
#: A standing robot has fallen when its base is so far down, as a share, or turned by so much, rad.
FALLEN_HEIGHT, FALLEN_TURN = 0.25, 0.6


@dataclass(frozen=True)
class Budget:
    """How much is run: poses, and seconds of each kind of run."""

    poses: int = 1000
    hold: float = 1.0
    rest: float = 1.5
    track: float = 3.0
    jump: float = 1.5
    stretch: float = motions.STRETCH_SECONDS
    stand: float = 4.0


QUICK = Budget(poses=60, hold=0.5, rest=1.0, track=2.0, jump=1.0, stand=1.5)


@dataclass
class Outcome:
    """One run. Numbers that a run has no meaning for are NaN."""

    robot: str
    kind: str
    law: str
    condition: str
    run: str  # poses, hold, rest, track, jump, stretch, stand
    error: float = np.nan  # rad (impedance, standing: m), RMS
    drift: float = np.nan  # rad (standing: m), the farthest from where it began
    chatter: float = np.nan  # of the effort limit
    speed: float = np.nan  # of the velocity limit
    joint: str = ""  # the fastest one
    beyond: float = np.nan  # rad past a joint's end
    fell: bool = False
    ran_away: bool = False  # the simulation ended in numbers that mean nothing
    status: list[str] = field(default_factory=list)
    unstable: int = 0  # poses
    poses: int = 0
    cut: int = 0
    growth: float = np.nan  # 1/s of the worst pose
    friction_compensated: bool = False
    refused: str = ""  # the law's own words, where it could not be had


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
        viscous, coulomb = losses(condition, self.effort)
        first = plain.nv - len(plain.joint_names) if row.base == "fixed" else 6
        names = list(plain.joint_names)[-(plain.nv - first) :]
        told = with_losses(described, viscous[first:], coulomb[first:], names)
        self.robot: Robot = load(told, row.base)
        self.frame = row.frame or last_frame(described)
        children = {joint.child for joint in described.joints}
        self.root = next(link.name for link in described.links if link.name not in children)
        self.stance: Stance | None = None
        real = heavier(described, condition.mass)
        if row.kind == "arm":
            self.places: Places = like.places if like else Places(plain, self.frame, self.effort)
            self.plant = Plant(real, row.base)
        else:
            self.stance = like.stance if like else stance_of(plain, described, row.kind == "biped")
            assert self.stance is not None
            self.plant = standing_plant(real, self.stance)
        add_losses(self.plant, viscous, coulomb)
        self.losses = {"viscous": viscous, "coulomb": coulomb}

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

    def controller(self, law: str) -> tuple[Controller, bool]:
        """With default gains; whether it compensates the friction that there is."""
        options = self.options(law)
        known = bool(self.condition.viscous) and "friction" in COMMON
        if known:
            options["friction"] = self.losses
        controller = Controller(self.robot, law, **options)
        controller.stabilize(PERIOD, ROUGH.delay * PERIOD)  # as opening a session does
        return controller, known

    def outcome(self, law: str, run: str) -> Outcome:
        return Outcome(self.row.label, self.row.kind, law, self.condition.name, run)

    def trial(self, law: str) -> tuple[Trial, bool]:
        controller, compensated = self.controller(law)
        return Trial(self.robot, self.plant, controller, self.condition), compensated

    def note(self, outcome: Outcome, log: Log) -> Outcome:
        """What every run has."""
        outcome.ran_away = log.ran_away
        outcome.speed, outcome.joint = over_speed(self.robot, log.v)
        outcome.beyond = beyond_limits(self.robot, log.q)
        outcome.status = log.statuses
        return outcome


def arm_runs(case: Case, law: str, worst: Array, budget: Budget) -> list[Outcome]:
    """All runs of a law on an arm; `worst` is the pose that it is least stable in."""
    robot, effort = case.robot, case.effort
    trial, compensated = case.trial(law)
    log = rest(case, trial, worst, budget)
    outcome = case.note(case.outcome(law, "rest"), log)
    outcome.chatter = chatter(log.tau[-round(LISTEN / PERIOD) :], effort)
    found = [outcome]
    if law == "gravity" or case.condition == LATE:
        return found
    q = case.places.ready

    trial, _ = case.trial(law)
    log = trial.run(q, budget.hold)
    outcome = case.note(case.outcome(law, "hold"), log)
    outcome.drift = float(np.abs(log.q - q).max())
    found.append(outcome)

    trial, _ = case.trial(law)
    outcome = track(case, trial, law, q, budget)
    found.append(outcome)

    trial, _ = case.trial(law)
    goal = hold(trial.controller, robot, case.frame, motions.jumped(robot, q))
    start = hold(trial.controller, robot, case.frame, q)
    trial.references = lambda t: start if t < 0.1 else goal
    log = trial.run(q, budget.jump)
    found.append(case.note(case.outcome(law, "jump"), log))

    if law == "impedance":
        found += [stretch(case, law, q, budget), singular(case, law, budget)]
    for outcome in found:
        outcome.friction_compensated = compensated
    return found


def given(references: References, _: float) -> References:
    """The same at all times."""
    return references


def rest(case: Case, trial: Trial, q: Array, budget: Budget) -> Log:
    references = hold(trial.controller, case.robot, case.frame, q)
    trial.references = partial(given, references)
    off = NUDGE * np.where(np.arange(case.robot.nv) % 2, 1.0, -1.0)
    return trial.run(case.robot.integrate(q, off, 1.0), budget.rest)


def track(case: Case, trial: Trial, law: str, q: Array, budget: Budget) -> Outcome:
    """Joints swing; a frame's pose is that of the swinging joints."""
    robot = case.robot
    swing = case.places.swing
    names = trial.controller.references

    def references(t: float) -> dict[str, Any]:
        q_ref, v_ref, a_ref = swing(t)
        if "position" in names and "q_ref" not in names:
            J = robot.frame_jacobian(q_ref, case.frame)
            bias = robot.frame_bias(q_ref, v_ref, case.frame)
            at = hold(trial.controller, robot, case.frame, q_ref)
            return at | {"velocity": J @ v_ref, "acceleration": J @ a_ref + bias}
        given = {"q_ref": q_ref, "v_ref": v_ref, "a_ref": a_ref}
        given |= {
            "posture.position": q_ref,
            "posture.velocity": v_ref,
            "posture.acceleration": a_ref,
        }
        return {name: value for name, value in given.items() if name in names}

    trial.references = references
    log = trial.run(q, budget.track)
    outcome = case.note(case.outcome(law, "track"), log)
    late = log.time >= min(SETTLING, 0.5 * budget.track)
    if law == "impedance":
        off = [
            robot.frame_pose(at, case.frame)[:3, 3] - references(t)["position"]
            for at, t in zip(log.q[late][::10], log.time[late][::10], strict=True)
        ]
        outcome.error = float(np.sqrt(np.mean(np.sum(np.square(off), axis=1))))
    else:
        wanted = np.array([swing(t)[0] for t in log.time[late]])
        outcome.error = float(np.sqrt(np.mean((log.q[late] - wanted) ** 2)))
    return outcome


def stretch(case: Case, law: str, q: Array, budget: Budget) -> Outcome:
    trial, _ = case.trial(law)
    path = case.places.path
    start = hold(trial.controller, case.robot, case.frame, q)
    trial.references = lambda t: start | {"position": path(t)}
    log = trial.run(q, budget.stretch)
    return case.note(case.outcome(law, "stretch"), log)


def singular(case: Case, law: str, budget: Budget) -> Outcome:
    """Held where the arm is stretched and its Jacobian has lost a direction."""
    trial, _ = case.trial(law)
    log = rest(case, trial, case.places.stretched, budget)
    return case.note(case.outcome(law, "singular"), log)


def standing_runs(case: Case, law: str, budget: Budget) -> list[Outcome]:
    """Standing without a reference, and with one that says to stand."""
    stance = case.stance
    assert stance is not None
    found = []
    for run in ("stand",) if case.condition == LATE else ("hold", "stand"):
        trial, compensated = case.trial(law)
        if run == "stand":
            references = hold(trial.controller, case.robot, "", stance.q)
            trial.references = partial(given, references)
        trial.failed = partial(fallen, stance)
        log = trial.run(stance.q, budget.stand, settle=standing_torque(case))
        outcome = case.note(case.outcome(law, run), log)
        outcome.fell = len(log.q) < round(budget.stand / PERIOD)
        places = np.array([case.robot.center_of_mass(q) for q in log.q[::20]])
        off = np.linalg.norm(places - places[0], axis=1)
        outcome.drift = float(off.max())
        outcome.error = float(np.sqrt(np.mean(off**2)))
        outcome.chatter = chatter(log.tau[-round(LISTEN / PERIOD) :, 6:], case.effort[6:])
        outcome.friction_compensated = compensated
        found.append(outcome)
    return found


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


def robot_runs(row: Row, laws: tuple[str, ...], budget: Budget) -> Iterator[dict[str, Any]]:
    """Everything of one robot, each run as soon as it has ended."""
    clean = Case(row, CLEAN)
    cases = [clean, *(Case(row, condition, clean) for condition in CONDITIONS[1:])]
    where = (
        stances(clean.robot, clean.stance, budget.poses)
        if clean.stance
        else stability.poses(clean.robot, budget.poses)
    )
    for law in clean.laws:
        if law not in laws:
            continue
        outcome, worst = pose_scan(clean, law, where)
        yield asdict(outcome)
        for case in cases:
            try:
                found = (
                    arm_runs(case, law, worst, budget)
                    if row.kind == "arm"
                    else standing_runs(case, law, budget)
                )
                yield from map(asdict, found)
            except TorquedError as error:
                refused = case.outcome(law, "open")
                refused.refused = str(error)
                yield asdict(refused)


def pose_scan(case: Case, law: str, where: list[stability.Pose]) -> tuple[Outcome, Array]:
    """Stability at rest in all poses, with the delay of the rough condition, and the worst pose."""
    outcome = case.outcome(law, "poses")
    try:
        controller, _ = case.controller(law)
        scan = stability.scan(controller, case.frame, where, ROUGH.delay)
    except TorquedError as error:
        outcome.refused = str(error)
        return outcome, where[0].q
    outcome.unstable = scan.unstable + scan.refused
    outcome.poses, outcome.cut, outcome.growth = scan.poses, scan.cut, scan.growth
    return outcome, scan.worst


def count(row: Row, laws: tuple[str, ...]) -> int:
    """Runs of a robot, for a bar that shows how many are left."""
    mine = [law for law in (ARM_LAWS if row.kind == "arm" else STANDING_LAWS) if law in laws]
    if row.kind != "arm":
        return 6 * len(mine)
    return sum(4 if law == "gravity" else 14 if law == "impedance" else 10 for law in mine)
