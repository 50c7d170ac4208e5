"""Which robot the live demo has, what simulates it, and how it moves."""

from __future__ import annotations

import importlib.util
from dataclasses import dataclass, replace

import numpy as np

from torqued.kernels import Robot
from torqued.kernels.model import catalog
from torqued.kernels.model.description import Array, Description
from torqued.tools.demos.models import PANDA_READY, described, panda
from torqued.tools.demos.trajectories import Sines, panda_sines

#: Of its limit, that a torque may need on the way.
MAX_SHARE = 0.5


@dataclass(frozen=True)
class Setup:
    """The robot, what simulates it and where it is to move."""

    name: str
    description: Description
    plant: str  # "mujoco" or "torqued"
    reference: Sines


def choose() -> Setup:
    """The Panda in MuJoCo, or what comes closest with the packages that are installed."""
    plant = "mujoco" if importlib.util.find_spec("mujoco") else "torqued"
    if "panda" in catalog.urdf_files():
        return Setup("panda", panda(), plant, panda_sines(PANDA_READY))
    description = described("chain20")
    robot = Robot.from_description(description)
    swing = np.full(robot.nv, 0.3)
    reference = Sines(hanging(robot), swing, np.linspace(0.3, 0.5, robot.nv))
    while torque_share(robot, reference) > MAX_SHARE:
        reference = replace(reference, amplitude=0.8 * reference.amplitude)
    return Setup("chain20", description, plant, reference)


def hanging(robot: Robot) -> Array:
    """Near where the robot hangs by itself: there its torques have room to move it."""
    q = robot.neutral()
    for _ in range(500):
        g = robot.gravity(q)
        q = robot.integrate(q, -g / (1.0 + np.linalg.norm(g)), 0.05)
    return q


def torque_share(robot: Robot, reference: Sines, seconds: float = 10.0) -> float:
    """The largest torque that a motion needs, relative to its limit."""
    torques = [robot.inverse_dynamics(*reference(t)) for t in np.arange(0.0, seconds, 0.05)]
    return float((np.abs(torques) / robot.limits.effort).max())
