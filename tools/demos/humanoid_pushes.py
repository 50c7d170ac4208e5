"""Pushes at the pelvis while standing: the largest impulse that does not make the robot fall.

Feet stay where they are. What ankles alone could take of it is that of a linear pendulum: the
center of mass at height h, ω = √(g/h), the pressure at the edge of the support, d away, from the
beginning of a push that lasts T. An impulse m ω d · ωT / (1 − exp(−ωT)) brings it to rest just
above that edge. A short blow gives m ω d, the capture point's limit.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from torqued.client import Client
from torqued.client.sessions.session import Session
from torqued.common.status import SOLVER
from torqued.kernels import Robot
from torqued.kernels.model.description import Array
from torqued.tools.demos import results
from torqued.tools.demos.daemon import served
from torqued.tools.demos.humanoid_robot import (
    LEFT,
    PELVIS,
    SOLE,
    contacts,
    make_plant,
    stance,
    talos,
)
from torqued.tools.demos.lockstep import LAW_ALONE, PERIOD, Loop
from torqued.tools.demos.plant import Plant, Push

LAWS = ("wholebody", "balance")
DIRECTIONS = (0, 45, 90, 135, 180)  # degrees from straight ahead to the left; the right mirrors it
#: s: when it is pushed, for how long, and how long it is watched in all.
START, LASTS, SECONDS = 0.1, 0.1, 2.6
#: N s, between which the limit is sought, and in how many halvings: to 1 N s.
MIN_IMPULSE, MAX_IMPULSE, HALVINGS = 8.0, 72.0, 6
#: Runs side by side: the sessions of more would not fit into a tick.
TOGETHER = 2
#: Steps of all runs.
STEPS = len(LAWS) * math.ceil(len(DIRECTIONS) / TOGETHER) * HALVINGS * round(SECONDS / PERIOD)
#: m, below which the pelvis has fallen; m, m/s and rad within which it has recovered in the end.
FALLEN = 0.75
RECOVERED = (0.02, 0.05, 0.1)

TASKS = [{"kind": "com"}, {"kind": "orientation", "frame": PELVIS}, {"kind": "posture"}]

#: Claims: shares of what ankles alone could take that are recovered in every direction.
SHARE = {"wholebody": 0.85, "balance": 0.75}
#: Ticks without a solution in all recovered runs. Bounds of joints yield; at the edge of falling
#: torques, friction and contacts may still contradict each other.
BRIDGED = 10


@dataclass(frozen=True)
class Recovered:
    """The limit of one law in one direction, N s."""

    law: str
    direction: float  # degrees
    impulse: float  # the largest one that was recovered
    fell: float  # the smallest one that was not
    ankles: float  # what ankles alone could take
    solver_failures: int  # ticks of recovered runs


class Stander:
    """A robot that stands with a law, to be pushed again and again."""

    def __init__(self, client: Client, law: str) -> None:
        robot = Robot.from_description(talos(), "floating")
        self.q = stance(robot)
        self.plant = make_plant(self.q, pillar=False)
        tasks = TASKS if law == "wholebody" else None
        feet = contacts(hand=False)
        self.session: Session = client.session(law, contacts=feet, tasks=tasks, **LAW_ALONE)
        self.com: Array = robot.center_of_mass(self.q)
        base = "orientation" if law == "wholebody" else "base"
        self._references = {
            "com.position": self.com,
            f"{base}.orientation": self.q[3:7],
            "posture.position": self.q,
        }

    def loop(self, impulse: float, direction: float) -> Loop:
        """Standing again, with a push ahead: N s, degrees."""
        self.plant.reset(self.q, np.zeros(self.plant.robot.nv))
        angle = np.radians(direction)
        force = impulse / LASTS * np.array([np.cos(angle), np.sin(angle), 0.0])
        events = partial(push, force)
        return Loop(self.plant, self.session, lambda t: self._references, events, lambda plant: {})

    @property
    def fallen(self) -> bool:
        return bool(self.plant.q[2] < FALLEN)

    @property
    def recovered(self) -> bool:
        """Whether it stands as it began."""
        robot, q, v = self.plant.robot, self.plant.q, self.plant.v
        off = np.linalg.norm(robot.center_of_mass(q) - self.com)
        speed = np.linalg.norm(robot.centroidal_momentum(q, v)[3:]) / robot.total_mass
        turn = 2.0 * np.linalg.norm(q[3:6])
        return bool(np.all(np.array([off, speed, turn]) < RECOVERED))


def push(force: Array, plant: Plant, t: float) -> None:
    now = START <= t < START + LASTS
    plant.pushes = [Push(PELVIS, force)] if now else []


def run_standing(
    cases: list[tuple[Stander, Loop]], seconds: float, progress: Callable[[], None]
) -> None:
    """All of them side by side, each until it has fallen."""
    for _ in range(round(seconds / PERIOD)):
        standing = [loop for stander, loop in cases if not stander.fallen]
        for loop in standing:
            loop.send()
        for loop in standing:
            loop.receive()
        progress()


def ankle_limit(robot: Robot, q: Array, direction: float) -> float:
    """N s, that a linear pendulum allows in a direction, degrees, for a push that lasts `LASTS`."""
    com, left = robot.center_of_mass(q), robot.frame_pose(q, LEFT)[:3, 3]
    angle = np.radians(direction)
    along = np.array([np.cos(angle), np.sin(angle)])
    half = np.array([SOLE[0], left[1] + SOLE[1]])  # of the rectangle around both soles
    with np.errstate(divide="ignore"):
        distance = ((half - np.sign(along) * com[:2]) / np.abs(along)).min()
    rate = np.sqrt(np.linalg.norm(robot.gravity_vector) / com[2])
    lasting = rate * LASTS / -np.expm1(-rate * LASTS)
    return float(robot.total_mass * rate * distance * lasting)


def search(
    progress: Callable[[], None] = lambda: None,
    laws: tuple[str, ...] = LAWS,
    directions: tuple[float, ...] = DIRECTIONS,
    halvings: int = HALVINGS,
) -> list[Recovered]:
    """The limit of each law in each direction, by bisection."""
    with served(talos(), "floating") as client:
        return [
            item
            for law in laws
            for k in range(0, len(directions), TOGETHER)
            for item in limits(client, law, directions[k : k + TOGETHER], halvings, progress)
        ]


def limits(
    client: Client,
    law: str,
    directions: tuple[float, ...],
    halvings: int,
    progress: Callable[[], None],
) -> list[Recovered]:
    """All directions side by side."""
    standers = [Stander(client, law) for _ in directions]
    bounds = np.tile([MIN_IMPULSE, MAX_IMPULSE], (len(directions), 1))
    failures = np.zeros(len(directions), int)
    for _ in range(halvings):
        middle = bounds.mean(axis=1)
        cases = [
            (stander, stander.loop(impulse, direction))
            for stander, impulse, direction in zip(standers, middle, directions, strict=True)
        ]
        run_standing(cases, SECONDS, progress)
        for k, (stander, loop) in enumerate(cases):
            bounds[k, 0 if stander.recovered else 1] = middle[k]
            if stander.recovered:
                failures[k] += sum(bool(status & SOLVER) for status in loop.rows["status"])
    for stander in standers:
        stander.session.close()
    robot, q = standers[0].plant.robot, standers[0].q
    return [
        Recovered(law, direction, best, fell, ankle_limit(robot, q, direction), int(failed))
        for direction, (best, fell), failed in zip(
            directions, bounds.tolist(), failures, strict=True
        )
    ]


def rows(found: list[Recovered]) -> list[dict[str, str]]:
    """A row per law, a column per direction."""

    def row(name: str, values: dict[float, float]) -> dict[str, str]:
        return {"law": name} | {f"{d:g}°": f"{values[d]:.0f}" for d in sorted(values)}

    table = [
        row(law, {item.direction: item.impulse for item in found if item.law == law})
        for law in dict.fromkeys(item.law for item in found)
    ]
    return [*table, row("ankles alone", {item.direction: item.ankles for item in found})]


def checks(found: list[Recovered]) -> list[results.Check]:
    shares = {
        law: min(item.impulse / item.ankles for item in found if item.law == law)
        for law in dict.fromkeys(item.law for item in found)
    }
    claims = [
        results.at_least(f"{law}: impulse recovered, of what ankles can take", share, SHARE[law])
        for law, share in shares.items()
    ]
    failures = sum(item.solver_failures for item in found)
    return [*claims, results.at_most("ticks without a solution when recovering", failures, BRIDGED)]
