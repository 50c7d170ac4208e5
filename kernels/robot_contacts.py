"""The part of `Robot` about contacts: dynamics with held frames, friction, impacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from torqued.kernels.articulated import SINGULAR
from torqued.kernels.compiled import COMPILED
from torqued.kernels.contact_rows import contact_records
from torqued.kernels.contact_solvers import (
    CONFLICTING,
    RANK_DEFICIENT,
    SOLVERS,
    ContactSpace,
    contact_space,
)
from torqued.kernels.contacts import (
    KINDS,
    Contact,
    ContactForce,
    ContactSolution,
    FrictionSolution,
    ImpactSolution,
)
from torqued.kernels.errors import InputError, NumericalError
from torqued.kernels.inputs import choice, numbers
from torqued.kernels.model.assemble import axis_frame
from torqued.kernels.model.description import Array
from torqued.kernels.robot_base import RobotBase
from torqued.kernels.workspace import unbranched

STATES = ("separates", "sticks", "slides")

#: Rows with a larger share in forces that move nothing count as redundant.
REDUNDANT = 1e-6


class ContactMethods(RobotBase):
    """Forces act on the robot; M a + bias = τ + Gᵀ force."""

    def contact_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        contacts: Sequence[Contact],
        solver: str = "range_space",
    ) -> ContactSolution:
        """Accelerations and contact forces while frames are held ([F16] eq. 7).

        Contacts pull as well as push; each force comes with a verdict. `solver` is
        "range_space" (fastest), "direct" or "null_space".
        """
        choice("solver", solver, SOLVERS)
        records = self._contact_records(contacts)
        space = self._contact_terms(q, v, records, dense=solver != "range_space")
        torque = numbers("tau", tau, (self.nv,))
        status = COMPILED.contact_solve(self._factor_handle(), torque, SOLVERS[solver], space)
        self._require_solved(status)
        return ContactSolution(
            a=space.a,
            force=space.force,
            contacts=contact_forces(contacts, records, space),
            G=space.G,
            gamma=space.gamma,
            M=np.triu(space.M) + np.triu(space.M, 1).T,
            inverse_inertia=space.K,
            rank_deficient=bool(status & RANK_DEFICIENT),
            conflicting=bool(status & CONFLICTING),
        )

    def friction_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        contacts: Sequence[Contact],
        dt: float,
        iterations: int = 1000,
        tolerance: float = 1e-9,
        start: Any = None,
    ) -> FrictionSolution:
        """Accelerations over a time step dt with contacts that only push, stick, slide or let go.

        Contacts are of kind "point" (with `friction`) or "normal" (without). A surface is several
        points. `start` is the force of a former solution, to begin from. Iterations end when
        corrections fall below `tolerance`, m/s.
        """
        dt = float(numbers("dt", dt, ()))
        if dt <= 0.0:
            raise InputError(f"dt is {dt}, expected a positive time step in seconds")
        for k, contact in enumerate(contacts):
            if contact.kind not in ("point", "normal"):
                raise InputError(
                    f"contacts[{k}]: kind {contact.kind!r} cannot have friction cones, allowed: "
                    "'point', 'normal' (a surface is several points)"
                )
            if contact.kind == "point" and contact.friction is None:
                raise InputError(f"contacts[{k}]: a point contact needs a friction coefficient")
        records = self._contact_records(contacts)
        space = self._contact_terms(q, v, records, dense=False)
        if start is not None:
            space.force[:] = numbers("start", start, space.force.shape)
        states = np.zeros(len(contacts), np.int64)
        torque = numbers("tau", tau, (self.nv,))
        status = COMPILED.friction_solve(
            self._factor_handle(), torque, records, dt, iterations, tolerance, space, states
        )
        self._require_solved(status)
        return FrictionSolution(
            a=space.a,
            force=space.force,
            contacts=contact_forces(contacts, records, space),
            states=tuple(STATES[state] for state in states),
            residual=float(space.rhs[0]) if len(space.rhs) else 0.0,
            iterations=int(space.x[0]) if len(space.rhs) else 0,
            converged=status == 0,
        )

    def impact(
        self, q: Any, v: Any, contacts: Sequence[Contact], restitution: float = 0.0
    ) -> ImpactSolution:
        """Velocities after frames hit what holds them, G v⁺ = −e G v⁻ ([F16] eq. 10).

        `restitution` e is between 0 (the frames stay) and 1 (no energy is lost).
        """
        e = float(numbers("restitution", restitution, ()))
        if not 0.0 <= e <= 1.0:
            raise InputError(f"restitution is {e}, allowed: 0 to 1")
        records = self._contact_records(contacts)
        space = self._contact_terms(q, v, records, dense=False)
        before = numbers("v", v, (self.nv,))
        status = COMPILED.impact_solve(self._factor_handle(), before, e, space)
        self._require_solved(status)
        # Work of the impulse over the mean of the velocities before and after.
        lost = -0.5 * space.force @ (space.velocity + space.G @ space.a)
        return ImpactSolution(
            v=space.a,
            impulse=space.force,
            energy_lost=max(0.0, float(lost)),
            rank_deficient=bool(status & RANK_DEFICIENT),
            conflicting=bool(status & CONFLICTING),
        )

    def _contact_terms(self, q: Any, v: Any, records: Any, dense: bool) -> ContactSpace:
        """M, bias, G, G v and γ in the robot's own coordinates."""
        rows = int(records.kind.sum())
        space = contact_space(self.nv_free, rows, dense)
        free_q, free_v = self._free_q(q), self._free_v("v", v)
        COMPILED.contact_terms(self.work.handle, free_q, free_v, records, space)
        if not self.model.mimics.present:
            return space
        own = contact_space(self.nv, rows, dense)
        own.M[:] = self._reduce_matrix(space.M)
        own.bias[:] = self._reduce_vector(space.bias)
        own.G[:] = self._reduce_rows(space.G)
        own.velocity[:], own.gamma[:] = space.velocity, space.gamma
        return own

    def _factor_handle(self) -> int:
        """The workspace whose tree tells the sparsity of M; mimic joints couple branches."""
        if not self.model.mimics.present:
            return self.work.handle
        if self._unbranched is None:
            self._unbranched = unbranched(self.nv)
        return self._unbranched.handle

    def _contact_records(self, contacts: Sequence[Contact]) -> Any:
        records = contact_records(len(contacts))
        row = 0
        for k, (record, contact) in enumerate(zip(records, contacts, strict=True)):
            name = f"contacts[{k}]"
            if not isinstance(contact, Contact):
                raise InputError(f"{name} is {type(contact).__name__}, expected a Contact")
            record.kind = KINDS[choice(f"{name}.kind", contact.kind, KINDS)]
            record.row = row
            row += record.kind
            record.a = self._frames([contact.frame], contact.point)[0]
            record.b = self._opposite(name, contact)
            normal = numbers(f"{name}.normal", contact.normal, (3,))
            if np.linalg.norm(normal) < 1e-9:
                raise InputError(f"{name}.normal is zero, expected a direction")
            record.axes = axis_frame(normal).ravel()
            record.stiffness = self._gain(f"{name}.stiffness", contact.stiffness)
            record.damping = self._gain(f"{name}.damping", contact.damping)
            record.friction = self._gain(f"{name}.friction", contact.friction or 0.0)
            if record.stiffness > 0.0 and contact.other is None and contact.target is None:
                raise InputError(f"{name}: stiffness needs a target to measure errors from")
        return records

    def _opposite(self, name: str, contact: Contact) -> Any:
        """The frame that a contact is held against."""
        if contact.other is not None:
            if contact.kind == "normal":
                raise InputError(
                    f"{name}: a loop closure of kind 'normal' is not defined, "
                    "allowed: 'point', 'frame'"
                )
            return self._frames([contact.other], contact.other_point)[0]
        world = contact_records(1)[0].b
        world.body = -1
        world.R = np.eye(3).ravel()
        if contact.target is not None:
            target = np.asarray(contact.target, dtype=np.float64)
            if target.ndim == 1:
                world.p = numbers(f"{name}.target", target, (3,))
                if contact.kind == "frame" and contact.stiffness:
                    raise InputError(f"{name}.target: a frame contact needs a pose (4, 4)")
            else:
                pose = numbers(f"{name}.target", target, (4, 4))
                world.R, world.p = pose[:3, :3].ravel(), pose[:3, 3]
        return world

    def _gain(self, name: str, value: Any) -> float:
        gain = float(numbers(name, value, ()))
        if gain < 0.0:
            raise InputError(f"{name} is {gain}, expected zero or a positive number")
        return gain

    def _require_solved(self, status: int) -> None:
        if status & SINGULAR:
            raise NumericalError(f"robot {self.name!r}: the mass matrix is singular here")


def contact_forces(
    contacts: Sequence[Contact], records: Any, space: ContactSpace
) -> tuple[ContactForce, ...]:
    """Each contact's force along its axes, with a verdict."""
    out = []
    for contact, record in zip(contacts, records, strict=True):
        rows = slice(int(record.row), int(record.row + record.kind))
        part: Array = space.force[rows]
        force, moment = np.zeros(3), np.zeros(3)
        if contact.kind == "normal":
            force[2] = part[0]
        elif contact.kind == "point":
            force[:] = part
        else:
            moment[:], force[:] = part[:3], part[3:]
        slack = 1e-9 * (1.0 + float(np.abs(force).max()))
        tangential = float(np.hypot(force[0], force[1]))
        tips = False
        if contact.kind == "frame" and contact.half_size is not None:
            half = numbers("half_size", contact.half_size, (2,))
            # Centre of pressure: x = −m_y / f_z, y = m_x / f_z.
            tips = bool(
                abs(moment[1]) > half[0] * force[2] + slack
                or abs(moment[0]) > half[1] * force[2] + slack
            )
        out.append(
            ContactForce(
                contact=contact,
                force=force,
                moment=moment,
                axes=record.axes.reshape(3, 3).copy(),
                redundant=bool((space.redundancy[rows] > REDUNDANT).any()),
                pulls=bool(force[2] < -slack),
                slips=contact.friction is not None
                and tangential > contact.friction * max(0.0, float(force[2])) + slack,
                tips=tips,
            )
        )
    return tuple(out)
