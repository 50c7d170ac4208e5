"""The ticks that `torqued bench wbc` measures: Talos sways on two feet, as the law makes it."""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.common.errors import ModelWarning
from torqued.kernels import Robot
from torqued.kernels.control.wholebody.whole_body import WholeBody
from torqued.kernels.model import catalog

Array = NDArray[np.float64]

FEET = ("left_sole_link", "right_sole_link")
HALF_SIZE = (0.1, 0.06)
FRICTION = 0.4
PERIOD = 1e-3

#: Of the center of mass: m and 1/s, forward, sideways and up. At these, cones and feet's edges
#: are reached in each cycle.
SWAY = ((0.03, 0.9), (0.05, 0.7), (0.03, 1.3))

#: Knees bent: with straight legs feet cannot be held apart.
BENT = {
    "leg_left_3_joint": -0.4,
    "leg_left_4_joint": 0.8,
    "leg_left_5_joint": -0.4,
    "leg_right_3_joint": -0.4,
    "leg_right_4_joint": 0.8,
    "leg_right_5_joint": -0.4,
    "arm_left_2_joint": 0.3,
    "arm_right_2_joint": -0.3,
    "arm_left_4_joint": -1.0,
    "arm_right_4_joint": -1.0,
}


@dataclass(frozen=True)
class Ticks:
    control: WholeBody
    states: list[Array]  # packed: q, v, references
    path: Path  # of the robot's file

    @property
    def size(self) -> str:
        """Of the program, in words."""
        from torqued.kernels.control.wholebody.dense import dense_program

        p = dense_program(self.control, self.states[0])
        equal = int((p.lower == p.upper).sum())
        bounds = int((np.abs(p.lower[: self.control.robot.nv]) < 1e29).sum())
        rows = len(p.A) - equal
        return (
            f"{len(p.f)} variables, {equal} equalities, {rows} inequalities, {bounds} bounds, "
            f"{len(self.states)} ticks"
        )

    def save_for_pinocchio(self, path: Path) -> None:
        """States and references in Pinocchio's order, for another interpreter."""
        import pinocchio as pin

        from torqued.benchmarks.robots import pinocchio_q, velocity_map

        robot = self.control.robot
        model = pin.buildModelFromUrdf(str(self.path), pin.JointModelFreeFlyer())
        order = velocity_map(robot, model)
        q = np.array([pinocchio_q(robot, model, s[: robot.nq]) for s in self.states])
        v = np.zeros((len(q), model.nv))
        for k, state in enumerate(self.states):
            v[k, order] = state[robot.nq : robot.nq + robot.nv]
        start = robot.nq + robot.nv
        com = np.array([s[start : start + 9] for s in self.states])
        np.savez(
            path, urdf=str(self.path), q=q, v=v, com=com, feet=FEET, half=HALF_SIZE, mu=FRICTION
        )


def bent_configuration(robot: Robot) -> Array:
    """Standing with bent knees, soles on the ground."""
    q = robot.neutral()
    for name, value in BENT.items():
        q[7 + robot.joint_names[1:].index(name)] = value
    q[2] -= robot.frame_pose(q, FEET[0])[2, 3]
    return q


def talos_ticks(count: int) -> Ticks:
    """The law in a loop with a robot that does what the law computes."""
    path = catalog.find_file("talos_reduced")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ModelWarning)
        robot = Robot.from_urdf(path, base="floating", mimic="free")
    contacts = [{"frame": foot, "half_size": HALF_SIZE, "friction": FRICTION} for foot in FEET]
    tasks: list[dict[str, Any]] = [
        {"kind": "com"},
        {"kind": "orientation", "frame": "base_link"},
        {"kind": "posture"},
    ]
    control = WholeBody(robot, tasks, contacts)
    q, v = bent_configuration(robot), np.zeros(robot.nv)
    references = control.hold(q)
    rest = references["com.position"]
    states = []
    for k in range(count):
        moved = [sway(amplitude, 2 * math.pi * rate, k * PERIOD) for amplitude, rate in SWAY]
        for word, values in zip(
            ("position", "velocity", "acceleration"), zip(*moved, strict=True), strict=True
        ):
            references[f"com.{word}"] = np.array(values)
        references["com.position"] = rest + references["com.position"]
        states.append(control.pack(q, v, references))
        answer = control.tick(states[-1])
        if answer["status"]:
            raise RuntimeError(f"tick {k}: {answer['violated']} could not be met")
        v = v + PERIOD * answer["a"]
        q = robot.integrate(q, v, PERIOD)
    return Ticks(control, states, Path(path))


def sway(amplitude: float, rate: float, t: float) -> tuple[float, float, float]:
    """Position, velocity and acceleration of a motion that begins at rest."""
    return (
        amplitude * (1.0 - math.cos(rate * t)) / 2.0,
        amplitude * rate * math.sin(rate * t) / 2.0,
        amplitude * rate**2 * math.cos(rate * t) / 2.0,
    )
