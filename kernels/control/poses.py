"""Configurations that a robot's gains are chosen for and tried in: always the same ones."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from torqued.kernels.control.law import Array

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: The neutral one and random ones within limits.
COUNT = 256


@dataclass(frozen=True)
class Poses:
    """N configurations of a robot and their mass matrices."""

    q: Array  # (N, nq)
    M: Array  # (N, nv, nv)

    def __len__(self) -> int:
        return len(self.q)

    def only(self, k: int) -> Poses:
        """The k-th one."""
        return Poses(self.q[k : k + 1], self.M[k : k + 1])


_KNOWN: WeakKeyDictionary[Robot, Poses] = WeakKeyDictionary()


def poses_of(robot: Robot) -> Poses:
    """Computed once for each robot."""
    if robot not in _KNOWN:
        _KNOWN[robot] = random_poses(robot, COUNT)
    return _KNOWN[robot]


def random_poses(robot: Robot, count: int, seed: int = 0) -> Poses:
    """The neutral configuration and count − 1 random ones within limits."""
    rng = np.random.default_rng(seed)
    q = [robot.neutral(), *(robot.random_state(rng)[0] for _ in range(count - 1))]
    return Poses(np.array(q), np.array([robot.mass_matrix(pose) for pose in q]))


def coupled_groups(*matrices: Array) -> list[NDArray[np.int64]]:
    """Indices of joints that act on each other in any of some matrices (…, nv, nv).

    Arms that hang on one fixed base, or a hand and a leg, do not: each is a group by itself.
    """
    n = matrices[0].shape[-1]
    linked = np.zeros((n, n), bool)
    for matrix in matrices:
        linked |= (matrix.reshape(-1, n, n) != 0.0).any(axis=0)
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
