"""How a robot with legs stands: feet, a crouched pose and a floor, found from its description.

Legs are the chains whose ends are lowest at q = 0. Flat feet are rectangles below the ankle, round
ones points. In the pose the feet are as far apart as at q = 0, around the center of mass, and legs
are bent to a share of their length; a Gauss-Newton method finds it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import mujoco
import numpy as np

from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.kernels.model.description import Array, Description
from torqued.tools.demos.generalize_menagerie import MenageriePlant
from torqued.tools.demos.plant import Plant, Toucher, Wall

#: Of a leg's length: how far it is bent, and half sides of a flat foot.
BENT, FOOT = 0.88, (0.11, 0.06)
#: Chains that end within this share of the robot's height from its lowest point are legs.
LOW = 0.12
BALL = 0.01  # m, of a round foot
FRICTION, TRUE_FRICTION = 0.6, 0.8
#: Rubber: MuJoCo's time constant of contacts in s, and damping ratio.
RUBBER = (5e-3, 1.0)
ITERATIONS, MAX_ERROR = 300, 0.01


@dataclass(frozen=True)
class Leg:
    frame: str
    hip: str  # the first moving link
    joints: tuple[int, ...]  # their places in v
    length: float


@dataclass(frozen=True)
class Stance:
    q: Array
    legs: tuple[Leg, ...]
    points: tuple[Array, ...]  # (k, 3) of each foot in its frame
    flat: bool
    height: float  # m, of the base

    @property
    def contacts(self) -> list[dict[str, Any]]:
        """Contacts as options of a session."""
        return [
            {"frame": leg.frame, "points": points.tolist(), "friction": FRICTION}
            for leg, points in zip(self.legs, self.points, strict=True)
        ]


def legs_of(robot: Robot, description: Description) -> tuple[Leg, ...]:
    """Chains to the lowest ends, in the order of the file."""
    above = {joint.child: joint for joint in description.joints}
    q = robot.neutral()
    height = {link.name: robot.frame_pose(q, link.name)[2, 3] for link in description.links}
    places = {name: k + 6 for k, name in enumerate(robot.joint_names[-(robot.nv - 6) :])}
    floor, top = min(height.values()), max(height.values())
    ends: dict[str, tuple[str, list[str]]] = {}  # by hip: the lowest link, joints from the hip on
    for link in sorted(height, key=lambda name: height[name]):
        chain, hip, at = [], "", link
        while at in above:
            joint = above[at]
            if joint.name in places:
                chain.append(joint.name)
                hip = joint.child
            at = joint.parent
        low = height[link] - floor < LOW * (top - floor)
        if len(chain) >= 3 and low and hip not in ends:
            ends[hip] = (link, chain[::-1])
    order = {link.name: k for k, link in enumerate(description.links)}
    return tuple(
        Leg(link, hip, tuple(places[name] for name in chain), height[hip] - height[link])
        for hip, (link, chain) in sorted(ends.items(), key=lambda end: order[end[1][0]])
    )


def stance_of(robot: Robot, description: Description, flat: bool) -> Stance:
    legs = legs_of(robot, description)
    if len(legs) < 2:
        raise InputError(f"robot {robot.name!r}: found {len(legs)} legs, expected 2 or more")
    q, off = settle(robot, legs, start_pose(robot, legs), flat, BENT, ITERATIONS)
    if off > MAX_ERROR:
        raise InputError(f"robot {robot.name!r}: no stance found, the best one is {off:.3g} off")
    points = tuple(foot_points(robot, leg, q, flat) for leg in legs)
    return Stance(q, legs, points, flat, float(q[2]))


def settle(
    robot: Robot, legs: tuple[Leg, ...], q: Array, flat: bool, bent: float, iterations: int
) -> tuple[Array, float]:
    """Legs moved until the robot stands; its feet at height zero, and what is missing, m or rad.

    The base keeps its orientation, and all other joints their place.
    """
    goal = Goal(robot, legs, flat, bent)
    free = sorted({k for leg in legs for k in leg.joints})
    lower, upper = robot.limits.lower[7:], robot.limits.upper[7:]
    missing, rows = goal.missing(q)
    for _ in range(iterations):
        J = rows[:, free]
        damped = J.T @ J + 1e-6 * np.eye(len(free))
        change = np.zeros(robot.nv)
        change[free] = np.clip(np.linalg.solve(damped, J.T @ missing), -0.1, 0.1)
        q = robot.integrate(q, change, 1.0)
        q[7:] = np.clip(q[7:], lower, upper)
        missing, rows = goal.missing(q)
        if np.abs(missing).max() < 1e-9:
            break
    q[:3] -= np.mean([robot.frame_pose(q, leg.frame)[:3, 3] for leg in legs], axis=0)
    return q, float(np.abs(missing).max())


def start_pose(robot: Robot, legs: tuple[Leg, ...]) -> Array:
    """Neutral within limits, legs a little bent: from a straight leg no direction leads down."""
    q = robot.neutral()
    lower, upper = robot.limits.lower[7:], robot.limits.upper[7:]
    margin = 0.05 * np.where(np.isfinite(upper - lower), upper - lower, 0.0)
    q[7:] = np.clip(q[7:], lower + margin, upper - margin)
    for leg in legs:
        for k in leg.joints:
            low, high = max(lower[k - 6], -2.0), min(upper[k - 6], 2.0)
            q[k + 1] += 0.2 * (0.5 * (low + high) - q[k + 1])
    bend = straight_knees(robot, legs, q)
    q[7:] = np.clip(q[7:] + bend[6:], lower, upper)
    return q


def straight_knees(robot: Robot, legs: tuple[Leg, ...], q: Array) -> Array:
    """(nv,) 0.5 rad at joints whose zero is in the middle of their range and that swing the foot
    forward: they may bend either way, and one has to be chosen."""
    bend = np.zeros(robot.nv)
    for leg in legs:
        J = robot.frame_jacobian(q, leg.frame)
        swings = [k for k in leg.joints if abs(J[3, k]) > 0.3 * leg.length]
        symmetric = [
            k for k in swings if abs(robot.limits.lower[k + 1] + robot.limits.upper[k + 1]) < 1e-6
        ]
        if len(swings) >= 2 and len(symmetric) == len(swings):
            forward = np.sign(J[3, swings[0]])
            bend[swings[0]] = 0.5 * forward
            bend[swings[1]] = -1.0 * np.sign(J[3, swings[1]])
    return bend


class Goal:
    """Where the feet of a standing robot belong."""

    def __init__(self, robot: Robot, legs: tuple[Leg, ...], flat: bool, bent: float) -> None:
        self.robot, self.legs, self.flat = robot, legs, flat
        straight = [robot.frame_pose(robot.neutral(), leg.frame) for leg in legs]
        hips = [robot.frame_pose(robot.neutral(), leg.hip)[2, 3] for leg in legs]
        places = np.array([pose[:2, 3] for pose in straight])
        self.around = places - places.mean(axis=0)  # the center of mass
        self.turned = [pose[:3, :3] for pose in straight]
        drops = [hip - bent * leg.length for hip, leg in zip(hips, legs, strict=True)]
        self.floor = float(np.mean(drops))  # m, below the base's origin

    def missing(self, q: Array) -> tuple[Array, Array]:
        """What is missing (k,), m and rad, and how joints change what is there (k, nv)."""
        robot = self.robot
        com, J_com = robot.center_of_mass(q), robot.centroidal_matrix(q)[3:] / robot.total_mass
        missing: list[float] = []
        rows: list[Array] = []
        for k, leg in enumerate(self.legs):
            pose, J = robot.frame_pose(q, leg.frame), robot.frame_jacobian(q, leg.frame)
            missing += list(com[:2] + self.around[k] - pose[:2, 3])
            rows += [J[3] - J_com[0], J[4] - J_com[1]]
            missing.append(q[2] + self.floor - pose[2, 3])
            rows.append(J[5])
            if self.flat:
                off = self.turned[k] @ pose[:3, :3].T
                turn = [off[2, 1] - off[1, 2], off[0, 2] - off[2, 0], off[1, 0] - off[0, 1]]
                missing += [0.5 * x for x in turn]
                rows += list(J[:3])
        return np.array(missing), np.array(rows)


def foot_points(robot: Robot, leg: Leg, q: Array, flat: bool) -> Array:
    """In the frame of the foot: its origin, or corners of a level rectangle around it."""
    if not flat:
        return np.zeros((1, 3))
    R = robot.frame_pose(q, leg.frame)[:3, :3]
    x, y = FOOT[0] * leg.length, FOOT[1] * leg.length
    corners = np.array([(i * x, j * y, 0.0) for i in (1, -1) for j in (1, -1)])
    return corners @ R


def standing_plant(description: Description, stance: Stance, file: str = "") -> Plant:
    """The robot on a floor: corners of flat feet and round feet are small balls."""
    floor = Wall(
        np.array([0.0, 0.0, -BALL]), np.array([0.0, 0.0, 1.0]), None, TRUE_FRICTION, RUBBER
    )
    touchers = tuple(
        Toucher(leg.frame, point, radius=BALL)
        for leg, points in zip(stance.legs, stance.points, strict=True)
        for point in points
    )
    if file:
        plant: Plant = MenageriePlant(description, "floating", file, (floor,), touchers)
    else:
        plant = Plant(description, "floating", walls=(floor,), touchers=touchers)
    plant.model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    plant.model.opt.impratio = 10.0
    return plant
