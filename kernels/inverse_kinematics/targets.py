"""What users say about where a robot should be, and what they get back."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from torqued.kernels.model.description import Array

KINDS = ("pose", "position", "orientation", "com", "posture")

#: How a search ended.
REACHED, NEAREST, STOPPED = "reached", "nearest", "stopped"


@dataclass(frozen=True)
class Target:
    """One thing that a configuration should achieve.

    value      where to: a pose (4, 4), a position (3,), a rotation (3, 3), the position (3,) of the
               center of mass, or a configuration q
    frame      name of the frame that belongs there; none for "com" and "posture"
    kind       "pose", "position", "orientation", "com" or "posture"
    point      which point of the frame, in its own axes, m
    axes       those that count, of "xyz": of positions along the world's axes, of rotations about
               the target's own. An orientation with "xy" points the frame's z axis and leaves the
               turn about it free. Of a pose, its position's
    weight     how much it counts beside others of its priority; of a "posture", a number or one
               for each velocity (nv,)
    radian     how many metres one radian counts as
    priority   0 comes first. What comes later is achieved as far as it leaves the earlier alone
    """

    value: Any
    frame: str | None = None
    kind: str = "pose"
    point: Any = (0.0, 0.0, 0.0)
    axes: str = "xyz"
    weight: Any = 1.0
    radian: float = 0.3
    priority: int = 0


@dataclass(frozen=True)
class InverseKinematics:
    """A configuration, and how near it comes to what was asked for."""

    q: Array  # (nq,)
    status: str  # "reached"; "nearest" where no step comes nearer; "stopped" by the iterations
    errors: Array  # (targets,) the largest of each one's left_over, m or rad
    left_over: tuple[Array, ...]  # per target, what is missing: [turn rad; distance m]
    reached: tuple[bool, ...]  # per target
    iterations: int  # steps, of all starts together
    starts: int  # configurations from which it was tried

    @property
    def success(self) -> bool:
        """Whether all targets of the first priority but postures are reached."""
        return self.status == REACHED
