"""One session from standing to leaning on a pillar with one foot in the air, and back.

A track is the path of a point, a sum of quintic moves. A hold is the plan of a contact: times at
which it is released or taken, with its largest force going down or up smoothly. It counts as taken
when the plan says so and a force is measured, and not before.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from torqued.client import Client
from torqued.kernels import Robot
from torqued.kernels.model.description import Array
from torqued.tools.demos.humanoid_robot import (
    BALL,
    FIST,
    GRIP,
    HAND,
    LEFT,
    PELVIS,
    RIGHT,
    SOLE,
    contacts,
    make_plant,
    stance,
    talos,
)
from torqued.tools.demos.lockstep import LAW_ALONE, Loop
from torqued.tools.demos.plant import Plant
from torqued.tools.demos.trajectories import quintic

#: Names and begins of what is shown, s.
PHASES = {
    "two feet": 0.0,
    "shift to the left": 0.8,
    "lift the right foot": 2.2,
    "one foot": 3.5,
    "put it down": 4.5,
    "hand to the pillar": 6.8,
    "lean over the toes": 8.2,
    "lift the foot again": 9.8,
    "hand and one foot": 11.0,
    "come back": 12.0,
    "two feet again": 15.4,
}
SECONDS = 16.0
#: m: how high the foot goes, and how far below the floor or behind the pillar's face a contact is
#: sought, slowly and from as far before it.
HEIGHT, SEARCH = 0.12, 0.005
#: m, of the center of mass before the stance foot's middle: 3 cm beyond the toes.
LEAN = SOLE[0] + 0.03
#: N, the largest force of the hand, and the force at which a contact counts as felt.
LIGHT, FELT = 40.0, 3.0

TASKS: list[dict[str, Any]] = [
    {"kind": "com"},
    {"kind": "orientation", "frame": PELVIS, "name": "pelvis"},
    {"kind": "frame", "frame": RIGHT, "name": "foot"},
    {"kind": "point", "frame": HAND, "point": FIST.tolist(), "name": "hand"},
    {"kind": "posture", "weight": 0.01},
]


@dataclass(frozen=True)
class Move:
    """From `start` s on, within `lasts` s, `way` (3,) m further."""

    start: float
    lasts: float
    way: Array


@dataclass(frozen=True)
class Track:
    """A point that begins at `origin` (3,) m and makes its moves."""

    origin: Array
    moves: tuple[Move, ...]

    def __call__(self, t: float) -> tuple[Array, Array, Array]:
        """Position, velocity and acceleration (3,) each."""
        total = np.zeros((3, 3))
        for move in self.moves:
            share = np.array(quintic((t - move.start) / move.lasts))
            share /= move.lasts ** np.arange(3)
            total += np.outer(share, move.way)
        return self.origin + total[0], total[1], total[2]


@dataclass(frozen=True)
class Change:
    """At `start` s a contact is made or released; its largest force changes within `lasts` s."""

    start: float
    take: bool
    lasts: float = 0.3


@dataclass
class Hold:
    """A contact: whether the law may use it, and up to which force."""

    changes: tuple[Change, ...]
    full: float  # N, the largest force of a contact that is taken
    felt: Callable[[], float]  # N, measured normal force
    active: bool = True
    _done: int = 0  # changes that are over
    _since: float = field(default=-np.inf)  # s, when the present change began in fact
    _from: float = 0.0  # N, largest force at that time
    most: float = field(init=False)

    def __post_init__(self) -> None:
        self.most = self.full if self.active else 0.0

    def update(self, t: float) -> None:
        """To be called once a step, with the time in s."""
        if self._done == len(self.changes) or t < self.changes[self._done].start:
            return
        change = self.changes[self._done]
        if change.take and not self.active:
            if self.felt() < FELT:
                return  # not there yet
            self.active = True
        if self._since < change.start:
            self._since = t
            self._from = min(self.most, self.felt())
        share = quintic((t - self._since) / change.lasts)[0]
        target = self.full if change.take else 0.0
        self.most = self._from + share * (target - self._from)
        if t >= self._since + change.lasts:
            self.active = change.take
            self._done += 1


class Story:
    """References at each time, from the plan and what soles and hand feel."""

    def __init__(self, plant: Plant, q: Array) -> None:
        robot, self.plant, self.q = plant.robot, plant, q
        com = robot.center_of_mass(q)
        left, right = (robot.frame_pose(q, name)[:3, 3] for name in (LEFT, RIGHT))
        fist = robot.frame_pose(q, HAND, FIST)[:3, 3]
        self.toes = float(left[0] + SOLE[0])  # m, along x
        self.grip = float(GRIP[0] - BALL)  # m, along x, of a hand that touches
        forward, above = np.eye(3)[[0, 2]]
        over = (left - com) * (1.0, 1.0, 0.0)
        lean = over + LEAN * forward
        touch = GRIP - (BALL + SEARCH) * forward - fist
        up, down = HEIGHT * above, (SEARCH - HEIGHT) * above
        onto_floor = -2.0 * SEARCH * above
        self.com = Track(
            com,
            (
                Move(0.8, 1.4, over),
                Move(5.6, 1.2, -over),
                Move(8.2, 1.6, lean),
                Move(13.2, 1.6, -lean),
            ),
        )
        self.foot = Track(
            right,
            (
                Move(2.6, 0.9, up),
                Move(4.5, 0.7, down),
                Move(5.0, 0.5, onto_floor),
                Move(10.2, 0.8, up + SEARCH * above),
                Move(12.0, 0.7, down),
                Move(12.5, 0.5, onto_floor),
            ),
        )
        self.hand = Track(
            fist,
            (
                Move(6.8, 0.8, touch),
                Move(7.4, 0.7, 2.0 * SEARCH * forward),
                Move(14.7, 0.7, -0.10 * forward),
            ),
        )
        weight = robot.total_mass * 9.81
        self.holds = [
            Hold((), 2.0 * weight, lambda: plant.force_on(LEFT)[2]),
            Hold(
                (
                    Change(2.2, False),
                    Change(5.1, True, 0.4),
                    Change(9.8, False),
                    Change(12.6, True, 0.4),
                ),
                2.0 * weight,
                lambda: plant.force_on(RIGHT)[2],
            ),
            Hold(
                (Change(7.4, True, 0.5), Change(14.3, False, 0.4)),
                LIGHT,
                lambda: -plant.force_on(HAND)[0],
                active=False,
            ),
        ]
        self.upright = q[3:7].copy()
        turn = robot.frame_pose(q, RIGHT)[:3, :3]
        if not np.allclose(turn, np.eye(3), atol=1e-6):
            raise ValueError("soles are not level in the stance")

    def __call__(self, t: float) -> dict[str, Any]:
        for hold in self.holds:
            hold.update(t)
        com, foot, hand = (track(t) for track in (self.com, self.foot, self.hand))
        still = np.zeros(3)
        return {
            "com.position": com[0],
            "com.velocity": com[1],
            "com.acceleration": com[2],
            "pelvis.orientation": self.upright,
            "foot.position": foot[0],
            "foot.orientation": np.array([0.0, 0.0, 0.0, 1.0]),
            "foot.velocity": np.concatenate([still, foot[1]]),
            "foot.acceleration": np.concatenate([still, foot[2]]),
            "hand.position": hand[0],
            "hand.velocity": hand[1],
            "hand.acceleration": hand[2],
            "posture.position": self.q,
            "active": np.array([float(hold.active) for hold in self.holds]),
            "max_force": np.array([hold.most for hold in self.holds]),
        }

    def measure(self, plant: Plant) -> dict[str, Array]:
        """What is recorded beside the state; contacts in the order left sole, right sole, hand."""
        return {
            "com": plant.robot.center_of_mass(plant.q),
            "felt": np.array([plant.force_on(name) for name in (LEFT, RIGHT, HAND)]),
            "places": np.array([plant.point(LEFT), plant.point(RIGHT), plant.point(HAND, FIST)]),
            "active": np.array([hold.active for hold in self.holds]),
        }


def loop(client: Client) -> tuple[Loop, Story]:
    """The whole experiment is one session that is opened once."""
    robot = Robot.from_description(talos(), "floating")
    q = stance(robot)
    plant = make_plant(q)
    story = Story(plant, q)
    session = client.session("wholebody", tasks=TASKS, contacts=contacts(), **LAW_ALONE)
    return Loop(plant, session, story, measure=story.measure), story
