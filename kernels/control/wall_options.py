"""Walls as options of a session: which joints and planes have them, and their names."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import InputError
from torqued.common.status import wall_names
from torqued.kernels.charts.chart import own_joints
from torqued.kernels.control.plane import PLANE
from torqued.kernels.input_checks import numbers

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

MAX_PLANES = 48


def walls_of(control: Any, robot: Robot, given: Any) -> list[str]:
    """Names of what a controller's record has in `walls`; `given` as in `parse_walls`."""
    joints = {joint.v: joint.name for joint in own_joints(robot.model)}
    return wall_names(int(control.walls), joints, given)


def parse_walls(robot: Robot, given: Any) -> tuple[bool, Any]:
    """Whether joints have walls, and the planes of frames (k,) PLANE.

    True (default), False, or a map: `joints` true or false, `frames` a list of maps with `frame`,
    `point` (3,), and `box` [[x y z], [x y z]] m or `normal` (3,) with `offset` m.
    """
    planes = np.zeros(0, PLANE).view(np.recarray)
    if given is None or isinstance(given, bool):
        return given is not False, planes
    if not isinstance(given, Mapping) or not set(given) <= {"joints", "frames"}:
        raise InputError(
            "walls: expected true, false or a map of 'joints' and 'frames'", "walls", None
        )
    joints, frames = given.get("joints", True), given.get("frames", [])
    if not isinstance(joints, bool):
        raise InputError("walls.joints: expected true or false", "walls", None)
    if not isinstance(frames, Sequence) or isinstance(frames, str | bytes):
        raise InputError("walls.frames: expected a list of maps", "walls", None)
    rows = [row for k, item in enumerate(frames) for row in _planes(robot, k, item)]
    if len(rows) > MAX_PLANES:
        raise InputError(f"walls: {len(rows)} planes, at most {MAX_PLANES}", "walls", len(rows))
    return joints, np.array(rows, PLANE).view(np.recarray)


def _planes(robot: Robot, k: int, item: Any) -> list[tuple[Any, ...]]:
    """The planes of one entry: six of a box, or one; their speeds are filled in later."""
    name = f"walls.frames[{k}]"
    if not isinstance(item, Mapping) or "frame" not in item:
        raise InputError(f"{name}: expected a map with a 'frame'", "walls", None)
    for field in item:
        if field not in ("frame", "point", "box", "normal", "offset"):
            raise InputError(
                f"{name}: {field!r} is unknown, allowed: frame, point, box, normal, offset",
                "walls",
                field,
            )
    frame = robot.frame_table.place(f"{name}.frame", item["frame"], item.get("point")).fields
    if ("box" in item) == ("normal" in item):
        raise InputError(f"{name}: expected either a 'box' or a 'normal'", "walls", None)
    if "box" in item:
        low, high = numbers(f"{name}.box", item["box"], (2, 3))
        if not (low < high).all():
            raise InputError(f"{name}.box: lower corner is not below upper corner", "walls", None)
        axes = np.eye(3)
        sides = [(frame, axis, low[i], 0.0) for i, axis in enumerate(axes)]
        return sides + [(frame, -axis, -high[i], 0.0) for i, axis in enumerate(axes)]
    normal = numbers(f"{name}.normal", item["normal"], (3,))
    size = float(np.linalg.norm(normal))
    if not size > 1e-9:
        raise InputError(f"{name}.normal is zero, expected a direction", "walls", None)
    offset = float(numbers(f"{name}.offset", item.get("offset", 0.0), ()))
    return [(frame, normal / size, offset, 0.0)]
