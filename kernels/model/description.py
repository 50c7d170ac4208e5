"""What a robot is before it becomes arrays: links, joints and where they sit.

A `Description` is plain, immutable data. The readers of `sources.py` and the papers' families
(`families.py`) produce it, `checks.py` judges it, `assemble.py` turns it into a `Model`.
All lengths in metres, angles in radians, masses in kilograms.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from torqued.kernels.constraints.types import Loop
    from torqued.kernels.contacts.types import Contact

Array = NDArray[np.float64]

#: Number of coordinates q and of velocities v that a joint of each type has.
#: `euler_abc` joints turn about the intrinsic axes a, then b, then c (for example euler_zyx).
JOINT_SIZES: dict[str, tuple[int, int]] = {
    "fixed": (0, 0),
    "revolute": (1, 1),
    "continuous": (1, 1),
    "prismatic": (1, 1),
    "helical": (1, 1),
    "planar": (3, 3),  # x, y in the plane normal to the axis, then the angle about it
    "translation": (3, 3),
    "spherical": (4, 3),  # unit quaternion x y z w; angular velocity in the child's axes
    "floating": (7, 6),  # x y z and unit quaternion; [angular; linear] twist in the child's axes
    "euler_zyx": (3, 3),
    "euler_xyz": (3, 3),
    "euler_yxz": (3, 3),
    "euler_zxy": (3, 3),
    "euler_zxz": (3, 3),
    "euler_zyz": (3, 3),
}

#: Joint types of one degree of freedom, the only ones that can mimic or be mimicked.
SINGLE_DOF = frozenset({"revolute", "continuous", "prismatic", "helical"})

#: Joint types whose motion depends on the joint's axis.
USES_AXIS = SINGLE_DOF | {"planar"}


#: Joint types that `compound.py` takes apart into a chain of simple ones: turns about `axis` and
#: about the axis of one motion; a slide along `axis` and a turn about it; the motions in a row.
COMPOUND = frozenset({"universal", "cylindrical", "generic"})

#: Allowed parts of compound joints.
MOTIONS = ("revolute", "continuous", "prismatic")


#: Name of the joint that a floating base adds above the root link.
ROOT_JOINT = "root_joint"


def _identity() -> Array:
    return np.eye(3)


def _zeros() -> Array:
    return np.zeros(3)


@dataclass(frozen=True)
class Pose:
    """Where a frame sits in its parent: rotation (3, 3) and position (3,)."""

    rotation: Array = field(default_factory=_identity)
    position: Array = field(default_factory=_zeros)

    def __matmul__(self, inner: Pose) -> Pose:
        return Pose(self.rotation @ inner.rotation, self.rotation @ inner.position + self.position)


@dataclass(frozen=True)
class Inertia:
    """Mass, center of mass (3,) in link axes, rotational inertia (3, 3) about it in link axes."""

    mass: float = 0.0
    com: Array = field(default_factory=_zeros)
    rotational: Array = field(default_factory=lambda: np.zeros((3, 3)))


@dataclass(frozen=True)
class Mimic:
    """q = multiplier * q[joint] + offset."""

    joint: str
    multiplier: float = 1.0
    offset: float = 0.0


@dataclass(frozen=True)
class Limits:
    """Of a joint, per degree of freedom alike; infinite where nothing is known."""

    lower: float = -np.inf
    upper: float = np.inf
    velocity: float = np.inf
    effort: float = np.inf


@dataclass(frozen=True)
class Link:
    name: str
    inertia: Inertia = field(default_factory=Inertia)


@dataclass(frozen=True)
class Joint:
    """Connects `parent` to `child`; the child's frame is the joint's frame at q = 0."""

    name: str
    type: str
    parent: str
    child: str
    placement: Pose = field(default_factory=Pose)
    axis: Array = field(default_factory=lambda: np.array([1.0, 0.0, 0.0]))
    pitch: float = 0.0  # helical only: metres per radian
    limits: Limits = field(default_factory=Limits)
    damping: float = 0.0
    friction: float = 0.0
    armature: float = 0.0  # rotor inertia reflected to the joint, kg m^2 (or kg)
    mimic: Mimic | None = None
    #: Of `COMPOUND` types only: kind and axis (3,) of each motion.
    motions: tuple[tuple[str, Array], ...] = ()


@dataclass(frozen=True)
class LockedJoint:
    """A joint of one degree of freedom that is held at a position."""

    name: str
    type: str  # before it was locked
    position: float  # rad or m


@dataclass(frozen=True)
class Description:
    """A robot as links and joints, in document order. `source` names it in error messages.

    `notes` are sentences about its file that do no harm; `checks.check` hands them on as warnings.
    """

    name: str
    links: tuple[Link, ...]
    joints: tuple[Joint, ...]
    source: str = "<description>"
    notes: tuple[str, ...] = ()
    #: Joints that were locked (`lock.py`): fixed ones in `joints`.
    locked: tuple[LockedJoint, ...] = ()
    #: "fixed" or "floating" where the file says how its root link is held.
    base: str | None = None
    #: Acceleration of free fall (3,) in world axes, m/s², where the file says it.
    gravity: tuple[float, ...] | None = None
    #: Configurations by name: positions by joint (`ROOT_JOINT`: of a floating base). Joints that
    #: a posture does not name are where `Robot.neutral` has them.
    postures: Mapping[str, Mapping[str, tuple[float, ...]]] = field(default_factory=dict)
    #: Sets of constraints by name, for `contact_dynamics`.
    constraints: Mapping[str, tuple[Contact | Loop, ...]] = field(default_factory=dict)
