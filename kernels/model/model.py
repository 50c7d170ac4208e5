"""The immutable result of loading a robot: arrays for kernels, names and limits for people."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from torqued.kernels.model.description import Array, Description, LockedJoint

Indices = NDArray[np.int64]


class Sealed:
    """Its arrays are read-only copies: kernels of all threads read them."""

    def __post_init__(self) -> None:
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                object.__setattr__(self, name, sealed(value))

    def __reduce__(self) -> tuple[Any, ...]:
        """Copies are sealed too."""
        return type(self), tuple(vars(self).values())


def sealed(array: NDArray[Any]) -> NDArray[Any]:
    """A copy in memory that no flag makes writeable."""
    memory = array.tobytes()
    copy: NDArray[Any] = np.ndarray(array.shape, array.dtype, memory)
    return copy.view(np.recarray) if array.dtype.names else copy


@dataclass(frozen=True)
class JointInfo:
    """A joint as the user sees it: where its coordinates are in the free tree's q and v."""

    name: str
    type: str
    q: int
    nq: int
    v: int
    nv: int


@dataclass(frozen=True)
class Frame(Sealed):
    """A named frame, fixed in a body (-1: in the world)."""

    name: str
    body: int
    rotation: Array  # (3, 3) in the body's frame
    position: Array  # (3,)


@dataclass(frozen=True)
class Capsule(Sealed):
    """What a link is inside of: all that is within a radius of a segment."""

    frame: str
    start: Array  # (3,) m in the frame's axes
    end: Array  # (3,)
    radius: float  # m


@dataclass(frozen=True)
class Dofs(Sealed):
    """Limits and losses; infinite where unknown. lower, upper per q, the others per v."""

    lower: Array
    upper: Array
    velocity: Array
    effort: Array
    damping: Array
    friction: Array
    armature: Array


@dataclass(frozen=True)
class Mimics(Sealed):
    """How the free tree follows the robot's coordinates: q_free = multiplier q[index] + offset."""

    q_index: Indices  # (nq_free,) into the robot's q
    v_index: Indices  # (nv_free,) into the robot's v
    multiplier: Array  # (nv_free,)
    q_multiplier: Array  # (nq_free,)
    offset: Array  # (nq_free,)
    leaders_q: Indices  # (nq,) coordinates of the free tree that remain
    leaders_v: Indices  # (nv,)

    @property
    def present(self) -> bool:
        return len(self.leaders_v) < len(self.v_index)


@dataclass(frozen=True)
class Model(Sealed):
    """A robot, loaded. Nothing in it changes afterwards."""

    name: str
    source: str
    base: str
    world: NDArray[np.void]
    bodies: NDArray[np.void]
    joints: tuple[JointInfo, ...]
    order_by_name: tuple[int, ...]  # places in joints, as readers that sort by name visit them
    frames: tuple[Frame, ...]
    dofs: Dofs
    mimics: Mimics
    warnings: tuple[str, ...]
    #: What it was assembled from, and whether bodies, joints and losses are still those of it.
    description: Description
    as_described: bool = True
    #: Whether damping and friction were measured, and not only written into a file.
    friction_measured: bool = False
    #: Joints that are held at a position, and their followers; not among `joints`.
    locked: tuple[LockedJoint, ...] = ()
    capsules: tuple[Capsule, ...] = ()

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Moving joints in the order of their coordinates; followers of other joints left out."""
        leaders = set(self.mimics.leaders_v.tolist())
        return tuple(joint.name for joint in self.joints if joint.v in leaders)

    @property
    def own_dofs(self) -> Dofs:
        """Those of the robot's own coordinates."""
        free, q, v = self.dofs, self.mimics.leaders_q, self.mimics.leaders_v
        return Dofs(
            free.lower[q],
            free.upper[q],
            free.velocity[v],
            free.effort[v],
            free.damping[v],
            free.friction[v],
            free.armature[v],
        )
