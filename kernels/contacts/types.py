"""Contacts as users state them, and the results."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from torqued.kernels.contacts.rows import FULL, NORMAL, POINT
from torqued.kernels.model.description import Array

#: Kind → how many rows it constrains.
KINDS = {"normal": NORMAL, "point": POINT, "frame": FULL}


@dataclass(frozen=True)
class Wrench:
    """An external force on a frame at any point of it ([BK12] eq. 24), for `f_ext`.

    force    (3,) N in world axes
    moment   (3,) N m about that point, in world axes
    point    (3,) m in the frame's own axes
    """

    force: Any = (0.0, 0.0, 0.0)
    moment: Any = (0.0, 0.0, 0.0)
    point: Any = (0.0, 0.0, 0.0)


@dataclass(frozen=True)
class Contact:
    """A frame of the robot held in place.

    frame       name of the frame that is held
    kind        "normal": its origin along the normal; "point": its origin in all directions;
                "frame": rotation and translation
    point       where on the frame, in its own axes, m
    normal      direction in which the environment pushes, in the world
    other       frame of another body to hold against, a loop closure; default: the world
    other_point where on that frame
    target      where that point of the frame belongs, position (3,) or pose (4, 4): in the world,
                or relative to `other` at its point (default: there). What position errors are
                measured from when `stiffness` is not zero
    stiffness   Baumgarte gain on position errors, 1/s²
    damping     Baumgarte gain on velocity errors, 1/s
    friction    Coulomb coefficient; default: no verdict about friction
    half_size   half length and half width (2,) of a frame contact's surface around `point`, along
                the frame's own x and y, m; default: no verdict about tipping
    """

    frame: str
    kind: str = "frame"
    point: Any = (0.0, 0.0, 0.0)
    normal: Any = (0.0, 0.0, 1.0)
    other: str | None = None
    other_point: Any = (0.0, 0.0, 0.0)
    target: Any = None
    stiffness: float = 0.0
    damping: float = 0.0
    friction: float | None = None
    half_size: Any = None


@dataclass(frozen=True)
class ContactForce:
    """The force of one contact on the robot, along the contact's axes, and a verdict on it."""

    contact: Contact
    force: Array  # (3,) N: two tangents, then the normal
    moment: Array  # (3,) N m about the same axes; zero except for frame contacts
    axes: Array  # (3, 3): columns are the axes in the world
    redundant: bool  # other contacts imply (part of) this one
    pulls: bool  # the normal force is negative: a surface cannot do that, a loop closure can
    slips: bool  # the force leaves the friction cone
    tips: bool  # the center of pressure leaves the surface
    rotation: Array  # (3, 3) of the contact's frame in the world
    position: Array  # (3,) m, where the contact is in the world

    @property
    def feasible(self) -> bool:
        """Whether a surface with this friction could exert the force."""
        return not (self.pulls or self.slips or self.tips)

    @property
    def wrench(self) -> Array:
        """[moment; force] at the contact in world axes."""
        return np.concatenate([self.axes @ self.moment, self.axes @ self.force])

    @property
    def own_wrench(self) -> Array:
        """The same in the axes of the contact's frame, as a sensor there measures it."""
        turn = self.rotation.T @ self.axes
        return np.concatenate([turn @ self.moment, turn @ self.force])


def center_of_pressure(
    contacts: Sequence[ContactForce], normal: Any = (0.0, 0.0, 1.0), point: Any = (0.0, 0.0, 0.0)
) -> Array:
    """Where on a plane (through `point`, with `normal`) the forces of contacts together have no
    moment along it, (3,) in the world; NaN where they do not press."""
    n, o = np.asarray(normal, np.float64), np.asarray(point, np.float64)
    n = n / np.linalg.norm(n)
    force, moment = np.zeros(3), np.zeros(3)
    for contact in contacts:
        force += contact.wrench[3:]
        moment += contact.wrench[:3] + np.cross(contact.position - o, contact.wrench[3:])
    along = float(n @ force)
    if along == 0.0:
        return np.full(3, np.nan)
    return np.asarray(o + np.cross(n, moment) / along)


@dataclass(frozen=True)
class ContactSolution:
    """Accelerations and forces of a robot in contact."""

    a: Array  # (nv,) accelerations
    force: Array  # (m,) all rows
    contacts: tuple[Any, ...]  # a `ContactForce` per contact, a `LoopForce` per loop
    G: Array  # (m, nv) contact Jacobian
    gamma: Array  # (m,) G a = γ
    M: Array  # (nv, nv)
    inverse_inertia: Array  # (m, m) K = G M⁻¹ Gᵀ
    rank_deficient: bool  # contacts are redundant; forces are those of minimum norm
    conflicting: bool  # no acceleration satisfies all contacts; the nearest was taken
    rows: tuple[slice, ...]  # of `force`, per constraint that was given

    def center_of_pressure(
        self, normal: Any = (0.0, 0.0, 1.0), point: Any = (0.0, 0.0, 0.0)
    ) -> Array:
        """Of all contacts with the world together, on a plane; `center_of_pressure`."""
        ground = [c for c in self.contacts if isinstance(c, ContactForce) and not c.contact.other]
        return center_of_pressure(ground, normal, point)

    @property
    def kkt(self) -> Array:
        """The matrix of [F16] eq. 7."""
        m = len(self.gamma)
        return np.block([[self.M, self.G.T], [self.G, np.zeros((m, m))]])


@dataclass(frozen=True)
class ContactDerivatives:
    """Of accelerations (nv,) and of contact forces (m,) by q, v and τ, a column per velocity."""

    da_dq: Array  # (nv, nv)
    da_dv: Array
    da_dtau: Array
    dforce_dq: Array  # (m, nv)
    dforce_dv: Array
    dforce_dtau: Array


@dataclass(frozen=True)
class FrictionSolution:
    """Forces inside their friction cones over one time step."""

    a: Array  # (nv,) mean accelerations over the step
    force: Array  # (m,) all rows; also the start for the next step
    contacts: tuple[Any, ...]  # a `ContactForce` per contact
    states: tuple[str, ...]  # "separates", "sticks" or "slides", per contact
    residual: float  # m/s, the largest velocity by which a contact is off
    iterations: int  # sweeps and Newton steps
    converged: bool


@dataclass(frozen=True)
class ImpactSolution:
    """Velocities after an impact."""

    v: Array  # (nv,) velocities after it
    impulse: Array  # (m,) all rows
    energy_lost: float  # J; never negative but for velocities that were asked for
    rank_deficient: bool
    conflicting: bool
