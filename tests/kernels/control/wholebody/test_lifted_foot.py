"""Standing on one foot in MuJoCo with default gains: the lifted foot and the hands arrive."""

from __future__ import annotations

from collections import deque
from typing import Any

import numpy as np
import pytest

from torqued.kernels.control import Controller
from torqued.kernels.control.wholebody.parsing import DEFAULT_GAINS
from torqued.tools.demos.generalize_robots import Row, describe, load
from torqued.tools.demos.generalize_stance import stance_of, standing_plant

PERIOD, DELAY = 1e-3, 2
#: s: the center of mass is over one foot, the other one is let go, it is lifted, the end.
SHIFTED, RELEASED, LIFTED, SECONDS = 1.5, 1.9, 3.0, 4.5
HEIGHT = 0.06  # m
REACH = np.array([0.06, 0.0, 0.08])  # of the height of the base, that hands move
ROBOTS = {
    "talos": ("gripper_left_motor_double_link", "gripper_right_motor_double_link"),
    "icub": ("l_hand", "r_hand"),
}


def smooth(x: float) -> float:
    x = min(max(x, 0.0), 1.0)
    return x**3 * (10.0 - 15.0 * x + 6.0 * x * x)


@pytest.mark.parametrize("name", ROBOTS)
def test_lifted_foot_and_hands_reach_their_references(name):
    description = describe(Row(name, "biped"))
    robot = load(description, "floating")
    stance = stance_of(robot, description, True)
    plant, q = standing_plant(description, stance), stance.q
    stays, foot, hands = stance.legs[0].frame, stance.legs[1].frame, ROBOTS[name]
    root = next(iter({x.name for x in description.links} - {x.child for x in description.joints}))
    tasks: list[dict[str, Any]] = [
        {"kind": "com"},
        {"kind": "orientation", "frame": root},
        {"kind": "posture"},
        {"kind": "frame", "frame": foot, "name": "foot"},
        *({"kind": "point", "frame": hand, "name": hand} for hand in hands),
    ]
    controller = Controller(robot, "wholebody", tasks=tasks, contacts=stance.contacts)
    controller.stabilize(PERIOD)

    def place(frame: str) -> np.ndarray:
        return np.array(robot.frame_pose(plant.q, frame)[:3, 3])

    plant.reset(q, np.zeros(robot.nv))
    com, start = robot.center_of_mass(q), {frame: place(frame) for frame in (foot, *hands)}
    over = np.append(place(stays)[:2] - com[:2], 0.0)
    weight, reach = 9.81 * robot.total_mass, REACH * stance.height

    def references(t: float) -> dict[str, Any]:
        up = np.array([0.0, 0.0, HEIGHT * smooth((t - RELEASED) / (LIFTED - RELEASED))])
        left = (RELEASED - t) / (RELEASED - SHIFTED)
        return {
            "com.position": com + over * smooth(t / SHIFTED),
            "foot.position": start[foot] + up,
            "active": np.array([1.0, float(t < RELEASED)]),
            "max_force": np.array([1e5, 1e5 if t < SHIFTED else weight * max(0.0, left)]),
            **{f"{x}.position": start[x] + reach * smooth(t / SHIFTED) for x in hands},
        }

    late: deque[np.ndarray] = deque()
    for k in range(round(SECONDS / PERIOD)):
        out = controller.step(plant.q, plant.v, PERIOD, **references(k * PERIOD))
        late.extend([out.tau] * (1 if late else DELAY + 1))
        plant.step(late.popleft(), PERIOD)
    assert (place(foot)[2] - start[foot][2]) / HEIGHT > 0.95
    for hand in hands:
        assert np.linalg.norm(place(hand) - start[hand] - reach) < 3e-3
    assert np.linalg.norm(robot.center_of_mass(plant.q) - com - over) < 3e-3


def test_posture_yields_to_tasks_that_place_frames_and_to_no_others():
    description = describe(Row("g1", "biped"))
    robot = load(description, "floating")
    posture, frame = {"kind": "posture"}, description.links[0].name

    def weight(*tasks: dict[str, Any]) -> float:
        return float(Controller(robot, "wholebody", tasks=list(tasks)).gains["posture.weight"][0])

    usual = DEFAULT_GAINS["posture"][0]
    assert weight(posture, {"kind": "com"}, {"kind": "orientation", "frame": frame}) == usual
    assert weight(posture, {"kind": "point", "frame": frame}) < 0.1 * usual
    assert weight({**posture, "weight": 0.3}, {"kind": "point", "frame": frame}) == 0.3
