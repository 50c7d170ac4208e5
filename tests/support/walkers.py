"""Two-legged robots as descriptions: with or without a waist above both legs, and ankles."""

from __future__ import annotations

import numpy as np

from torqued.kernels.model.description import Description, Inertia, Joint, Limits, Link, Pose

LIMITS = Limits(-2.0, 2.0, 20.0, 300.0)


def walker(waist: bool = False, ankle_roll: bool = True) -> Description:
    """40 kg, 0.9 m to the hips. With an ankle's roll foot and ankle begin at the same place."""
    links = [body("base", 25.0, 0.2)]
    joints = []
    hips = "base"
    if waist:
        links.append(body("pelvis", 3.0, 0.0))
        joints.append(turn("waist", "base", "pelvis", (0, 0, 0), (0, 0, 1)))
        hips = "pelvis"
    for side, y in (("left", 0.1), ("right", -0.1)):
        chain = [
            ("yaw", "hip", (0, y, 0), (0, 0, 1), 1.0),
            ("roll", "upper", (0, 0, 0), (1, 0, 0), 1.0),
            ("pitch", "thigh", (0, 0, 0), (0, 1, 0), 3.0),
            ("knee", "shank", (0, 0, -0.45), (0, 1, 0), 2.0),
            ("ankle", "ankle" if ankle_roll else "foot", (0, 0, -0.45), (0, 1, 0), 0.5),
        ]
        if ankle_roll:
            chain.append(("sole", "foot", (0, 0, 0), (1, 0, 0), 0.5))
        parent = hips
        for joint, link, place, axis, mass in chain:
            name = f"{side}_{link}"
            links.append(body(name, mass, -0.1))
            joints.append(turn(f"{side}_{joint}", parent, name, place, axis))
            parent = name
    return Description("walker", tuple(links), tuple(joints))


def body(name: str, mass: float, height: float) -> Link:
    return Link(name, Inertia(mass, np.array([0.0, 0.0, height]), 0.01 * mass * np.eye(3)))


def turn(name: str, parent: str, child: str, place: tuple, axis: tuple) -> Joint:
    pose = Pose(position=np.array(place, float))
    return Joint(name, "revolute", parent, child, pose, np.array(axis, float), limits=LIMITS)
