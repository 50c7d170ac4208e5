"""The simulated robot of the live demo: a process with its own clock.

It moves on whether a torque comes or not, and holds the last one until then, like a real drive. On
a busy computer the robot's clock stops: for the time that it is late beyond `MAX_LAG`, and while
its torque is older than `OLDEST_TORQUE`. The report says how long.

Its bus stands for the field bus of a real robot: raw float64, a message per step. A state is
[time s, q, v], a torque [time of the state that it was computed from, tau]; an empty message ends
the run.
"""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import zmq

from torqued.kernels import Robot
from torqued.kernels.model.catalog import describe
from torqued.kernels.model.description import Array, Description

#: Periods of the robot.
MAX_LAG = 5
OLDEST_TORQUE = 6
#: s to wait for a torque from the controller, which waits for the daemon.
MAX_WAIT = 300.0
#: Messages that wait on the bus before new ones are lost.
QUEUE = 4


@contextmanager
def bus(endpoint: str, *, bind: bool) -> Iterator[zmq.Socket[bytes]]:
    """One end of the bus."""
    context: zmq.Context[Any] = zmq.Context()
    try:
        socket: zmq.Socket[bytes] = context.socket(zmq.PAIR)
        socket.sndhwm = socket.rcvhwm = QUEUE
        (socket.bind if bind else socket.connect)(endpoint)
        yield socket
    finally:
        context.destroy(linger=200)


def put(socket: zmq.Socket[bytes], time: float, *values: Array) -> bool:
    """Send; False where the other side is too slow to take it."""
    try:
        socket.send(np.concatenate([[time], *values]).tobytes(), zmq.DONTWAIT)
    except zmq.Again:
        return False
    return True


def newest(socket: zmq.Socket[bytes], timeout: float) -> Array | None:
    """The newest message that has come, or that comes within `timeout` s; empty: the end."""
    if not socket.poll(round(timeout * 1000)):
        return None
    message = socket.recv()
    while message and socket.poll(0):
        message = socket.recv()
    return np.frombuffer(message, np.float64)


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

        return Plant(describe(urdf))
    return OwnPlant(describe(urdf))


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
