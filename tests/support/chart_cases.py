"""What tests of charts share: names, robots, and the same base built from other joints."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from oracles.literal_tree import Base, root_link
from support.cases import GRAVITY, random_case
from support.random_trees import ALL_TYPES, random_tree
from support.robots import load_real, robot_urdfs
from torqued.kernels import Robot
from torqued.kernels.charts import CHARTS, Chart
from torqued.kernels.charts.charted_robot import ChartedRobot
from torqued.kernels.model.description import Array, Description, Joint, Link

NAMES = tuple(CHARTS)

#: Charts whose velocities are the rates of all coordinates of the base.
RATES = ("rpy", "quaternion", "rotation_matrix")
REDUNDANT = ("quaternion", "rotation_matrix")


@dataclass(frozen=True)
class ChartCase:
    """A robot with a state in a chart, and the same state natively."""

    robot: Robot
    name: str
    q: Array
    v: Array
    a: Array
    native_q: Array
    native_v: Array

    @property
    def chart(self) -> Chart:
        return self.robot.chart(self.name)

    @property
    def charted(self) -> ChartedRobot:
        """The robot in the chart's coordinates."""
        return self.robot.in_coordinates(self.name)

    def moved(self, time: float) -> Array:
        """The chart's q after keeping v for some time."""
        return self.charted.integrate(self.q, self.v, time)

    @property
    def step(self) -> float:
        """For finite differences along `moved`."""
        return 0.05 / max(1.0, float(np.abs(self.native_v).sum()))


def in_chart(robot: Robot, name: str, q: Array, v: Array, rng: np.random.Generator) -> ChartCase:
    chart = robot.chart(name)
    own_v = chart.velocity_from_native(q, v)
    a = chart.acceleration_from_native(q, v, rng.normal(size=robot.nv))
    return ChartCase(robot, name, chart.from_native(q), own_v, a, q, v)


def random_chart_case(name: str, seed: int, base: Base = "floating") -> ChartCase:
    """A tree of all kinds of joints, every other one with mimics."""
    case = random_case(seed, 8, base, ALL_TYPES, mimics=bool(seed % 2))
    return in_chart(case.robot, name, case.q, case.v, case.rng)


def real(name: str, base: Base = "floating", **options: str) -> Robot:
    path = next(path for path in robot_urdfs() if path.stem == name)
    return load_real(path, base, **options)


#: Types of [BK12]'s mechanisms.
SIMPLE = ("fixed", "revolute", "continuous", "prismatic")


def simple_tree(seed: int, bodies: int = 6) -> Description:
    return random_tree(np.random.default_rng(seed), bodies, SIMPLE)


def with_base_joints(description: Description, turn: str) -> Robot:
    """A robot whose floating base is a translation and then a joint of the type `turn`."""
    root = root_link(description)
    joints = (
        Joint("!position", "translation", "!ground", "!carrier"),
        Joint("!turn", turn, "!carrier", root),
        *description.joints,
    )
    links = (Link("!ground"), Link("!carrier"), *description.links)
    return Robot.from_description(
        replace(description, links=links, joints=joints), "fixed", gravity=GRAVITY
    )
