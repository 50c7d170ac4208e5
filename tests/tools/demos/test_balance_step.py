"""Balancing takes a step in MuJoCo: a foot is lifted, swings and is placed."""

import numpy as np
import pytest

from torqued.kernels.control import Controller
from torqued.tools.demos.generalize_loop import PERIOD, hold
from torqued.tools.demos.generalize_robots import ROWS, describe, load
from torqued.tools.demos.generalize_stance import stance_of, standing_plant
from torqued.tools.demos.trajectories import quintic

pytestmark = pytest.mark.filterwarnings("ignore::torqued.common.errors.ModelWarning")

#: s: weight goes to the other feet, the foot is unloaded, swings, and takes weight again.
SHIFT, UNLOAD, SWING, SETTLE = 1.0, 0.2, 1.2, 1.0
#: Of a leg's length: how high and how far.
HEIGHT, LENGTH = 0.1, 0.12


class Step:
    """References of one step with the first leg."""

    def __init__(self, robot, stance, controller):
        self.hold = hold(controller, robot, "", stance.q)
        self.frame = stance.legs[0].frame
        places = [robot.frame_pose(stance.q, leg.frame)[:3, 3] for leg in stance.legs]
        size = stance.legs[0].length
        self.lift, self.way = HEIGHT * size, np.array([LENGTH * size, 0.0, 0.0])
        self.start = self.hold["frame.position"].copy()
        self.com = self.hold["com.position"].copy()
        self.over = self.com.copy()
        self.over[:2] = np.mean(places[1:], axis=0)[:2]
        if len(places) > 2:  # no more than a triangle of feet needs
            self.over[:2] = self.com[:2] + 0.6 * (self.over[:2] - self.com[:2])

    def __call__(self, t):
        feet = len(self.hold["active"])
        share = quintic(t / SHIFT)[0]
        begin, end = SHIFT + UNLOAD, SHIFT + UNLOAD + SWING
        s, rate, _ = quintic((t - begin) / SWING)
        up = 16.0 * s**2 * (1.0 - s) ** 2
        slope = 32.0 * s * (1.0 - s) * (1.0 - 2.0 * s)
        found = dict(self.hold)
        found["com.position"] = self.com + share * (self.over - self.com)
        found["frame.position"] = self.start + s * self.way + [0.0, 0.0, up * self.lift]
        moves = (rate / SWING) * (self.way + np.array([0.0, 0.0, slope * self.lift]))
        found["frame.velocity"] = np.concatenate([np.zeros(3), moves])
        found["active"], found["max_force"] = np.ones(feet), np.full(feet, 1e30)
        if SHIFT <= t < begin:
            found["max_force"][0] = 1e3 * (begin - t) / UNLOAD
        found["active"][0] = 0.0 if begin <= t < end else 1.0
        return found


@pytest.mark.parametrize(
    "name", ["go2", *(pytest.param(name, marks=pytest.mark.slow) for name in ("solo12", "laikago"))]
)
def test_a_foot_is_lifted_swings_and_is_placed(name):
    row = next(item for item in ROWS if item.name == name and item.kind != "arm")
    described = describe(row)
    robot = load(described, "floating")
    stance = stance_of(robot, described, row.kind == "biped")
    frame = stance.legs[0].frame
    tasks = [{"kind": "frame", "frame": frame}]
    if not stance.flat:  # a ball: how it is turned is up to the leg
        tasks[0]["axes"] = [0, 0, 0, 1, 1, 1]
    controller = Controller(robot, "balance", contacts=stance.contacts, tasks=tasks)
    controller.stabilize(PERIOD)
    step, plant = Step(robot, stance, controller), standing_plant(described, stance)
    plant.reset(stance.q, np.zeros(robot.nv))
    heights, lowest = [], np.inf
    for k in range(round((SHIFT + UNLOAD + SWING + SETTLE) / PERIOD)):
        q = plant.q
        controller.tick(q, plant.v, PERIOD, step(k * PERIOD))
        plant.step(controller.split(controller.data.out)["tau"].copy(), PERIOD)
        heights.append(robot.frame_pose(q, frame)[2, 3])
        lowest = min(lowest, q[2])
    assert max(heights) - heights[0] > 0.6 * step.lift  # it was in the air
    moved = robot.frame_pose(plant.q, frame)[:3, 3] - step.start
    np.testing.assert_allclose(moved, step.way, atol=0.25 * step.way[0])
    assert abs(moved[2]) < 5e-3  # and is on the floor again
    assert lowest > 0.9 * stance.height
    off = robot.center_of_mass(plant.q) - step.over
    assert np.linalg.norm(off) < 0.05
    assert np.abs(plant.v).max() < 0.2  # it stands again
