"""How far a robot is from touching itself: the distances between capsules that its configuration
puts on its frames.

    capsules = [{"frame": "panda_link4", "start": [0, 0, 0], "end": [0, 0.1, 0], "radius": 0.06}]
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.common.errors import InputError
from torqued.kernels.input_checks import known_keys, known_name, number, numbers, sequence, shown
from torqued.kernels.model.checks_mass import MAX_NUMBER, in_range
from torqued.kernels.model.description import Array
from torqued.kernels.model.model import Capsule, Model
from torqued.kernels.result_checks import finite_arithmetic
from torqued.kernels.robot.frames import Frames

KEYS = ("frame", "start", "end", "radius")


@dataclass(frozen=True)
class Clearance:
    """Between two capsules: the distance between their surfaces, m, negative where they overlap."""

    frame: str
    other: str
    distance: float


def capsules_of(model: Model, given: Any) -> tuple[Capsule, ...]:
    """Maps of `frame`, `start` and `end` (3,) m in its axes (default: its origin), `radius` m."""
    frames, found = {frame.name for frame in model.frames}, []
    for k, entry in enumerate(sequence("capsules", () if given is None else given, "maps")):
        field = f"capsules[{k}]"
        if not isinstance(entry, Mapping):
            wanted = f"a map of {', '.join(KEYS)}"
            raise InputError(f"{field}: {shown(entry)}, expected {wanted}", field, None, wanted)
        known_keys(field, entry, KEYS)
        frame = known_name(f"{field}.frame", "frame", entry.get("frame"), frames)
        start, end = (
            numbers(f"{field}.{key}", entry.get(key, (0, 0, 0)), (3,)) for key in ("start", "end")
        )
        radius = number(f"{field}.radius", entry.get("radius"))
        if not radius > 0.0 or not in_range(np.append([start, end], radius)):
            wanted = f"a positive number, and all numbers up to {MAX_NUMBER:g}"
            raise InputError(f"{field}.radius is {radius}, expected {wanted}", field, None, wanted)
        found.append(Capsule(frame, start, end, radius))
    return tuple(found)


class Capsules(Frames):
    """Of all pairs of capsules but those on one body, or on two that a joint connects."""

    @finite_arithmetic
    def clearances(self, q: Any) -> list[Clearance]:
        """The nearest pair first."""
        self.tree.q(q)  # which is checked without capsules, too
        own, pairs = self.model.capsules, self._pairs
        poses = [self.frame_pose(q, capsule.frame) for capsule in own]
        start, end = (
            np.array([p[:3, :3] @ x + p[:3, 3] for p, x in zip(poses, ends, strict=True)])
            for ends in ([c.start for c in own], [c.end for c in own])
        )
        if not len(pairs):
            return []
        i, j = pairs.T
        radius = np.array([capsule.radius for capsule in own])
        distance = between(start[i], end[i], start[j], end[j]) - radius[i] - radius[j]
        return [
            Clearance(own[i[k]].frame, own[j[k]].frame, float(distance[k]))
            for k in np.argsort(distance)
        ]

    @cached_property
    def _pairs(self) -> NDArray[np.int64]:
        """(k, 2) places in the model's capsules."""
        of_frame = {frame.name: frame.body for frame in self.model.frames}
        on = [of_frame[capsule.frame] for capsule in self.model.capsules]
        masses, parents = self.model.bodies["mass"], self.model.bodies["parent"]

        def before(body: int) -> int:
            """The next body on the way to the root that is one: joints may be chains."""
            body = int(parents[body]) if body >= 0 else body
            while body >= 0 and masses[body] == 0.0 and body not in on:
                body = int(parents[body])
            return body

        apart = [
            (i, j)
            for j in range(len(on))
            for i in range(j)
            if on[i] != on[j] and on[i] != before(on[j]) and on[j] != before(on[i])
        ]
        return np.array(apart, np.int64).reshape(-1, 2)


def between(a: Array, b: Array, c: Array, d: Array) -> Array:
    """Distances (k,) of segments a b and c d, (k, 3) each: where neither of the nearest points of
    the lines is beyond an end, there; else from an end to the other segment."""
    ends = [_from_point(p, *s) for p, s in ((a, (c, d)), (b, (c, d)), (c, (a, b)), (d, (a, b)))]
    u, v, w = b - a, d - c, a - c
    uu, uv, vv = (np.einsum("ki,ki->k", x, y) for x, y in ((u, u), (u, v), (v, v)))
    uw, vw = np.einsum("ki,ki->k", u, w), np.einsum("ki,ki->k", v, w)
    size = uu * vv - uv * uv
    parallel = size <= 1e-12 * uu * vv
    safe = np.where(parallel, 1.0, size)
    s, t = (uv * vw - vv * uw) / safe, (uu * vw - uv * uw) / safe
    inside = ~parallel & (s >= 0.0) & (s <= 1.0) & (t >= 0.0) & (t <= 1.0)
    across = np.linalg.norm(w + s[:, None] * u - t[:, None] * v, axis=1)
    least: Array = np.minimum.reduce(ends)
    return np.where(inside, np.minimum(across, least), least)


def _from_point(p: Array, c: Array, d: Array) -> Array:
    """Distances (k,) of points (k, 3) from segments c d."""
    along, length = np.einsum("ki,ki->k", p - c, d - c), np.einsum("ki,ki->k", d - c, d - c)
    t = np.clip(along / np.where(length > 0.0, length, 1.0), 0.0, 1.0)
    found: Array = np.linalg.norm(p - c - t[:, None] * (d - c), axis=1)
    return found
