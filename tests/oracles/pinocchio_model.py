"""The same robot in Pinocchio, and the maps between its coordinates and the native ones.

Per joint, v_pin = P(q) v and a_pin = P a + Ṗ v, so that τ = Pᵀ τ_pin, M = Pᵀ M_pin P and
C = Pᵀ (C_pin P + M_pin Ṗ) ([EW21] eq. 23-26). P is orthogonal: the identity except for
  floating   Pinocchio has [linear; angular]: a permutation
  planar     Pinocchio has the velocity in the child's axes: a rotation by -θ; q holds cos, sin
Euler joints are chains of Pinocchio's revolute joints with massless bodies between them, since
its computeCoriolisMatrix leaves out Φ̊: with its JointModelSphericalZYX or a composite joint,
C v is not the bias force. Coordinates stay native there.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pinocchio as pin

from torqued.kernels.model.description import JOINT_SIZES, Description, Joint, Pose

from .literal_joints import plane_axes
from .literal_tree import FLOATING_BASE, Base, root_link
from .spatial import Array

ANGULAR_LAST = np.roll(np.eye(6), 3, axis=1)  # [ω; u] to [u; ω]


@dataclass(frozen=True)
class _Entry:
    """One native joint: its coordinates here and there."""

    kind: str  # which P: "floating", "planar" or, where it is the identity, "same"
    joint_id: int  # of the Pinocchio joint that carries the child link
    qs: slice
    vs: slice  # the same in both
    pin_qs: slice


class PinocchioRobot:
    """Model, data and results in native coordinates. Armature included, all joints free.

    `euler_zyx_native` takes Pinocchio's own joint for euler_zyx; then `coriolis` is wrong.
    """

    def __init__(
        self,
        description: Description,
        base: Base = "fixed",
        gravity: tuple[float, float, float] = (0.0, 0.0, -9.81),
        euler_zyx_native: bool = False,
    ) -> None:
        self.model = pin.Model()
        self.model.gravity.linear = np.array(gravity)
        self.nq = 0
        self._euler_zyx_native = euler_zyx_native
        self._entries: list[_Entry] = []
        self._links = {link.name: link for link in description.links}
        self._joints = description.joints
        self._armature: list[float] = []

        root = root_link(description)
        if base == "floating":
            top = Joint(FLOATING_BASE, "floating", "world", root)
            self._add(top, 0, pin.SE3.Identity())
        else:
            self._hang(root, 0, pin.SE3.Identity())
        self.model.armature = np.array(self._armature)
        self.data = self.model.createData()
        self.nv: int = self.model.nv

    def _hang(self, link: str, joint_id: int, at: Any) -> None:
        """Hang a link at a Pinocchio joint, and below it everything that it carries."""
        own = self._links[link].inertia
        body = pin.Inertia(own.mass, own.com, own.rotational)
        self.model.appendBodyToJoint(joint_id, body, at)
        for joint in self._joints:
            if joint.parent != link:
                continue
            placement = at * _se3(joint.placement)
            if joint.type == "fixed":
                self._hang(joint.child, joint_id, placement)
            else:
                self._add(joint, joint_id, placement)

    def _add(self, joint: Joint, parent: int, at: Any) -> None:
        """Add a joint, and below it its child."""
        kind, before, models, after = self._recipe(joint)
        at = at * before
        pin_q = self.model.nq
        for n, joint_model in enumerate(models):
            parent = self.model.addJoint(parent, joint_model, at, f"{joint.name}/{n}")
            at = pin.SE3.Identity()
        nq, nv = JOINT_SIZES[joint.type]
        self._entries.append(
            _Entry(
                kind=kind,
                joint_id=parent,
                qs=slice(self.nq, self.nq + nq),
                vs=slice(len(self._armature), len(self._armature) + nv),
                pin_qs=slice(pin_q, self.model.nq),
            )
        )
        self.nq += nq
        self._armature.extend([joint.armature] * nv)
        self._hang(joint.child, parent, after)

    def _recipe(self, joint: Joint) -> tuple[str, Any, list[Any], Any]:
        """Kind of map, placement before, Pinocchio joints, placement of the child after them."""
        axis = np.asarray(joint.axis, dtype=np.float64)
        axis = axis / np.linalg.norm(axis)
        one = pin.SE3.Identity()
        if joint.type in ("revolute", "continuous"):
            return "same", one, [pin.JointModelRevoluteUnaligned(axis)], one
        if joint.type == "prismatic":
            return "same", one, [pin.JointModelPrismaticUnaligned(axis)], one
        if joint.type == "helical":
            return "same", one, [pin.JointModelHelicalUnaligned(axis, joint.pitch)], one
        if joint.type == "spherical":
            return "same", one, [pin.JointModelSpherical()], one
        if joint.type == "translation":
            return "same", one, [pin.JointModelTranslation()], one
        if joint.type == "floating":
            return "floating", one, [pin.JointModelFreeFlyer()], one
        if joint.type == "planar":
            # Pinocchio's plane is normal to z. Armature counts rates in the parent's axes, which
            # its planar joint does not have: the chain is exact there.
            A = pin.SE3(plane_axes(axis), np.zeros(3))
            if joint.armature == 0.0:
                return "planar", A, [pin.JointModelPlanar()], A.inverse()
            models = [pin.JointModelPX(), pin.JointModelPY(), pin.JointModelRZ()]
            return "same", A, models, A.inverse()
        if joint.type == "euler_zyx" and self._euler_zyx_native:
            return "same", one, [pin.JointModelSphericalZYX()], one
        if joint.type.startswith("euler_"):
            turn = {"x": pin.JointModelRX, "y": pin.JointModelRY, "z": pin.JointModelRZ}
            return "same", one, [turn[letter]() for letter in joint.type[-3:]], one
        raise ValueError(f"joint {joint.name!r}: type {joint.type!r} has no Pinocchio twin")

    # Coordinates

    def P(self, q: Array) -> Array:
        """(nv, nv) with v_pin = P v."""
        matrix = np.eye(self.nv)
        for entry in self._entries:
            if entry.kind == "floating":
                matrix[entry.vs, entry.vs] = ANGULAR_LAST
            elif entry.kind == "planar":
                c, s = np.cos(q[entry.qs][2]), np.sin(q[entry.qs][2])
                matrix[entry.vs, entry.vs] = [[c, s, 0.0], [-s, c, 0.0], [0.0, 0.0, 1.0]]
        return matrix

    def P_rate(self, q: Array, v: Array) -> Array:
        """Ṗ (nv, nv)."""
        matrix = np.zeros((self.nv, self.nv))
        for entry in self._entries:
            if entry.kind == "planar":
                c, s = np.cos(q[entry.qs][2]), np.sin(q[entry.qs][2])
                turning = np.array([[-s, c, 0.0], [-c, -s, 0.0], [0.0, 0.0, 0.0]])
                matrix[entry.vs, entry.vs] = v[entry.vs][2] * turning
        return matrix

    def q_to_pin(self, q: Array) -> Array:
        q_pin = np.zeros(self.model.nq)
        for entry in self._entries:
            own = q[entry.qs]
            if entry.kind == "planar":
                own = np.array([own[0], own[1], np.cos(own[2]), np.sin(own[2])])
            q_pin[entry.pin_qs] = own
        return q_pin

    def q_from_pin(self, q_pin: Array) -> Array:
        """Planar angles come back in (-π, π]."""
        q = np.zeros(self.nq)
        for entry in self._entries:
            own = q_pin[entry.pin_qs]
            if entry.kind == "planar":
                own = np.array([own[0], own[1], np.arctan2(own[3], own[2])])
            q[entry.qs] = own
        return q

    def v_to_pin(self, q: Array, v: Array) -> Array:
        return self.P(q) @ v

    def a_to_pin(self, q: Array, v: Array, a: Array) -> Array:
        return self.P(q) @ a + self.P_rate(q, v) @ v

    def a_from_pin(self, q: Array, v: Array, a_pin: Array) -> Array:
        return self.P(q).T @ (a_pin - self.P_rate(q, v) @ v)

    def tau_to_pin(self, q: Array, tau: Array) -> Array:
        return self.P(q) @ tau

    def tau_from_pin(self, q: Array, tau_pin: Array) -> Array:
        return self.P(q).T @ tau_pin

    def mass_matrix_from_pin(self, q: Array, M_pin: Array) -> Array:
        P = self.P(q)
        return P.T @ M_pin @ P

    def coriolis_from_pin(self, q: Array, v: Array, M_pin: Array, C_pin: Array) -> Array:
        P = self.P(q)
        return P.T @ (C_pin @ P + M_pin @ self.P_rate(q, v))

    def f_ext_to_pin(self, q: Array, f_ext: Array | None) -> Any:
        """World wrenches (bodies, 6) [moment; force] as Pinocchio's list in joint frames."""
        forces = pin.StdVec_Force()
        forces.extend([pin.Force.Zero() for _ in range(self.model.njoints)])
        if f_ext is not None:
            pin.forwardKinematics(self.model, self.data, self.q_to_pin(q))
            for entry, f in zip(self._entries, f_ext, strict=True):
                world = pin.Force(f[3:], f[:3])
                forces[entry.joint_id] = self.data.oMi[entry.joint_id].actInv(world)
        return forces

    # Algorithms, native in and out

    def rnea(self, q: Array, v: Array, a: Array, f_ext: Array | None = None) -> Array:
        forces = self.f_ext_to_pin(q, f_ext)
        state = self.q_to_pin(q), self.v_to_pin(q, v), self.a_to_pin(q, v, a)
        return self.tau_from_pin(q, pin.rnea(self.model, self.data, *state, forces))

    def crba(self, q: Array) -> Array:
        return self.mass_matrix_from_pin(q, self._crba_pin(q))

    def aba(self, q: Array, v: Array, tau: Array, f_ext: Array | None = None) -> Array:
        forces = self.f_ext_to_pin(q, f_ext)
        state = self.q_to_pin(q), self.v_to_pin(q, v), self.tau_to_pin(q, tau)
        return self.a_from_pin(q, v, pin.aba(self.model, self.data, *state, forces))

    def coriolis(self, q: Array, v: Array) -> Array:
        """C, Christoffel-consistent as Algorithm 1 of [EW21] with eq. 10."""
        M_pin = self._crba_pin(q)
        C_pin = pin.computeCoriolisMatrix(
            self.model, self.data, self.q_to_pin(q), self.v_to_pin(q, v)
        )
        return self.coriolis_from_pin(q, v, M_pin, np.array(C_pin))

    def _crba_pin(self, q: Array) -> Array:
        M: Array = np.array(pin.crba(self.model, self.data, self.q_to_pin(q)))
        full: Array = np.triu(M) + np.triu(M, 1).T  # only the upper half is promised
        return full


def _se3(pose: Pose) -> Any:
    return pin.SE3(pose.rotation, pose.position)
