"""Where a movement is to go, as references of a law: joint positions, or the pose of a frame."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.client.requests.request_parts import as_array
from torqued.common.rotation import check_pose, quaternion

Array = NDArray[np.float64]

#: What references of joint positions are called, the first that a law has.
JOINTS = ("q_ref", "posture", "posture.position")


def targets(
    target: Any, references: Mapping[str, tuple[int, ...]], motion: str
) -> dict[str, Array]:
    """References by name for joint positions (nq,) or a pose (4, 4), as a law has them."""
    value = as_array(target, "target")
    prefix = f"{motion}." if motion else ""
    if value.shape == (4, 4):
        check_pose("target", value)
        found = {}
        if f"{prefix}position" in references:
            found[f"{prefix}position"] = value[:3, 3].copy()
        if f"{prefix}orientation" in references:
            found[f"{prefix}orientation"] = quaternion(value[:3, :3])
        if found:
            return found
        places = [name for name in references if name.endswith(".position")]
        frames = sorted(name.removesuffix(".position") for name in places)
        if not frames:
            raise ValueError("this law moves no frame; give joint positions (nq,)")
        raise ValueError(f"no frame {motion!r} to move, motions: {', '.join(frames)}")
    name = joints(references, motion)
    if value.shape != references[name]:
        raise ValueError(
            f"the target has shape {value.shape}, expected {references[name]} or (4, 4)"
        )
    return {name: value}


def path(q: Any, references: Mapping[str, tuple[int, ...]], motion: str) -> dict[str, Array]:
    """References by name for via points q (N, nq) of joints."""
    points, name = as_array(q, "q"), joints(references, motion)
    (nq,) = references[name]
    if points.ndim != 2 or points.shape[1] != nq or not len(points):
        raise ValueError(f"q has shape {points.shape}, expected (N, {nq})")
    return {name: points}


def joints(references: Mapping[str, tuple[int, ...]], motion: str) -> str:
    """What a law calls its reference of joint positions."""
    names = [name for name in JOINTS if name in references]
    if motion:
        names = [name for name in (motion, f"{motion}.position") if name in references]
    if not names:
        what = f"motion {motion!r}" if motion else "this law"
        raise ValueError(f"{what} has no joint positions; `move_to` takes a pose (4, 4) too")
    return names[0]
