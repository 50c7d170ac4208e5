"""What a chart is: q both ways, and the matrix A with its rate; the rest follows from them.

Methods called `…_to_native` take all their arguments in the chart, those called `…_from_native`
all of them native. A, Ȧ and their inverses are taken at the native q, which has no singularities.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Protocol

import numpy as np

from torqued.common.errors import NumericalError
from torqued.kernels.input_checks import numbers, unit_quaternions
from torqued.kernels.model.description import Array
from torqued.kernels.model.model import JointInfo, Model

#: Where the quaternion is in the coordinates of a joint that has one.
QUATERNION_OFFSET = {"floating": 3, "spherical": 0}

#: A matrix whose singular values spread wider than this has no inverse worth the name.
MAX_CONDITION = 1e12


class Native(Protocol):
    """What charts need of a robot, in native coordinates."""

    model: Model
    nq: int
    nv: int

    @property
    def name(self) -> str: ...
    @property
    def total_mass(self) -> float: ...
    def center_of_mass(self, q: Any) -> Array: ...
    def mass_matrix(self, q: Any) -> Array: ...
    def coriolis_matrix(self, q: Any, v: Any) -> Array: ...


def own_joints(model: Model, order: Sequence[int] | None = None) -> list[JointInfo]:
    """Joints with places in the robot's own q and v: followers of other joints left out.

    `order` has places in `model.joints`; by default they come as they stand there.
    """
    mimics = model.mimics
    leaders = set(mimics.leaders_v.tolist())
    return [
        replace(
            joint,
            q=int(np.searchsorted(mimics.leaders_q, joint.q)),
            v=int(np.searchsorted(mimics.leaders_v, joint.v)),
        )
        for joint in (model.joints if order is None else [model.joints[k] for k in order])
        if joint.v in leaders
    ]


class Chart(ABC):
    """Coordinates of one robot. `nq` and `nv` are the chart's own sizes."""

    nq: int
    nv: int

    def __init__(self, name: str, robot: Native) -> None:
        self.name, self.robot = name, robot
        self.joints = own_joints(robot.model)
        self._quaternions = [
            (joint.name, joint.q + QUATERNION_OFFSET[joint.type])
            for joint in self.joints
            if joint.type in QUATERNION_OFFSET
        ]

    def __repr__(self) -> str:
        return f"<Chart {self.name!r} of {self.robot.name!r}: nq={self.nq}, nv={self.nv}>"

    @property
    def joint_names(self) -> tuple[str, ...]:
        """Moving joints in the order of the chart's velocities."""
        return tuple(joint.name for joint in self.joints)

    @property
    def constant(self) -> bool:
        """Whether A is the same everywhere."""
        return False

    @property
    def reduces(self) -> bool:
        """Whether the robot has more ways to move than the chart has velocities."""
        return self.nv < self.robot.nv

    @abstractmethod
    def to_native(self, q: Any, name: str = "q") -> Array:
        """The native q of the chart's, checked; `name` stands in error messages."""

    @abstractmethod
    def from_native(self, q: Any) -> Array:
        """The chart's q of the native one."""

    @abstractmethod
    def A(self, q: Array) -> Array:
        """A (native nv, nv) at the native q: ν = A v̄. Not to be written to."""

    @abstractmethod
    def A_rate(self, q: Array, v: Array) -> Array:
        """Ȧ at the native q while the chart's velocity is v; linear in v."""

    def A_inverse(self, q: Array) -> Array:
        """A⁺ (nv, native nv): v̄ = A⁺ ν, with A A⁺ = 1."""
        return self.inverse_of(self.A(q))

    def inverse_of(self, A: Array) -> Array:
        """A⁻¹ of a square matrix that has one."""
        condition = float(np.linalg.cond(A))
        if not condition < MAX_CONDITION:
            raise NumericalError(
                f"coordinates {self.name!r}: A is singular here (its condition number is "
                f"{condition:.3g}, at most {MAX_CONDITION:.0e} is allowed)"
            )
        return np.asarray(np.linalg.inv(A), dtype=np.float64)

    def A_inverse_rate(self, q: Array, v: Array) -> Array:
        """The rate of A⁺ at the native q and v; −A⁻¹ Ȧ A⁻¹ for square A."""
        inverse = self.A_inverse(q)
        return -inverse @ self.A_rate(q, inverse @ v) @ inverse

    def velocity_to_native(self, q: Any, v: Any) -> Array:
        """ν = A v̄."""
        return self.A(self.to_native(q)) @ numbers("v", v, (self.nv,))

    def velocity_from_native(self, q: Any, v: Any) -> Array:
        """v̄ = A⁺ ν."""
        return self.A_inverse(self.native_q(q)) @ numbers("v", v, (self.robot.nv,))

    def acceleration_to_native(self, q: Any, v: Any, a: Any) -> Array:
        """ν̇ = A ā + Ȧ v̄."""
        native, v, a = self.to_native(q), numbers("v", v, (self.nv,)), numbers("a", a, (self.nv,))
        acceleration: Array = self.A(native) @ a + self.A_rate(native, v) @ v
        return acceleration

    def acceleration_from_native(self, q: Any, v: Any, a: Any) -> Array:
        """ā = A⁺ ν̇ + (A⁺)˙ ν: the rate of the chart's velocity, redundant charts included."""
        native, size = self.native_q(q), (self.robot.nv,)
        v, a = numbers("v", v, size), numbers("a", a, size)
        acceleration: Array = self.A_inverse(native) @ a + self.A_inverse_rate(native, v) @ v
        return acceleration

    def torque_to_native(self, q: Any, tau: Any) -> Array:
        """τ = A⁺ᵀ τ̄: the same virtual work for every motion that the robot can make."""
        return self.A_inverse(self.to_native(q)).T @ numbers("tau", tau, (self.nv,))

    def torque_from_native(self, q: Any, tau: Any) -> Array:
        """τ̄ = Aᵀ τ ([EW21] eq. 26); in redundant charts also the smallest τ̄ of that work."""
        return self.A(self.native_q(q)).T @ numbers("tau", tau, (self.robot.nv,))

    def advance(self, q: Array, step: Array, moved: Array) -> Array:
        """The chart's q after v̄ dt = `step`. `moved` is the native q that constant ν leads to;
        charts in which constant v̄ is another motion answer with that one."""
        return self.from_native(moved)

    def retreat(self, q0: Array, q1: Array, step: Array) -> Array:
        """The step with which `advance` leads from q0 to q1; `step` is the native one."""
        return self.A_inverse(self.to_native(q0)) @ step

    def native_q(self, q: Any) -> Array:
        """A native q, checked."""
        own = numbers("q", q, (self.robot.nq,))
        unit_quaternions("q", own, self._quaternions)
        return own
