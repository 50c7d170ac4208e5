"""Mechanisms with loops, a four-bar linkage and a Stewart platform; and one that reaches far."""

from __future__ import annotations

import numpy as np

from torqued.kernels import Description, Inertia, Joint, Limits, Link, Loop, Pose, Robot
from torqued.kernels.model.description import Array

X, Y, Z = np.eye(3)
KNOWN = Limits(velocity=10.0, effort=100.0)

#: Lengths of crank, coupler and rocker, and from one pivot in the ground to the other, m.
CRANK, COUPLER, ROCKER, GROUND = 0.2, 0.6, 0.5, 0.7


def rod(length: float, mass: float) -> Inertia:
    """Along x, from its frame on."""
    moment = mass * length**2 / 12.0
    return Inertia(mass, np.array([length / 2.0, 0.0, 0.0]), np.diag([1e-4, moment, moment]))


def at(x: float, y: float = 0.0, z: float = 0.0) -> Pose:
    return Pose(position=np.array([x, y, z]))


def four_bar() -> tuple[Robot, list[Loop]]:
    """Crank and coupler in a row, the rocker by itself, all turning about y; a hinge closes it."""
    links = (
        Link("ground"),
        Link("crank", rod(CRANK, 0.5)),
        Link("coupler", rod(COUPLER, 1.0)),
        Link("rocker", rod(ROCKER, 0.8)),
    )
    joints = (
        Joint("motor", "continuous", "ground", "crank", axis=Y, limits=KNOWN),
        Joint("knee", "continuous", "crank", "coupler", at(CRANK), Y, limits=KNOWN),
        Joint("pivot", "continuous", "ground", "rocker", at(GROUND), Y, limits=KNOWN),
    )
    robot = Robot.from_description(Description("four-bar", links, joints))
    hinge = Loop(
        "coupler",
        "rocker",
        "hinge",
        axis=Y,
        point=(COUPLER, 0.0, 0.0),
        other_point=(ROCKER, 0.0, 0.0),
    )
    return robot, [hinge]


def rocker_angle(crank: float) -> tuple[float, float]:
    """By the law of cosines: the angle of the rocker, and that of the coupler in the ground."""
    tip = CRANK * np.array([np.cos(crank), -np.sin(crank)])  # x and z: turns about y go down
    away = tip - [GROUND, 0.0]
    d = np.hypot(*away)
    inner = np.arccos((ROCKER**2 + d**2 - COUPLER**2) / (2.0 * ROCKER * d))
    rocker = np.arctan2(away[1], away[0]) - inner
    joint = np.array([GROUND, 0.0]) + ROCKER * np.array([np.cos(rocker), np.sin(rocker)])
    along = joint - tip
    return -rocker, -np.arctan2(along[1], along[0])


RADIUS, TOP, HEIGHT = 0.5, 0.3, 0.6


def stewart() -> tuple[Robot, list[Loop], Array]:
    """Six legs of two turns and a slide each, from the ground to a free platform: balls hold them.

    With the legs' configuration at the platform's middle place.
    """
    links = [Link("ground"), Link("platform", Inertia(4.0, np.zeros(3), np.diag([0.1, 0.1, 0.2])))]
    joints = [Joint("free", "floating", "ground", "platform")]
    loops = []
    for k in range(6):
        foot_angle = (k // 2) * 2.0 * np.pi / 3.0 + (0.2 if k % 2 else -0.2)
        top_angle = ((k + 1) // 2) * 2.0 * np.pi / 3.0 - np.pi / 3.0 + (-0.2 if k % 2 else 0.2)
        foot = RADIUS * np.array([np.cos(foot_angle), np.sin(foot_angle), 0.0])
        top = TOP * np.array([np.cos(top_angle), np.sin(top_angle), 0.0])
        lower = Inertia(0.5, np.array([0.0, 0.0, 0.1]), np.diag([2e-3, 2e-3, 1e-3]))
        upper = Inertia(0.3, np.array([0.0, 0.0, -0.1]), np.diag([1e-3, 1e-3, 5e-4]))
        links += [Link(f"yoke_{k}", lower), Link(f"leg_{k}", lower), Link(f"rod_{k}", upper)]
        X = np.array([1.0, 0.0, 0.0])
        joints += [
            Joint(f"tilt_{k}", "continuous", "ground", f"yoke_{k}", at(*foot), X, limits=KNOWN),
            Joint(f"lean_{k}", "continuous", f"yoke_{k}", f"leg_{k}", at(0.0), Y, limits=KNOWN),
            Joint(
                f"slide_{k}",
                "prismatic",
                f"leg_{k}",
                f"rod_{k}",
                at(0.0),
                Z,
                limits=Limits(0.2, 2.0, 1.0, 30.0),
            ),
        ]
        loops.append(Loop(f"rod_{k}", "platform", "ball", other_point=top))
    robot = Robot.from_description(Description("stewart", tuple(links), tuple(joints)))
    q = robot.neutral()
    q[2] = HEIGHT
    q[9::3] = HEIGHT
    return robot, loops, q


#: Of gyration, of a ball, m.
GYRATION = 0.2


def ball(mass: float) -> Inertia:
    return Inertia(mass, np.zeros(3), mass * GYRATION**2 * np.eye(3))


def wrist_on_a_slider(travel: float = np.inf) -> Robot:
    """A turntable, a slider and a wrist, whose inertia about its axis is known."""
    links = (Link("world"), Link("table", ball(10)), Link("slider", ball(5)), Link("hand", ball(1)))
    known = Limits(velocity=1.0, effort=1.0)
    joints = (
        Joint("turn", "continuous", "world", "table", axis=Z, limits=known),
        Joint("slide", "prismatic", "table", "slider", axis=X, limits=Limits(0, travel, 1.0, 1.0)),
        Joint("wrist", "continuous", "slider", "hand", axis=Z, limits=known),
    )
    return Robot.from_description(Description("crane", links, joints))
