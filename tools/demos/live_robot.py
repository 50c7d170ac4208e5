"""The simulated robot of the live demo: a process with a clock of its own.

It moves on whether a torque comes or not, and holds the last one until then, like a real drive. On
a computer that gives a process no time for long, the robot's clock stops: for what it is late more
than `MAX_LAG`, and while its torque is older than `OLDEST_TORQUE`. The report says how long.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

from torqued.kernels import Robot
from torqued.kernels.model.description import Array, Description
from torqued.tools.demos.live_wire import bus, newest, put
from torqued.tools.demos.models import described

#: Periods of the robot.
MAX_LAG = 5
OLDEST_TORQUE = 6
#: s to wait for a torque from the controller, which waits for the daemon.
MAX_WAIT = 300.0


class OwnPlant:
    """The robot where MuJoCo is not installed: `q`, `v`, `time` and `step` as in `plant.Plant`.

    It proves less, because robot and controller then share their equations; the demo says so.
    """

    def __init__(self, description: Description, base: str = "fixed") -> None:
        self.robot = Robot.from_description(description, base)
        self.reset(self.robot.neutral(), np.zeros(self.robot.nv))

    def reset(self, q: Any, v: Any, time: float = 0.0) -> None:
        self.q: Array = np.array(q, float)
        self.v: Array = np.array(v, float)
        self.time = time

    def step(self, tau: Array, seconds: float = 1e-3) -> None:
        """Hold a torque (nv,) for a time."""
        moved = self.robot.simulate(self.q, self.v, tau, seconds, dt=seconds)
        self.q, self.v = moved.q[-1], moved.v[-1]
        self.time += seconds


def make_plant(urdf: str, kind: str) -> Any:
    """MuJoCo's robot, or the one of torqued's own equations."""
    if kind == "mujoco":
        from torqued.tools.demos.plant import Plant

        return Plant(described(urdf))
    return OwnPlant(described(urdf))


def simulate(
    plant: Any, endpoint: str, period: float, seconds: float, folder: Path
) -> dict[str, Array]:
    """What happened, a row per step; files in the folder say how far it is."""
    steps, nv = round(seconds / period), len(plant.v)
    log = {
        "time": np.zeros(steps),
        "q": np.zeros((steps, len(plant.q))),
        "v": np.zeros((steps, nv)),
        "tau": np.zeros((steps, nv)),
        "delay": np.zeros(steps),  # s from a state to the use of its torque
    }
    held, halted = 0, 0.0
    with bus(endpoint, bind=True) as socket:
        (folder / "robot_ready").touch()
        command = wait_for_torque(plant, socket, 0.0)
        (folder / "robot_moves").touch()
        start = time.monotonic()
        for k in range(steps):
            lag = time.monotonic() - (start + k * period)
            if lag < 0.0:
                time.sleep(-lag)
            elif lag > MAX_LAG * period:
                start += lag
                halted += lag
            fresh = newest(socket, 0.0)
            if fresh is None:
                held += 1
            elif len(fresh) == 0:
                raise RuntimeError("the controller ended")
            else:
                command = fresh
            now = plant.time
            if now - command[0] > OLDEST_TORQUE * period:
                command = wait_for_torque(plant, socket, now - OLDEST_TORQUE * period)
            row = {"time": now, "q": plant.q, "v": plant.v, "delay": now - command[0]}
            for name, value in {**row, "tau": command[1:]}.items():
                log[name][k] = value
            plant.step(command[1:], period)
            put(socket, plant.time, plant.q, plant.v)
        socket.send(b"")
    return {**log, "held": np.array(held), "halted": np.array(halted)}


def wait_for_torque(plant: Any, socket: Any, oldest: float) -> Array:
    """A torque for a state of time `oldest` or later; the robot's clock stands still meanwhile."""
    deadline = time.monotonic() + MAX_WAIT
    while time.monotonic() < deadline:
        put(socket, plant.time, plant.q, plant.v)
        command = newest(socket, 0.01)
        if command is not None and len(command) and command[0] >= oldest:
            return command
    raise RuntimeError(f"no torque from a controller within {MAX_WAIT:g} s")


def main(argument: str) -> None:
    task = json.loads(argument)
    plant = make_plant(task["urdf"], task["plant"])
    plant.reset(np.array(task["q"]), np.zeros(len(plant.v)))
    log = simulate(plant, task["bus"], task["period"], task["seconds"], Path(task["folder"]))
    np.savez(Path(task["result"]), allow_pickle=False, **log)


if __name__ == "__main__":
    main(sys.argv[1])
