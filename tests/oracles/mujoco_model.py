"""A URDF text in MuJoCo, with results in torqued's coordinates.

MuJoCo's free joint has position and quaternion w x y z, and as velocity the linear one in world
axes, then the angular one in body axes: v_mj = P v with P = [0 R; 1 0] in that block, and so
a_mj = P a + Ṗ v, τ = Pᵀ τ_mj, M = Pᵀ M_mj P ([EW21] eq. 23-26).
"""

from __future__ import annotations

from typing import Any

# Only for texts from this repository and from an installed package.
from xml.etree import ElementTree

import mujoco
import numpy as np

from torqued.kernels.model.model import JointInfo

from .literal_joints import rotation_of_quaternion
from .literal_tree import Base
from .spatial import Array

#: What dynamics need. Meshes, limits and losses stay outside.
LINK_TAGS = {"inertial"}
JOINT_TAGS = {"origin", "parent", "child", "axis"}


def dynamics_only(urdf: str) -> str:
    """The text with nothing but inertias and joints, to be taken as they are."""
    robot = ElementTree.fromstring(urdf)
    kept = {"link": LINK_TAGS, "joint": JOINT_TAGS}
    for element in list(robot):
        if element.tag not in kept:
            robot.remove(element)
            continue
        for child in list(element):
            if child.tag not in kept[element.tag]:
                element.remove(child)
    _rename_link(robot, "world", "not_the_world")  # MuJoCo takes that name for the ground
    settings = ElementTree.SubElement(robot, "mujoco")
    ElementTree.SubElement(settings, "compiler", fusestatic="false", balanceinertia="false")
    return ElementTree.tostring(robot, encoding="unicode")


def _rename_link(robot: ElementTree.Element, old: str, new: str) -> None:
    for link in robot.findall(f"link[@name='{old}']"):
        link.set("name", new)
    for end in ("parent", "child"):
        for place in robot.findall(f"joint/{end}[@link='{old}']"):
            place.set("link", new)


def build(urdf: str, base: Base) -> Any:
    """MuJoCo's model of a text; ValueError where MuJoCo refuses it."""
    spec = mujoco.MjSpec.from_string(dynamics_only(urdf))
    if base == "floating":
        spec.worldbody.first_body().add_freejoint()
    model = spec.compile()
    off = mujoco.mjtDisableBit
    model.opt.disableflags |= off.mjDSBL_CONSTRAINT | off.mjDSBL_CONTACT
    return model


class MujocoRobot:
    """`joints` say where torqued has the coordinates."""

    def __init__(self, model: Any, joints: list[JointInfo], armature: Array) -> None:
        self.model, self.data = model, mujoco.MjData(model)
        self.joints = joints
        self.nv = sum(joint.nv for joint in joints)
        assert model.nv == self.nv
        model.dof_armature[:] = self.P(None) @ armature

    def _place(self, joint: JointInfo) -> tuple[int, int]:
        """Of a joint's coordinates and velocities in MuJoCo."""
        if joint.type == "floating":
            return 0, 0
        index = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_JOINT, joint.name)
        return self.model.jnt_qposadr[index], self.model.jnt_dofadr[index]

    def q_to_mujoco(self, q: Array) -> Array:
        there = np.zeros(self.model.nq)
        for joint in self.joints:
            own = q[joint.q : joint.q + joint.nq]
            if joint.type == "floating":
                own = np.hstack([own[:3], own[6], own[3:6]])
            place = self._place(joint)[0]
            there[place : place + len(own)] = own
        return there

    def P(self, q: Array | None) -> Array:
        """(nv, nv) with v_mj = P v; without q for a base that is not turned."""
        matrix = np.zeros((self.nv, self.nv))
        for joint in self.joints:
            own = np.eye(joint.nv)
            if joint.type == "floating":
                R = np.eye(3) if q is None else rotation_of_quaternion(q[joint.q + 3 : joint.q + 7])
                own = np.block([[np.zeros((3, 3)), R], [np.eye(3), np.zeros((3, 3))]])
            place = self._place(joint)[1]
            matrix[place : place + joint.nv, joint.v : joint.v + joint.nv] = own
        return matrix

    def P_rate_v(self, q: Array, v: Array) -> Array:
        """Ṗ v: the velocity u of a floating base turns with its axes."""
        vector = np.zeros(self.nv)
        for joint in self.joints:
            if joint.type == "floating":
                w, u = v[joint.v : joint.v + 3], v[joint.v + 3 : joint.v + 6]
                R = rotation_of_quaternion(q[joint.q + 3 : joint.q + 7])
                vector[:3] = R @ np.cross(w, u)
        return vector

    def evaluate(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array, Array]:
        """M, bias and the accelerations under tau."""
        P = self.P(q)
        data = self.data
        data.qpos[:], data.qvel[:] = self.q_to_mujoco(q), P @ v
        data.qfrc_applied[:] = P @ tau  # P is orthogonal
        mujoco.mj_forward(self.model, data)
        M = np.zeros((self.nv, self.nv))
        mujoco.mj_fullM(self.model, data, M)
        rest = self.P_rate_v(q, v)
        return P.T @ M @ P, P.T @ (data.qfrc_bias + M @ rest), P.T @ (data.qacc - rest)
