"""References that belong together: where something is to be, how fast, with which acceleration.

A law says what its references move (`Motion`); compiled code finds them by a record each. Numbers
that belong to no motion, such as which contacts are active, are values: taken as they come.

On the wire and in `Controller` a reference of NaN is one that is not given.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from torqued.kernels.model.reach import max_distance
from torqued.kernels.primitives.layout import FRAME

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

Array = NDArray[np.float64]

#: What moves: joints, a frame, or the center of mass.
JOINTS, FRAME_MOTION, COM = 0, 1, 2

#: All but `frame`, `reach` and the last four are indices among the references, -1 for none.
MOTION = np.dtype(
    [
        ("kind", "i8"),  # JOINTS, FRAME_MOTION, COM
        ("frame", FRAME),  # of a frame
        ("position", "i8"),  # (nq,) of joints, (3,) otherwise
        ("orientation", "i8"),  # (4,) quaternion x y z w
        ("reach", "f8"),  # m from the base that a position of a frame or COM may be; model/reach.py
        ("velocity", "i8"),  # (nv,); (6,) [angular; linear], (3,) where there is but one of them
        ("acceleration", "i8"),  # the same
        ("jerk", "i8"),  # (nv,), of joints only: the rate of their acceleration
        ("snap", "i8"),  # (nv,), and of that
        ("memory", "i8"),  # where its numbers begin in the memory of motions
        ("locked", "i8"),  # 1: what was commanded is followed as it is
        ("planned", "i8"),  # 1: a planned movement has a target for it
        ("resting", "i8"),  # 1: it stands where it is held, until something else is wanted of it
    ],
    align=True,
)

#: Numbers that a frame's motion keeps: pose (7), twist (6) and its rate (6) in its own axes; of a
#: planned movement the pose at its start (7), the twist to its target (6), that at its start (6).
POSE, TWIST, RATE = 0, 7, 13
START, WAY, START_TWIST = 19, 26, 32
FRAME_WORDS = 38


#: What a motion may have a reference for.
PARTS = ("position", "orientation", "velocity", "acceleration", "jerk", "snap")


@dataclass(frozen=True)
class Motion:
    """The names of references that make up one motion; None where a law has none."""

    kind: int
    position: str | None = None
    orientation: str | None = None
    velocity: str | None = None
    acceleration: str | None = None
    frame: Any = None  # fields of `FRAME`
    jerk: str | None = None  # of joints only
    snap: str | None = None

    @property
    def names(self) -> tuple[str, ...]:
        every = (getattr(self, part) for part in PARTS)
        return tuple(name for name in every if name is not None)


def joint_motions(references: Mapping[str, Any]) -> tuple[Motion, ...]:
    """The motion of joints, where a law has one by the usual names."""
    if "q_ref" not in references:
        return ()
    names = ("v_ref", "a_ref", "jerk_ref", "snap_ref")
    velocity, acceleration, jerk, snap = (x if x in references else None for x in names)
    return (Motion(JOINTS, "q_ref", None, velocity, acceleration, jerk=jerk, snap=snap),)


class JointMotion(NamedTuple):
    """Where the numbers of a joint motion begin in its memory."""

    p: int  # (nq,) position
    w: int  # (nv,) velocity
    a: int  # (nv,) acceleration
    j: int  # (nv,) jerk
    locked: int  # (nv,) 1: what was commanded is followed as it is
    start: int  # (nq,) of a planned movement: position at its start
    way: int  # (nv,) to its target
    start_w: int  # (nv,)
    start_a: int  # (nv,)
    ahead: int  # (nq,) where it could stand; scratch of pace.py
    end: int


def joint_words(nq: int, nv: int) -> int:
    """Numbers that a joint motion keeps."""
    return 3 * nq + 7 * nv


def motion_words(motions: Sequence[Motion], nq: int, nv: int) -> int:
    """Numbers that all motions of a law keep."""
    return sum(joint_words(nq, nv) if m.kind == JOINTS else FRAME_WORDS for m in motions)


def fill_motions(
    records: Any, motions: Sequence[Motion], references: Mapping[str, Array], robot: Robot
) -> None:
    """Records for compiled code."""
    nq, nv = robot.nq, robot.nv
    starts = {}
    at = 0
    for name, value in references.items():
        starts[name] = at
        at += math.prod(value.shape)
    memory = 0
    for record, motion in zip(records, motions, strict=True):
        record.kind = motion.kind
        if motion.frame is not None:
            record.frame = motion.frame
        if motion.kind != JOINTS:
            frame = None if motion.kind == COM else (int(record.frame.body), record.frame.p)
            record.reach = max_distance(robot.model, frame)
        for part in PARTS:
            name = getattr(motion, part)
            record[part] = -1 if name is None else starts[name]
        record.memory = memory
        memory += joint_words(nq, nv) if motion.kind == JOINTS else FRAME_WORDS
