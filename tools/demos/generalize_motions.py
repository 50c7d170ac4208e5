"""Where arms are tried: a pose to begin from, a motion, jumps, a stretch; found for any arm."""

from __future__ import annotations

import numpy as np

from torqued.kernels import Robot
from torqued.kernels.model.description import Array
from torqued.tools.demos.trajectories import Sines, quintic

SAMPLES = 400
#: Poses are taken from the middle of a joint's range.
MIDDLE = 0.6
#: Shares of effort and speed limits that weight alone, and the motion to be tracked, may take.
WEIGHT, TORQUE, SPEED = 0.4, 0.6, 0.4
AMPLITUDE, ROOM = 0.3, 0.2  # rad, and of the range
JUMP = 1.0  # rad
#: m of a reference beyond what the arm reaches, relative to its reach.
BEYOND = 1.15
#: s: out, held there, back.
OUT, THERE, BACK = 1.0, 0.4, 1.0
STRETCH_SECONDS = OUT + THERE + BACK + 0.4


def ranges(robot: Robot) -> tuple[Array, Array]:
    """Lower and upper ends (nv,), ± π where there are none."""
    lower, upper = robot.limits.lower, robot.limits.upper
    return np.where(np.isfinite(lower), lower, -np.pi), np.where(np.isfinite(upper), upper, np.pi)


def ready_pose(robot: Robot, frame: str, effort: Array) -> Array:
    """Away from ends of joints, easily held, and the frame moves well in all directions."""
    rng = np.random.default_rng(2)
    lower, upper = ranges(robot)
    middle = 0.5 * (lower + upper)
    best, score = middle, -np.inf
    for _ in range(SAMPLES):
        q = middle + MIDDLE * (robot.random_state(rng)[0] - middle)
        load = float((np.abs(robot.gravity(q)) / effort).max())
        sizes = np.linalg.svd(robot.frame_jacobian(q, frame), compute_uv=False)
        moves = float(np.log(sizes[: min(6, robot.nv)] + 1e-9).sum())
        value = moves - 100.0 * max(0.0, load - WEIGHT)
        if value > score:
            best, score = q, value
    return best


def motion(robot: Robot, center: Array, effort: Array) -> Sines:
    """Each joint swings; slower and less until neither speeds nor torques come near limits."""
    lower, upper = ranges(robot)
    n = robot.nv
    room = np.minimum(ROOM * (upper - lower), np.minimum(upper - center, center - lower))
    amplitude = np.minimum(AMPLITUDE, np.maximum(0.8 * room, 0.0))
    frequency = np.linspace(0.4, 0.6, n)
    peak = amplitude * 2 * np.pi * frequency
    amplitude = amplitude * np.minimum(1.0, SPEED * robot.limits.velocity / np.maximum(peak, 1e-9))
    for _ in range(20):
        swing = Sines(center, amplitude, frequency)
        torques = [robot.inverse_dynamics(*swing(t)) for t in np.linspace(0.0, 4.0, 81)]
        if (np.abs(torques).max(axis=0) <= TORQUE * effort).all():
            break
        amplitude = 0.8 * amplitude
    return swing


def jumped(robot: Robot, q: Array) -> Array:
    """Every joint by 1 rad at once towards the middle of its range, as far as that allows."""
    lower, upper = ranges(robot)
    middle = 0.5 * (lower + upper)
    sign = np.where(q <= middle, 1.0, -1.0)
    margin = 0.05 * (upper - lower)
    return np.clip(q + sign * JUMP, np.minimum(lower + margin, q), np.maximum(upper - margin, q))


def stretched_pose(robot: Robot, frame: str, effort: Array) -> Array:
    """q = 0 within limits, where most arms are stretched, or the pose with the least mobility."""
    rng = np.random.default_rng(5)
    lower, upper = ranges(robot)
    candidates = [np.clip(robot.neutral(), lower, upper)]
    candidates += [robot.random_state(rng)[0] for _ in range(SAMPLES)]

    def least(q: Array) -> float:
        sizes = np.linalg.svd(robot.frame_jacobian(q, frame), compute_uv=False)
        heavy = float((np.abs(robot.gravity(q)) / effort).max()) > TORQUE
        return float(sizes[min(6, robot.nv) - 1]) + (1e3 if heavy else 0.0)

    return min(candidates, key=least)


class Stretch:
    """The frame's place goes straight out to where the arm cannot follow, and back."""

    def __init__(self, robot: Robot, frame: str, q: Array) -> None:
        rng = np.random.default_rng(3)
        start: Array = robot.frame_pose(q, frame)[:3, 3]
        shoulder = pivot(robot, frame, q)
        away = start - shoulder
        distance = float(np.linalg.norm(away))
        self.start = start
        self.reach = max(
            float(np.linalg.norm(robot.frame_pose(p, frame)[:3, 3] - shoulder))
            for p in [robot.random_state(rng)[0] for _ in range(SAMPLES)]
        )
        self.end = shoulder + away / max(distance, 1e-9) * BEYOND * max(self.reach, distance)

    def __call__(self, t: float) -> Array:
        share = quintic(t / OUT)[0] - quintic((t - OUT - THERE) / BACK)[0]
        return self.start + share * (self.end - self.start)


def pivot(robot: Robot, frame: str, q: Array) -> Array:
    """m, the middle of where the frame comes: what an arm stretches away from."""
    rng = np.random.default_rng(4)
    places = [robot.frame_pose(robot.random_state(rng)[0], frame)[:3, 3] for _ in range(SAMPLES)]
    mean: Array = np.mean(places, axis=0)
    return mean
