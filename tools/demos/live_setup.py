"""What the live demo runs: its robot, what simulates it, how it moves, and how often.

Four processes wake at the robot's rate: the daemon's loop, its ZeroMQ thread, the robot and the
controller. With a core for each they run at 1 kHz; with fewer the robot and its controller run
more slowly, and the loop still ticks at 1 kHz.
"""

from __future__ import annotations

import importlib.util
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from torqued.kernels import Robot
from torqued.kernels.model import catalog
from torqued.kernels.model.description import Array, Description
from torqued.tools.demos.daemon import RATE
from torqued.tools.demos.models import PANDA_READY, panda
from torqued.tools.demos.trajectories import Sines, panda_sines

#: Of its limit, that a torque may need on the way.
MAX_SHARE = 0.5
#: How much the robot and its controller yield to the daemon; 19 is the most.
NICENESS = 2
#: Asked for; without the right to it the loop runs as other programs do.
PRIORITY = 50

#: From so many cores on: s between steps of the robot, s between requests beside the loop.
PACES = ((4, 0.001, 0.01), (2, 0.002, 0.02), (0, 0.004, 0.05))

CGROUP_LIMIT = Path("/sys/fs/cgroup/cpu.max")


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
    description = catalog.describe("chain20")
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


@dataclass(frozen=True)
class Pace:
    """What the processes of the demo do how often."""

    cores: float
    period: float  # s, of the robot and its controller
    pause: float  # s between requests

    def __str__(self) -> str:
        cores = "1 core" if self.cores == 1 else f"{self.cores:g} cores"
        return (
            f"{cores}: loop at {RATE:g} Hz, robot and controller at {1 / self.period:g} Hz, "
            f"{1 / self.pause:g} requests a second"
        )


def pace(cores: float) -> Pace:
    """The pace for so many cores."""
    period, pause = next(how_often for least, *how_often in PACES if cores >= least)
    return Pace(cores, period, pause)


def usable_cores(limit: Path = CGROUP_LIMIT) -> float:
    """Cores that this process may use: those it may run on, or its container's share of them."""
    cores = float(len(os.sched_getaffinity(0)))
    try:
        quota, period = limit.read_text().split()
        return min(cores, float(quota) / float(period))
    except (OSError, ValueError):  # no such file, or "max": no limit
        return cores
