"""Talos as the experiment with a humanoid has it: its stance, its contacts, a pillar in reach."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import mujoco
import numpy as np

from torqued.kernels import Robot
from torqued.kernels.model.catalog import describe
from torqued.kernels.model.description import Array, Description
from torqued.kernels.model.lock import lock
from torqued.tools.demos.plant import Plant, Toucher, Wall

#: Fingers, held by separate drives.
GRIPPERS = ("gripper_left_joint", "gripper_right_joint")
LEFT, RIGHT, HAND = "left_sole_link", "right_sole_link", "wrist_right_ft_tool_link"
PELVIS = "base_link"
#: m, half sides of a sole, and the ball that a closed gripper is taken for.
SOLE = (0.10, 0.06)
BALL, FIST = 0.02, np.array([0.0, 0.0, -0.10])  # in axes of HAND
#: What the laws believe, and what there is.
FRICTION, TRUE_FRICTION = 0.6, 0.8
#: Rubber soles and a glove: MuJoCo's time constant of contacts in s, and damping ratio.
RUBBER = (5e-3, 1.0)

#: m, from the middle between the soles to the pillar's face, and where the hand takes hold of it.
PILLAR, GRIP = 0.50, np.array([0.50, -0.28, 1.15])

#: rad, the half sitting posture of Talos's makers, legs and arms from the body on.
LEG = (0.0, 0.0, -0.411354, 0.859395, -0.448041, 0.0)
ARM = (0.25847, 0.173046, 0.01, -0.525366, 0.0, 0.0, 0.1)
#: Signs of the right arm's joints for a posture that mirrors the left one's.
MIRROR = (-1.0, -1.0, -1.0, 1.0, 1.0, 1.0, 1.0)


def talos() -> Description:
    """36 degrees of freedom, six of them the free base."""
    # The file's notes are of its fingers, which are fixed here and follow nothing.
    return replace(lock(describe("talos_reduced"), GRIPPERS), notes=())


def stance(robot: Robot) -> Array:
    """q (nq,) of half sitting, soles on the floor, the middle between them at the origin."""
    angles: dict[str, float] = {}
    for side, signs in (("left", np.ones(7)), ("right", np.array(MIRROR))):
        angles |= {f"leg_{side}_{k + 1}_joint": x for k, x in enumerate(LEG)}
        angles |= {f"arm_{side}_{k + 1}_joint": x for k, x in enumerate(signs * ARM)}
    q = robot.neutral()
    last = len(robot.joint_names)
    for k, name in enumerate(robot.joint_names):
        q[robot.nq - last + k] = angles.get(name, q[robot.nq - last + k])
    soles = [robot.frame_pose(q, name)[:3, 3] for name in (LEFT, RIGHT)]
    q[:3] -= np.mean(soles, axis=0)
    return q


def contacts(hand: bool = True) -> list[dict[str, Any]]:
    """All that may ever touch: two soles, and a hand on the pillar."""
    feet: list[dict[str, Any]] = [
        {"frame": name, "half_size": list(SOLE), "friction": FRICTION} for name in (LEFT, RIGHT)
    ]
    fist = {"frame": HAND, "friction": FRICTION, "normal": [-1.0, 0.0, 0.0]}
    return [*feet, fist | {"points": [FIST.tolist()]}] if hand else feet


def make_plant(q: Array, pillar: bool = True) -> Plant:
    """The robot in MuJoCo: boxes for soles, a ball for a hand, a floor and a pillar."""
    floor = Wall(np.zeros(3), np.array([0.0, 0.0, 1.0]), None, TRUE_FRICTION, RUBBER)
    face = Wall(
        np.array([PILLAR, GRIP[1], 0.75]),
        np.array([-1.0, 0.0, 0.0]),
        half_size=np.array([0.75, 0.15, 0.1]),
        friction=TRUE_FRICTION,
        softness=RUBBER,
    )
    thick = np.array([*SOLE, 0.01])
    soles = [Toucher(name, np.array([0.0, 0.0, 0.01]), box=thick) for name in (LEFT, RIGHT)]
    plant = Plant(
        talos(),
        "floating",
        walls=(floor, face) if pillar else (floor,),
        touchers=(*soles, Toucher(HAND, FIST, radius=BALL)),
    )
    # Friction that does not creep: cones as they are, and ten times stiffer than normals.
    plant.model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC
    plant.model.opt.impratio = 10.0
    plant.reset(q, np.zeros(plant.robot.nv))
    return plant
