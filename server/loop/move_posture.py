"""The joints of a movement to a pose, so that it ends within their limits."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from torqued.kernels import Target
from torqued.kernels.control.law import Array
from torqued.kernels.control.references.motions import FRAME_MOTION, JOINTS
from torqued.kernels.primitives.spatial import quaternion_rotation

if TYPE_CHECKING:
    from torqued.kernels.control.controller import Controller


def with_posture(controller: Controller, target: Array) -> Array:
    """A target (NaN: not given) with the posture that brings the frame of `impedance` to its pose,
    by inverse kinematics from the present state; unchanged where none is found."""
    axes = controller.prepared.axes
    if axes == "" or [motion.kind for motion in controller.motions] != [FRAME_MOTION, JOINTS]:
        return target
    frame, joints = controller.data.motions
    part = slice(joints.position, joints.position + controller.robot.nq)
    goal = np.where(np.isnan(target), controller.data.state[controller.first_reference :], target)
    if np.isfinite(target[part]).any():
        return target
    pose = np.eye(4)
    turn = goal[frame.orientation : frame.orientation + 4]
    pose[:3, :3] = np.reshape(quaternion_rotation.py_func(*turn), (3, 3))
    pose[:3, 3] = goal[frame.position : frame.position + 3]
    value = {"position": pose[:3, 3], "orientation": pose[:3, :3]}.get(axes, pose)
    point, robot = controller.fields.get("point"), controller.robot
    kind, at = "pose" if axes == "all" else axes, np.zeros(3) if point is None else point
    wanted = Target(value, controller.fields["frame"], kind, at)
    found = robot.inverse_kinematics([wanted], controller.data.state[: robot.nq])
    if found.success:
        target = target.copy()
        target[part] = found.q
    return target
