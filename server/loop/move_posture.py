"""The joints of a movement to a pose, so that it ends within their limits."""

from __future__ import annotations

from typing import Any

import numpy as np

from torqued.kernels import Target
from torqued.kernels.control.law import Array
from torqued.kernels.control.references.motions import JOINTS
from torqued.kernels.primitives.spatial import quaternion_rotation


def with_posture(controller: Any, target: Array) -> Array:
    """A target (NaN: not given) with the posture that brings the frame of `impedance` to its pose,
    by inverse kinematics from the present state; unchanged where none is found."""
    axes, robot, data = controller.prepared.axes, controller.robot, controller.data
    if not axes:
        return target
    start = int(data.motions.position[data.motions.kind == JOINTS][0])
    posture = slice(start, start + robot.nq)
    if np.isfinite(target[posture]).any():
        return target
    goal = np.where(np.isnan(target), data.state[controller.first_reference :], target)
    pose = np.eye(4)
    rotation: Any = quaternion_rotation  # as Python, which need not be compiled
    pose[:3, 3], pose[:3, :3] = goal[:3], np.reshape(rotation.py_func(*goal[3:7]), (3, 3))
    value = {"position": pose[:3, 3], "orientation": pose[:3, :3]}.get(axes, pose)
    point, kind = controller.fields.get("point"), "pose" if axes == "all" else axes
    at = np.zeros(3) if point is None else point
    wanted = Target(value, controller.fields["frame"], kind, at)
    found = robot.inverse_kinematics([wanted], data.state[: robot.nq])
    if not found.success:
        return target
    whole = target.copy()
    whole[posture] = found.q
    return whole
