"""What a frame of a fixed robot can do, over its configurations: how freely it moves and turns.

J M⁻¹ Jᵀ is what a force at the frame accelerates it by. Its blocks for rotations (1/(kg m²)) and
translations (1/kg) are looked at apart: numbers of different units have no common scale.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.control.law import Array
from torqued.kernels.control.mass_inverse import configurations, mass_inverse
from torqued.kernels.control.slow_modes import slowed

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Configurations that are looked at.
SAMPLES = 200
#: A direction whose mobility is below this share of the largest one, in all configurations, is one
#: that the frame cannot move in.
IMMOBILE = 1e-9
ROTATION, TRANSLATION = slice(0, 3), slice(3, 6)


@dataclass(frozen=True)
class FrameMobility:
    """Of one frame. Rotation first, then translation."""

    most: tuple[float, float]  # largest eigenvalue of the two blocks in any configuration
    typical: tuple[float, float]  # median of the smallest one that is not zero
    turning: Array  # (N, 3, 3) of rotations in the frame's own axes, in all configurations
    directions: tuple[int, int, int]  # that it can turn, move and do both in, at most
    force: float  # N, that no joint needs more than its effort for, whichever way it points
    moment: float  # N m

    def rotational_stiffness(self, rate: float, most: float) -> Array:
        """(3, 3) N m/rad in the frame's axes that turns it no faster than `rate`, rad/s.

        Most wrists end in a joint that weighs far less than what is before it, about an axis that
        the frame keeps: a stiffness that is the same about all axes would be that of the lightest.
        """
        _, axes = np.linalg.eigh(self.turning.mean(axis=0))
        k = slowed(axes.T @ self.turning @ axes, np.full(3, most), rate**2)
        return np.asarray(axes * k @ axes.T)

    def rows(self, first: int, count: int) -> int:
        """Directions that the frame can move in among these rows of its twist."""
        turn, shift, both = self.directions
        return both if count == 6 else (turn if first == 0 else shift)


_KNOWN: WeakKeyDictionary[Robot, dict[tuple[str, bytes], FrameMobility]] = WeakKeyDictionary()


def frame_mobility(robot: Robot, frame: str, point: Any = None) -> FrameMobility:
    """Computed once for each frame and point of it."""
    known = _KNOWN.setdefault(robot, {})
    key = (frame, b"" if point is None else np.asarray(point, float).tobytes())
    if key not in known:
        with np.errstate(over="ignore", invalid="ignore"):
            known[key] = measure(robot, frame, point)
    return known[key]


def measure(robot: Robot, frame: str, point: Any) -> FrameMobility:
    blocks: tuple[list[Any], list[Any]] = ([], [])
    turning: list[Array] = []
    counts, lightest = np.zeros(3, int), np.full(2, np.inf)
    effort = np.where(robot.limits.effort > 0.0, robot.limits.effort, np.inf)
    for q in configurations(robot, SAMPLES):
        J = robot.frame_jacobian(q, frame, point=point)
        A = J @ mass_inverse(robot, q) @ J.T
        if not np.isfinite(A).all():
            raise InputError("point: too far away from its frame", "point", None, "metres")
        R = robot.frame_pose(q, frame)[:3, :3]
        turning.append(R.T @ A[ROTATION, ROTATION] @ R)
        parts = [np.linalg.eigvalsh(A[rows, rows]) for rows in (ROTATION, TRANSLATION)]
        for block, values in zip(blocks, parts, strict=True):
            block.append(values)
        # Both parts in units of their own size, so that their ranks can be counted together.
        scale = np.repeat([1.0 / max(values[-1], 1e-300) ** 0.5 for values in parts], 3)
        whole = np.linalg.eigvalsh(scale[:, None] * A * scale)
        movable = [int((values > IMMOBILE * values[-1]).sum()) for values in (*parts, whole)]
        counts = np.maximum(counts, movable)
        for k, rows in enumerate((TRANSLATION, ROTATION)):
            reach = np.linalg.norm(J[rows], axis=0)
            turned = reach > 1e-6 * reach.max(initial=1e-300)
            lightest[k] = min(lightest[k], (effort[turned] / reach[turned]).min(initial=np.inf))
    found = [np.array(block) for block in blocks]
    return FrameMobility(
        most=(float(found[0].max()), float(found[1].max())),
        typical=(smallest(found[0]), smallest(found[1])),
        turning=np.array(turning),
        directions=(int(counts[0]), int(counts[1]), int(counts[2])),
        force=float(lightest[0]),
        moment=float(lightest[1]),
    )


def smallest(values: Array) -> float:
    """Median over configurations of the smallest eigenvalue that is not always zero."""
    medians = np.median(values, axis=0)
    positive = medians[medians > 1e-6 * max(float(medians.max()), 1e-300)]
    return float(positive.min(initial=np.inf)) if len(positive) else 1.0
