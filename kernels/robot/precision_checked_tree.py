"""Robots that may reach so far that rounding eats their small inertias: found when loaded, and
refused where it happens.

Everything is computed in one frame at the anchor, the first body with a mass
(kernels/dynamics/kinematics.py). An inertia J about the axis of a joint that moves the mass m at
a distance d from there is a difference of numbers of size m d², so that a part ε m d² / J of it is
rounding, ε = 2.2e-16. Robots are small and do not notice; a wrist at the end of a slider of 100 km
does. How far the base is from the world's origin does not matter.
"""

from __future__ import annotations

import math

import numpy as np

from torqued.common.errors import NumericalError
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.model.description import Array
from torqued.kernels.model.reach import lengths
from torqued.kernels.primitives import layout
from torqued.kernels.robot.tree import FreeTree

#: The part of an inertia that may be rounding.
MAX_LOSS = 1e-6

#: Robots that cannot reach further are not looked at: no joint moves a body whose radius of
#: gyration is so small (1.5 mm) that it mattered.
ORDINARY_REACH = 100.0


def precision_checked_tree(tree: FreeTree) -> FreeTree:
    """The tree for dynamics: the same one where no body can be too far from the anchor."""
    if reach(tree) <= ORDINARY_REACH:
        return tree
    return PrecisionCheckedTree(tree)


class PrecisionCheckedTree(FreeTree):
    """The same tree, in the same workspace, whose configurations keep within `limit`."""

    def __init__(self, tree: FreeTree) -> None:
        self.__dict__.update(tree.__dict__)
        self.limit = largest_distance(tree)

    def q(self, q: Array, name: str = "q") -> Array:
        free = super().q(q, name)
        body, distance = farthest(self, free)
        if distance > self.limit:
            self._refuse(body, distance)
        return free

    def _refuse(self, body: int, distance: float) -> None:
        model = self.model
        anchor = int(model.world["anchor"][0])
        names = {frame.body: frame.name for frame in reversed(model.frames)}
        raise NumericalError(
            f"robot {model.name!r}: link {names.get(body, body)!r} is {distance:.6g} m away from "
            f"link {names.get(anchor, anchor)!r}, allowed: {self.limit:.6g} m; further away more "
            f"than {MAX_LOSS:g} of its least inertia would be rounding"
        )


def farthest(tree: FreeTree, free: Array) -> tuple[int, float]:
    """The body farthest from the anchor, and how far it is, m."""
    COMPILED.frame_poses(tree.handle, free, NO_FRAMES, NO_POSES)
    distances = np.linalg.norm(tree.work.arrays.states["p"], axis=1)
    body = int(distances.argmax())
    return body, float(distances[body])


NO_FRAMES = np.zeros(0, layout.FRAME).view(np.recarray)
NO_POSES = np.zeros((0, 4, 4))


def reach(tree: FreeTree) -> float:
    """No body is ever further from the anchor, m: all lengths on the way, and how far joints go."""
    bodies = tree.model.bodies
    if len(bodies) == 0:
        return 0.0
    length = lengths(tree.model)
    anchor = int(tree.model.world["anchor"][0])
    # What lies before the anchor moves others away from it only where they do not hang from it.
    inside = np.zeros(len(bodies), bool)
    inside[anchor] = True
    away = np.zeros(len(bodies))
    for i in range(anchor + 1, len(bodies)):
        parent = int(bodies["parent"][i])
        inside[i] = parent >= 0 and bool(inside[parent])
        away[i] = length[i] + (away[parent] if parent > anchor or inside[i] else 0.0)
    to_anchor = 0.0 if inside[anchor:].all() else float(length[: anchor + 1].sum())
    return float(away.max() + to_anchor)


def largest_distance(tree: FreeTree) -> float:
    """Where `MAX_LOSS` of the least inertia is rounding, m; by inertias at the neutral q."""
    bodies, n = tree.model.bodies, tree.nv_free
    M, q = np.empty((n, n)), np.zeros(tree.nq_free)
    for joint in tree.model.joints:
        if joint.type in ("spherical", "floating"):
            q[joint.q + joint.nq - 1] = 1.0
    COMPILED.mass_matrix(tree.handle, q, M)
    mass = np.array(bodies["mass"])
    for i in range(len(bodies) - 1, -1, -1):
        if bodies["parent"][i] >= 0:
            mass[bodies["parent"][i]] += mass[i]
    least = math.inf
    for i, body in enumerate(bodies):
        turning = 0 if body["kind"] == layout.PRISMATIC else min(3, int(body["columns"]))
        for c in range(int(body["column"]), int(body["column"]) + turning):
            if mass[i] > 0.0 and M[c, c] > 0.0:
                least = min(least, M[c, c] / mass[i])
    return math.sqrt(least * MAX_LOSS / np.finfo(np.float64).eps)
