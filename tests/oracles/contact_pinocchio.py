"""Contacts in Pinocchio: constraint and impulse dynamics, and its solvers of friction problems."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pinocchio as pin

from torqued.kernels import Contact

from .pinocchio_urdf import ANGULAR_LAST, PinocchioUrdf
from .spatial import Array

KINDS = {"frame": pin.ContactType.CONTACT_6D, "point": pin.ContactType.CONTACT_3D}
EXACT = pin.ProximalSettings(1e-12, 0.0, 1)


class PinocchioContacts:
    """The contacts of a robot, in world axes at the held point: normals stay z.

    `q` is where loops are closed: Pinocchio refers both ends of a 6-D one to the first.
    """

    def __init__(self, robot: PinocchioUrdf, contacts: Sequence[Contact], q: Array) -> None:
        self.robot, self.data = robot, robot.model.createData()
        self.models = pin.StdVec_RigidConstraintModel()
        self.datas = pin.StdVec_RigidConstraintData()
        for contact in contacts:
            self.models.append(self._model(contact, q))
        for model in self.models:
            self.datas.append(model.createData())
        pin.initConstraintDynamics(robot.model, self.data, self.models, self.datas)

    def _model(self, contact: Contact, q: Array) -> Any:
        joint, place = self._place(contact.frame, contact.point)
        if contact.other is None:
            other, there = 0, pin.SE3.Identity()
            if contact.target is not None:
                there.translation = np.asarray(contact.target)
        else:
            other, there = self._place(contact.other, contact.other_point)
            if contact.kind == "frame":
                pin.forwardKinematics(self.robot.model, self.data, self.robot.q_to_pin(q))
                there = self.data.oMi[other].actInv(self.data.oMi[joint] * place)
        model = pin.RigidConstraintModel(
            KINDS[contact.kind],
            self.robot.model,
            joint,
            place,
            other,
            there,
            pin.LOCAL_WORLD_ALIGNED,
        )
        gains = model.m_baumgarte_parameters
        gains.Kp, gains.Kd = contact.stiffness, contact.damping
        model.setBaumgarteCorrectorParameters(gains)
        return model

    def _place(self, frame: str, point: Any) -> tuple[int, Any]:
        own = self.robot.model.frames[self.robot.frame_id(frame)]
        shift = pin.SE3(np.eye(3), np.asarray(point, dtype=np.float64))
        return own.parentJoint, own.placement * shift

    def dynamics(self, q: Array, v: Array, tau: Array) -> tuple[Array, Array]:
        """Accelerations and all forces, in torqued's order."""
        P, model = self.robot.P, self.robot.model
        state = self.robot.q_to_pin(q), P @ v, P @ tau
        a = pin.constraintDynamics(model, self.data, *state, self.models, self.datas, EXACT)
        return P.T @ a, self._rows(np.array(self.data.lambda_c))

    def impact(self, q: Array, v: Array, restitution: float) -> tuple[Array, Array]:
        """Velocities after it and all impulses."""
        P, model = self.robot.P, self.robot.model
        after = pin.impulseDynamics(
            model,
            self.data,
            self.robot.q_to_pin(q),
            P @ v,
            self.models,
            self.datas,
            restitution,
            EXACT,
        )
        return P.T @ after, self._rows(np.array(self.data.impulse_c))

    def _rows(self, values: Array) -> Array:
        """Moments before forces."""
        out, start = [], 0
        for model in self.models:
            size = 6 if model.type == pin.ContactType.CONTACT_6D else 3
            own = values[start : start + size]
            out.append(ANGULAR_LAST.T @ own if size == 6 else own)
            start += size
        return np.concatenate(out)


def friction_impulses(K: Array, b: Array, friction: Sequence[float], solver: str) -> Array:
    """p of w = b + K p for points with friction, by Pinocchio's "admm" or "pgs"."""
    model = pin.Model()
    model.addJoint(0, pin.JointModelFreeFlyer(), pin.SE3.Identity(), "any")
    models, datas = pin.StdVec_ConstraintModel(), pin.StdVec_ConstraintData()
    for coefficient in friction:
        contact = pin.PointContactConstraintModel(model, 1)
        contact.setFriction(coefficient)
        models.append(pin.ConstraintModel(contact))
    for contact in models:
        datas.append(contact.createData())
    if solver == "admm":
        method = pin.ADMMConstraintSolver(len(b))
        settings, result = pin.ADMMSolverSettings(), pin.ADMMSolverResult()
    else:
        method = pin.PGSConstraintSolver(len(b))
        settings, result = pin.PGSSolverSettings(), pin.PGSSolverResult()
    settings.max_iterations = 20000
    settings.absolute_feasibility_tol = settings.absolute_complementarity_tol = 1e-11
    settings.relative_feasibility_tol = settings.relative_complementarity_tol = 0.0
    settings.solve_ncp = True
    converged = method.solve(pin.DelassusOperatorDense(K), b, models, datas, settings, result)
    assert converged
    return np.array(result.retrieveConstraintImpulses())
