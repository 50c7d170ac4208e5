"""Configurations that a robot's gains are chosen for and tried in: always the same ones."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from torqued.kernels.control.law import Array

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: The neutral one and random ones within limits; fewer for robots of many joints, for the time.
COUNT, MIN_COUNT, MANY = 256, 96, 24
#: Poses are left out where a combination of joints weighs less than this, relative to each by
#: itself: two axes have lined up with next to nothing between them. A model without masses or
#: rotor inertias there says nothing about the robot, and no spring would be soft enough.
WEIGHTLESS = 1e-5
#: Every second one has half of its joints at multiples of this, rad: there axes line up, and what
#: lies between two of them is all that turns when they turn against each other.
RIGHT_ANGLE = 0.5 * np.pi


@dataclass(frozen=True)
class Poses:
    """N configurations of a robot and their mass matrices."""

    q: Array  # (N, nq)
    M: Array  # (N, nv, nv), or (N, n, n) along the directions `free`
    free: Array | None = None  # (N, nv, n) in which a robot on contacts can move; None: all
    rows: Array | None = None  # (N, 3 points, nv) of its contacts' points, world axes

    def __len__(self) -> int:
        return len(self.q)

    def only(self, k: int) -> Poses:
        """The k-th one."""
        free, rows = (None if x is None else x[k : k + 1] for x in (self.free, self.rows))
        return Poses(self.q[k : k + 1], self.M[k : k + 1], free, rows)


_KNOWN: WeakKeyDictionary[Robot, Poses] = WeakKeyDictionary()


def poses_of(robot: Robot) -> Poses:
    """Computed once for each robot."""
    if robot not in _KNOWN:
        count = max(MIN_COUNT, min(COUNT, COUNT * MANY // max(robot.nv, 1)))
        _KNOWN[robot] = with_weight(random_poses(robot, count))
    return _KNOWN[robot]


def random_poses(robot: Robot, count: int, seed: int = 0) -> Poses:
    """The neutral configuration and count − 1 random ones within limits."""
    rng = np.random.default_rng(seed)
    q = [robot.neutral(), *(robot.random_state(rng)[0] for _ in range(count - 1))]
    for pose in q[2::2]:
        line_up(robot, rng, pose)
    return Poses(np.array(q), np.array([robot.mass_matrix(pose) for pose in q]))


def with_weight(poses: Poses) -> Poses:
    """Those where every combination of joints weighs something; the better half if hardly any."""
    scale = 1.0 / np.sqrt(np.diagonal(poses.M, axis1=1, axis2=2))
    least = np.full(len(poses), np.inf)
    for group in coupled_groups(poses.M):
        part, own = poses.M[np.ix_(np.arange(len(poses)), group, group)], scale[:, group]
        values = np.linalg.eigvalsh(own[:, :, None] * part * own[:, None, :])
        least = np.minimum(least, values[:, 0])
    enough = least > min(WEIGHTLESS, float(np.median(least)))
    return Poses(poses.q[enough], poses.M[enough])


def line_up(robot: Robot, rng: np.random.Generator, q: Array) -> None:
    """Turn half of the joints, chosen at random, to the next multiple of a right angle."""
    lower, upper = robot.limits.lower, robot.limits.upper
    near = RIGHT_ANGLE * np.round(q / RIGHT_ANGLE)
    chosen = (rng.random(len(q)) < 0.5) & (lower <= near) & (near <= upper)
    for _, start in robot.quaternions:
        chosen[start : start + 4] = False
    q[chosen] = near[chosen]


def coupled_groups(*matrices: Array) -> list[NDArray[np.int64]]:
    """Indices of joints that act on each other in any of some matrices (…, nv, nv).

    Arms that hang on one fixed base, or a hand and a leg, do not: each is a group by itself.
    """
    n = matrices[0].shape[-1]
    linked = np.zeros((n, n), bool)
    for matrix in matrices:
        linked |= (matrix != 0.0).reshape(math.prod(matrix.shape[:-2]), n, n).any(axis=0)
    linked |= linked.T
    groups, left = [], list(range(n))
    while left:
        group, new = {left[0]}, {left[0]}
        while new:
            new = {int(k) for j in new for k in np.flatnonzero(linked[j])} - group
            group |= new
        groups.append(np.array(sorted(group)))
        left = [k for k in left if k not in group]
    return groups
