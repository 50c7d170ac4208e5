"""A URDF file as Pinocchio reads it, with results in torqued's coordinates.

Pinocchio orders joints by name, has cos and sin for continuous joints, and twists and wrenches
as [linear; angular]. Joints are found by name, so v_pin = P v with a permutation P.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pinocchio as pin

from torqued.kernels.model.model import JointInfo

from .literal_tree import Base
from .spatial import Array

#: Pinocchio's names of the representations that it has; `mixed` is made from `hybrid`.
REFERENCE = {
    "hybrid": pin.LOCAL_WORLD_ALIGNED,
    "body": pin.LOCAL,
    "spatial": pin.WORLD,
    "mixed": pin.LOCAL_WORLD_ALIGNED,
}

ANGULAR_LAST = np.roll(np.eye(6), 3, axis=1)  # [ω; u] to [u; ω]


def build(path: Path, base: Base, mimic: bool = False) -> Any:
    """Pinocchio's model of a file; ValueError where Pinocchio refuses it."""
    root = [pin.JointModelFreeFlyer()] if base == "floating" else []
    return pin.buildModelFromUrdf(str(path), *root, mimic=mimic)


class PinocchioUrdf:
    """`joints` say where torqued has the coordinates, without those that `model` follows."""

    def __init__(self, model: Any, joints: list[JointInfo]) -> None:
        self.model, self.data = model, model.createData()
        self.nq, self.nv = sum(j.nq for j in joints), sum(j.nv for j in joints)
        assert model.nv == self.nv
        self.joints = joints
        self.P = np.zeros((self.nv, self.nv))
        for joint in joints:
            there = model.idx_vs[model.getJointId(joint.name)]
            own = ANGULAR_LAST if joint.type == "floating" else np.eye(joint.nv)
            self.P[there : there + joint.nv, joint.v : joint.v + joint.nv] = own

    # Coordinates

    def q_to_pin(self, q: Array) -> Array:
        q_pin = np.zeros(self.model.nq)
        for joint in self.joints:
            index = self.model.getJointId(joint.name)
            own = q[joint.q : joint.q + joint.nq]
            if self.model.nqs[index] == 2:
                own = np.array([np.cos(own[0]), np.sin(own[0])])
            q_pin[self.model.idx_qs[index] :][: len(own)] = own
        return q_pin

    def q_from_pin(self, q_pin: Array) -> Array:
        """Continuous joints come back in (-π, π]."""
        q = np.zeros(self.nq)
        for joint in self.joints:
            index = self.model.getJointId(joint.name)
            own = q_pin[self.model.idx_qs[index] :][: self.model.nqs[index]]
            if joint.nq == 1 and len(own) == 2:
                own = np.array([np.arctan2(own[1], own[0])])
            q[joint.q : joint.q + joint.nq] = own
        return q

    # Algorithms, torqued's coordinates in and out

    def mass_matrix(self, q: Array) -> Array:
        M = np.array(pin.crba(self.model, self.data, self.q_to_pin(q)))
        full: Array = np.triu(M) + np.triu(M, 1).T  # only the upper half is promised
        return self.P.T @ full @ self.P

    def coriolis_matrix(self, q: Array, v: Array) -> Array:
        C = pin.computeCoriolisMatrix(self.model, self.data, self.q_to_pin(q), self.P @ v)
        return self.P.T @ np.array(C) @ self.P

    def gravity(self, q: Array) -> Array:
        return self.P.T @ pin.computeGeneralizedGravity(self.model, self.data, self.q_to_pin(q))

    def inverse_dynamics(self, q: Array, v: Array, a: Array) -> Array:
        state = self.q_to_pin(q), self.P @ v, self.P @ a
        return self.P.T @ pin.rnea(self.model, self.data, *state)

    def forward_dynamics(self, q: Array, v: Array, tau: Array) -> Array:
        state = self.q_to_pin(q), self.P @ v, self.P @ tau
        return self.P.T @ pin.aba(self.model, self.data, *state)

    def energy(self, q: Array, v: Array) -> tuple[float, float]:
        q_pin = self.q_to_pin(q)
        kinetic = pin.computeKineticEnergy(self.model, self.data, q_pin, self.P @ v)
        return kinetic, pin.computePotentialEnergy(self.model, self.data, q_pin)

    def total_mass(self) -> float:
        return float(pin.computeTotalMass(self.model))

    def center_of_mass(self, q: Array) -> Array:
        return np.array(pin.centerOfMass(self.model, self.data, self.q_to_pin(q)))

    def center_of_mass_jacobian(self, q: Array) -> Array:
        J = pin.jacobianCenterOfMass(self.model, self.data, self.q_to_pin(q))
        return np.array(J) @ self.P

    def centroidal_matrix(self, q: Array) -> Array:
        A = pin.ccrba(self.model, self.data, self.q_to_pin(q), np.zeros(self.nv))
        return ANGULAR_LAST @ np.array(A) @ self.P

    def centroidal_momentum(self, q: Array, v: Array) -> Array:
        h = pin.computeCentroidalMomentum(self.model, self.data, self.q_to_pin(q), self.P @ v)
        return np.array(ANGULAR_LAST @ h.vector)

    def centroidal_rate(self, q: Array, v: Array, a: Array) -> Array:
        state = self.q_to_pin(q), self.P @ v, self.P @ a
        rate = pin.computeCentroidalMomentumTimeVariation(self.model, self.data, *state)
        return np.array(ANGULAR_LAST @ rate.vector)

    def integrate(self, q: Array, v: Array, dt: float) -> Array:
        return self.q_from_pin(pin.integrate(self.model, self.q_to_pin(q), self.P @ v * dt))

    def difference(self, q0: Array, q1: Array) -> Array:
        step = pin.difference(self.model, self.q_to_pin(q0), self.q_to_pin(q1))
        return np.array(self.P.T @ step)

    # Frames

    def frame_pose(self, q: Array, frame: str) -> Array:
        pin.framesForwardKinematics(self.model, self.data, self.q_to_pin(q))
        return np.array(self.data.oMf[self.frame_id(frame)].homogeneous)

    def frame_jacobian(self, q: Array, frame: str, representation: str) -> Array:
        index, q_pin = self.frame_id(frame), self.q_to_pin(q)
        reference = REFERENCE[representation]
        J = np.array(pin.computeFrameJacobian(self.model, self.data, q_pin, index, reference))
        J = J.reshape(6, -1)  # (6,) where there is one velocity
        return self._represented(q, frame, representation) @ J @ self.P

    def frame_acceleration(
        self, q: Array, v: Array, a: Array, frame: str, representation: str
    ) -> Array:
        """J a + J̇ v. In world axes at a moving point that is the classical acceleration."""
        index, reference = self.frame_id(frame), REFERENCE[representation]
        state = self.q_to_pin(q), self.P @ v, self.P @ a
        pin.forwardKinematics(self.model, self.data, *state)
        get = pin.getFrameAcceleration
        if reference == pin.LOCAL_WORLD_ALIGNED:
            get = pin.getFrameClassicalAcceleration
        motion = get(self.model, self.data, index, reference).vector
        return np.array(self._represented(q, frame, representation) @ motion)

    def frame_id(self, frame: str) -> int:
        """Of a link, or of a joint where no link has the name."""
        bodies = [k for k, f in enumerate(self.model.frames) if f.name == frame and is_body(f)]
        return bodies[0] if bodies else int(self.model.getFrameId(frame))

    def _represented(self, q: Array, frame: str, representation: str) -> Array:
        """From Pinocchio's [linear; angular] to the representation."""
        turn = np.eye(6)
        if representation == "mixed":
            turn[:3, :3] = self.frame_pose(q, frame)[:3, :3].T
        return np.array(turn @ ANGULAR_LAST)


def is_body(frame: Any) -> bool:
    return bool(frame.type == pin.FrameType.BODY)
