"""One session from standing to leaning on a pillar with one foot in the air, and back."""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.client import Client
from torqued.kernels import Robot
from torqued.kernels.model.description import Array
from torqued.server.demos.humanoid_plan import Change, Hold, Move, Track
from torqued.server.demos.humanoid_robot import (
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
from torqued.server.demos.lockstep import Loop
from torqued.server.demos.plant import Plant

#: Names and begins of what is shown, s.
PHASES = {
    "two feet": 0.0,
    "shift to the left": 0.8,
    "lift the right foot": 2.2,
    "one foot": 3.5,
    "put it down": 4.5,
    "hand to the pillar": 6.6,
    "lean over the toes": 8.2,
    "lift the right foot again": 9.8,
    "hand and one foot": 11.0,
    "foot down, stand up": 12.0,
    "two feet again": 15.4,
}
SECONDS = 16.0
#: m: how high the foot goes, and how far below the floor or behind the pillar's face a contact is
#: sought.
HEIGHT, SEARCH = 0.12, 0.01
#: m, of the centre of mass before the stance foot's middle: 3 cm beyond the toes.
LEAN = SOLE[0] + 0.03
#: N, the most that the hand is to press with.
LIGHT = 40.0

TASKS: list[dict[str, Any]] = [
    {"kind": "com"},
    {"kind": "orientation", "frame": PELVIS, "name": "pelvis"},
    {"kind": "frame", "frame": RIGHT, "name": "foot"},
    {"kind": "point", "frame": HAND, "point": FIST.tolist(), "name": "hand"},
    {"kind": "posture", "weight": 0.01},
]


class Story:
    """References at each time, from the plan and what soles and hand feel."""

    def __init__(self, plant: Plant, q: Array) -> None:
        robot, self.plant, self.q = plant.robot, plant, q
        com = robot.center_of_mass(q)
        left, right = (robot.frame_pose(q, name)[:3, 3] for name in (LEFT, RIGHT))
        fist = robot.frame_pose(q, HAND, FIST)[:3, 3]
        self.toes = float(left[0] + SOLE[0])  # m, along x
        over = tuple((left - com) * [1.0, 1.0, 0.0])
        back = tuple(-x for x in over)
        grip = GRIP + [SEARCH - BALL, 0.0, 0.0] - fist
        before, onto = grip * [0.6, 1.0, 1.0], grip * [0.4, 0.0, 0.0]
        up, down = (0.0, 0.0, HEIGHT), (0.0, 0.0, -HEIGHT - SEARCH)
        again = (0.0, 0.0, HEIGHT + SEARCH)
        lean = (over[0] + LEAN, over[1], 0.0)
        self.com = Track(
            com,
            (
                Move(0.8, 1.4, over),
                Move(5.4, 1.2, back),
                Move(8.2, 1.6, lean),
                Move(13.1, 1.6, tuple(-x for x in lean)),
            ),
        )
        self.foot = Track(
            right,
            (Move(2.6, 0.9, up), Move(4.5, 0.8, down), Move(10.2, 0.8, again), Move(12.0, 0.8, down)),
        )
        self.hand = Track(
            fist,
            (
                Move(6.6, 1.0, tuple(before)),
                Move(7.0, 0.8, tuple(onto)),
                Move(14.7, 0.7, (-0.10, 0.0, 0.0)),
            ),
        )
        weight = robot.total_mass * 9.81
        self.holds = [
            Hold((), 2.0 * weight, lambda: plant.force_on(LEFT)[2]),
            Hold(
                (Change(2.2, False), Change(5.0, True), Change(9.8, False), Change(12.5, True)),
                2.0 * weight,
                lambda: plant.force_on(RIGHT)[2],
            ),
            Hold(
                (Change(7.4, True, 0.5), Change(14.2, False, 0.5)),
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


def measure(plant: Plant) -> dict[str, Array]:
    """What is recorded beside the state: forces on soles and hand, and where they are."""
    q = plant.q
    return {
        "felt": np.array([plant.force_on(name) for name in (LEFT, RIGHT, HAND)]),
        "com": plant.robot.center_of_mass(q),
        "places": np.array([plant.point(LEFT), plant.point(RIGHT), plant.point(HAND, FIST)]),
    }


def loop(client: Client) -> tuple[Loop, Story]:
    """The whole experiment is one session that is opened once."""
    robot = Robot.from_description(talos(), "floating")
    q = stance(robot)
    plant = make_plant(q)
    story = Story(plant, q)
    session = client.session("wholebody", tasks=TASKS, contacts=contacts())
    return Loop(plant, session, story, measure=measure), story
