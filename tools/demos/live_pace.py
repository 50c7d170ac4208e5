"""How fast the live demo runs: as fast as the computer's cores allow, the daemon's loop first.

Four processes wake at the robot's rate: the daemon's loop, its ZeroMQ thread, the robot and the
controller. With a core for each they run at 1 kHz; with fewer the robot and its controller run
more slowly, and the loop still ticks at 1 kHz.
"""

from __future__ import annotations

import os
from dataclasses import dataclass
from pathlib import Path

LOOP_RATE = 1000.0  # Hz
#: How much the robot and its controller yield to the daemon; 19 is the most.
NICENESS = 2
#: Asked for; without the right to it the loop runs as other programs do.
PRIORITY = 50

#: From so many cores on: s between steps of the robot, s between requests beside the loop.
PACES = ((4, 0.001, 0.01), (2, 0.002, 0.02), (0, 0.004, 0.05))

CGROUP_LIMIT = Path("/sys/fs/cgroup/cpu.max")


@dataclass(frozen=True)
class Pace:
    """What the processes of the demo do how often."""

    cores: float
    period: float  # s, of the robot and its controller
    pause: float  # s between requests

    def __str__(self) -> str:
        cores = "1 core" if self.cores == 1 else f"{self.cores:g} cores"
        return (
            f"{cores}: loop at {LOOP_RATE:g} Hz, robot and controller at {1 / self.period:g} Hz, "
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
