"""Coordinates as other libraries have them for the same file.

    pinocchio   joints by name; continuous joints as (cos, sin); floating joints with
                v = [u, ω] in the child's axes; planar ones with q = [x y, cos, sin] and v in the
                child's axes
    mujoco      joints in document order; quaternions w x y z; floating joints with
                v = [ẋ in the parent's axes, ω in the child's]
    rbdl        joints by name; v as in MuJoCo (TranslationXYZ, then Spherical); the w of every
                quaternion at the end of q, in the order of the joints

Pinocchio and RBDL read files with urdfdom, which sorts the joints below a link by name.
"""

from __future__ import annotations

import numpy as np

from torqued.kernels.charts.base_orientation import FreeBase, Orientation, ScalarFirst
from torqued.kernels.charts.jointwise import JointMap, NativeQuaternion, native_map
from torqued.kernels.charts.rotation import norm_fault
from torqued.kernels.model.description import Array
from torqued.kernels.model.model import JointInfo

LINEAR_FIRST = np.roll(np.eye(6), 3, axis=0)  # [u; ω] to [ω; u]


class LinearFirst(NativeQuaternion):
    """Pinocchio's free flyer: native q, v = [u, ω] in the child's axes."""

    def A(self, q: Array) -> Array:
        return LINEAR_FIRST


class CosineSine(JointMap):
    """Pinocchio's joints without limits; angles come back in (−π, π]."""

    def fault(self, q: Array) -> str | None:
        return norm_fault("(cos, sin)", q)

    def to_native(self, q: Array) -> Array:
        return np.array([np.arctan2(q[1], q[0])])

    def from_native(self, q: Array) -> Array:
        return np.array([np.cos(q[0]), np.sin(q[0])])

    def difference(self, q0: Array, q1: Array) -> Array:
        """The shorter way."""
        return np.array([_angle_between(q0, q1)])


class BodyPlanar(JointMap):
    """Pinocchio's planar joint: q = [x y, cos, sin], v = [ẋ ẏ in the child's axes, θ̇]."""

    constant = False

    def fault(self, q: Array) -> str | None:
        return norm_fault("(cos, sin)", q[2:])

    def to_native(self, q: Array) -> Array:
        return np.array([q[0], q[1], np.arctan2(q[3], q[2])])

    def from_native(self, q: Array) -> Array:
        return np.array([q[0], q[1], np.cos(q[2]), np.sin(q[2])])

    def A(self, q: Array) -> Array:
        c, s = np.cos(q[2]), np.sin(q[2])
        return np.array([[c, -s, 0.0], [s, c, 0.0], [0.0, 0.0, 1.0]])

    def A_rate(self, q: Array, v: Array) -> Array:
        c, s = np.cos(q[2]), np.sin(q[2])
        return float(v[2]) * np.array([[-s, -c, 0.0], [c, -s, 0.0], [0.0, 0.0, 0.0]])

    def integrate(self, q: Array, step: Array) -> Array:
        """Along an arc of a circle: the exponential of SE(2)."""
        x, y, angle = self.to_native(q)
        shift = self.A(np.array([x, y, angle]))[:2, :2] @ _arc(step[2]) @ step[:2]
        return self.from_native(np.array([x + shift[0], y + shift[1], angle + step[2]]))

    def difference(self, q0: Array, q1: Array) -> Array:
        angle = _angle_between(q0[2:], q1[2:])
        shift = self.A(self.to_native(q0))[:2, :2].T @ (q1[:2] - q0[:2])
        return np.append(np.linalg.solve(_arc(angle), shift), angle)


def _arc(angle: float) -> Array:
    """(2, 2): mean rotation over the turn."""
    s = np.sinc(angle / np.pi)
    c = 0.5 * angle * np.sinc(0.5 * angle / np.pi) ** 2  # (1 − cos)/angle
    return np.array([[s, -c], [c, s]])


def _angle_between(start: Array, end: Array) -> float:
    """Of two (cos, sin), in (−π, π]."""
    return float(np.arctan2(start[0] * end[1] - start[1] * end[0], start @ end))


class Ball(JointMap):
    """A spherical joint with its quaternion in the order of `orientation`."""

    def __init__(self, orientation: Orientation, last: int = 0) -> None:
        super().__init__(4, 3)
        self.orientation, self.last = orientation, last

    def fault(self, q: Array) -> str | None:
        return self.orientation.fault(q)

    def to_native(self, q: Array) -> Array:
        return self.orientation.quaternion(q)

    def from_native(self, q: Array) -> Array:
        return self.orientation.parameters(q)


def pinocchio_map(joint: JointInfo) -> JointMap:
    if joint.type == "floating":
        return LinearFirst(7, 6)
    if joint.type == "continuous":
        return CosineSine(2, 1)
    if joint.type == "planar":
        return BodyPlanar(4, 3)
    return native_map(joint)


def mujoco_map(joint: JointInfo) -> JointMap:
    if joint.type == "floating":
        return FreeBase(ScalarFirst())
    if joint.type == "spherical":
        return Ball(ScalarFirst())
    return native_map(joint)


def rbdl_map(joint: JointInfo) -> JointMap:
    if joint.type == "floating":
        return FreeBase(Orientation(), last=1)
    if joint.type == "spherical":
        return Ball(Orientation(), last=1)
    return native_map(joint)
