"""The part of `Robot` about contacts: dynamics with held frames, friction, impacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from torqued.common.errors import InputError, NumericalError
from torqued.kernels.charts import Coordinates
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.contacts.rows import CONTACT, contact_records
from torqued.kernels.contacts.solvers import (
    CONFLICTING,
    RANK_DEFICIENT,
    SOLVERS,
    ContactSpace,
    contact_space,
)
from torqued.kernels.contacts.types import (
    KINDS,
    Contact,
    ContactForce,
    ContactSolution,
    FrictionSolution,
    ImpactSolution,
)
from torqued.kernels.dynamics.articulated import OK, SINGULAR
from torqued.kernels.input_checks import choice, numbers
from torqued.kernels.model.assemble import axis_frame
from torqued.kernels.model.description import Array
from torqued.kernels.primitives.workspace import unbranched
from torqued.kernels.robot.frames import FrameMethods

STATES = ("separates", "sticks", "slides")

#: Rows with a larger share in forces that move nothing count as redundant.
REDUNDANT = 1e-6

#: How far RᵀR of a target may be from the identity.
ROTATION_TOLERANCE = 1e-6


class Place(NamedTuple):
    """A frame: the body that carries it (-1: the world), its rotation and position there."""

    body: int
    R: Array
    p: Array

    @property
    def fields(self) -> tuple[int, Array, Array]:
        """Those of `FRAME`."""
        return self.body, self.R.ravel(), self.p


class ContactMethods(FrameMethods):
    """Forces act on the robot; M a + bias = τ + Gᵀ force."""

    def contact_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        contacts: Sequence[Contact],
        solver: str = "range_space",
        *,
        coordinates: Coordinates = "native",
    ) -> ContactSolution:
        """Accelerations and contact forces while frames are held ([F16] eq. 7).

        Contacts pull as well as push; each force comes with a verdict. `solver` is
        "range_space" (fastest), "direct" or "null_space".
        """
        choice("solver", solver, SOLVERS)
        if coordinates != "native":
            return self._in(coordinates).contact_dynamics(q, v, tau, contacts, solver)
        records = self._contact_records(contacts)
        space = self._contact_terms(q, v, records, dense=solver != "range_space")
        torque = numbers("tau", tau, (self.nv,))
        status = COMPILED.contact_solve(self._factor_handle(), torque, SOLVERS[solver], space)
        self._require_solved(status)
        return ContactSolution(
            a=space.a,
            force=space.force,
            contacts=self._contact_forces(q, contacts, records, space),
            G=space.G,
            gamma=space.gamma,
            M=space.M,
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
        *,
        coordinates: Coordinates = "native",
    ) -> FrictionSolution:
        """Accelerations over a time step dt with contacts that only push, stick, slide or let go.

        Contacts are of kind "point" (with `friction`) or "normal" (without). A surface is several
        points. Iterations end when no contact is off by more than `tolerance`, m/s. `start` is
        the force of a former solution, to begin from. Baumgarte gains act along normals only:
        tangents may slide.
        """
        if coordinates != "native":
            options = {"iterations": iterations, "tolerance": tolerance, "start": start}
            return self._in(coordinates).friction_dynamics(q, v, tau, contacts, dt, **options)
        dt = float(numbers("dt", dt, ()))
        if dt <= 0.0:
            raise InputError(f"dt is {dt}, expected a positive time step in seconds")
        if not isinstance(iterations, int | np.integer) or iterations < 1:
            raise InputError(f"iterations is {iterations!r}, expected a positive whole number")
        tolerance = nonnegative("tolerance", tolerance)
        records = self._contact_records(contacts)
        for k, contact in enumerate(contacts):
            require_cone(f"contacts[{k}]", contact)
        records.unilateral = 1
        space = self._contact_terms(q, v, records, dense=False)
        if start is not None:
            space.force[:] = numbers("start", start, space.force.shape)
        states, convergence = np.zeros(len(contacts), np.int64), np.zeros(2)
        torque = numbers("tau", tau, (self.nv,))
        status = COMPILED.friction_solve(
            self._factor_handle(),
            torque,
            records,
            dt,
            int(iterations),
            tolerance,
            int(start is not None),
            space,
            states,
            convergence,
        )
        self._require_solved(status)
        return FrictionSolution(
            a=space.a,
            force=space.force,
            contacts=self._contact_forces(q, contacts, records, space),
            states=tuple(STATES[state] for state in states),
            residual=float(convergence[0]),
            iterations=int(convergence[1]),
            converged=status == OK,
        )

    def impact(
        self,
        q: Any,
        v: Any,
        contacts: Sequence[Contact],
        restitution: float = 0.0,
        *,
        coordinates: Coordinates = "native",
    ) -> ImpactSolution:
        """Velocities after frames hit what holds them, G v⁺ = −e G v⁻ ([F16] eq. 10).

        `restitution` e is between 0 (the frames stay) and 1 (no energy is lost).
        """
        if coordinates != "native":
            return self._in(coordinates).impact(q, v, contacts, restitution)
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
        if not isinstance(contacts, Sequence):
            raise InputError(f"contacts is {type(contacts).__name__}, expected a list of Contact")
        records = contact_records(len(contacts))
        fields = records.view(CONTACT, np.ndarray)  # whole rows: attributes are slow to set
        row = 0
        for k, contact in enumerate(contacts):
            fields[k] = self._contact_fields(f"contacts[{k}]", contact, row)
            row += KINDS[contact.kind]
        return records

    def _contact_fields(self, name: str, contact: Contact, row: int) -> tuple[Any, ...]:
        """The fields of `CONTACT`, checked."""
        if not isinstance(contact, Contact):
            raise InputError(f"{name} is {type(contact).__name__}, expected a Contact")
        kind = KINDS[choice(f"{name}.kind", contact.kind, KINDS)]
        held = self._contact_place(f"{name}.frame", contact.frame, contact.point)
        normal = numbers(f"{name}.normal", contact.normal, (3,))
        if not normal @ normal > 1e-18:
            raise InputError(f"{name}.normal is zero, expected a direction")
        if contact.half_size is not None:
            nonnegative(f"{name}.half_size", contact.half_size, (2,))
        return (
            held.fields,
            self._opposite(name, contact).fields,
            kind,
            row,
            axis_frame(normal).ravel(),
            nonnegative(f"{name}.stiffness", contact.stiffness),
            nonnegative(f"{name}.damping", contact.damping),
            nonnegative(f"{name}.friction", contact.friction or 0.0),
            False,
        )

    def _contact_place(self, name: str, frame: str, point: Any) -> Place:
        """A frame, moved to a point on it."""
        if frame not in self._frame_index:
            raise InputError(f"{name} {frame!r} is unknown; robot.frame_names lists them")
        own = self.model.frames[self._frame_index[frame]]
        shift = numbers(f"{name} {frame!r}: point", point, (3,))
        return Place(own.body, own.rotation, own.position + own.rotation @ shift)

    def _opposite(self, name: str, contact: Contact) -> Place:
        """What a contact is held against."""
        R, p = rotation_and_position(f"{name}.target", contact.target)
        if contact.other is None:
            if contact.stiffness and contact.target is None:
                raise InputError(f"{name}: stiffness needs a target to measure errors from")
            if contact.stiffness and contact.kind == "frame" and np.ndim(contact.target) == 1:
                raise InputError(f"{name}.target: a frame contact needs a pose (4, 4)")
            return Place(-1, R, p)
        if contact.kind == "normal":
            raise InputError(
                f"{name}: a loop closure of kind 'normal' is not defined, allowed: 'point', 'frame'"
            )
        other = self._contact_place(f"{name}.other", contact.other, contact.other_point)
        return Place(other.body, other.R @ R, other.p + other.R @ p)

    def _contact_forces(
        self, q: Any, contacts: Sequence[Contact], records: Any, space: ContactSpace
    ) -> tuple[ContactForce, ...]:
        """Each contact's force along its axes, with a verdict."""
        out = []
        all_axes, row = records.axes.reshape(-1, 3, 3).copy(), 0
        for contact, axes in zip(contacts, all_axes, strict=True):
            rows = slice(row, row + KINDS[contact.kind])
            row = rows.stop
            force, moment = split_rows(contact.kind, space.force[rows])
            slack = 1e-9 * (1.0 + float(np.abs(force).max()))
            normal = max(0.0, float(force[2]))
            # What holds two bodies together holds both ways, unless it is said to be a surface.
            surface = contact.other is None or contact.friction is not None
            tips = False
            if contact.kind == "frame" and contact.half_size is not None:
                # Normal force times centre of pressure, x = −m_y / f_z and y = m_x / f_z, in the
                # frame's own axes.
                R = self.frame_pose(q, contact.frame)[:3, :3]
                lever = R.T @ axes @ np.array([-moment[1], moment[0], 0.0])
                reach = normal * np.asarray(contact.half_size, dtype=np.float64)
                tips = bool((np.abs(lever[:2]) > reach + slack).any())
            out.append(
                ContactForce(
                    contact=contact,
                    force=force,
                    moment=moment,
                    axes=axes,
                    redundant=bool((space.redundancy[rows] > REDUNDANT).any()),
                    pulls=surface and bool(force[2] < -slack),
                    slips=contact.friction is not None
                    and float(np.hypot(force[0], force[1])) > contact.friction * normal + slack,
                    tips=tips,
                )
            )
        return tuple(out)

    def _require_solved(self, status: int) -> None:
        if status & SINGULAR:
            raise NumericalError(f"robot {self.name!r}: the mass matrix is singular here")


def nonnegative(name: str, value: Any, shape: tuple[int, ...] = ()) -> Any:
    """A number, or several, none of them negative."""
    values = numbers(name, value, shape)
    if (values < 0.0).any():
        raise InputError(f"{name} is {value}, expected zero or a positive number")
    return values if shape else float(values)


def require_cone(name: str, contact: Contact) -> None:
    """The contact is of a kind that can slide, with the friction that this needs."""
    if contact.kind not in ("point", "normal"):
        raise InputError(
            f"{name}: kind {contact.kind!r} cannot have friction cones, allowed: "
            "'point', 'normal' (a surface is several points)"
        )
    if contact.kind == "point" and contact.friction is None:
        raise InputError(f"{name}: a point contact needs a friction coefficient")


def rotation_and_position(name: str, target: Any) -> tuple[Array, Array]:
    """Rotation and position of a target; a position alone is not turned."""
    if target is None:
        return np.eye(3), np.zeros(3)
    place = numbers(name, target, (3,), (4, 4))
    if place.ndim == 1:
        return np.eye(3), place
    R = place[:3, :3]
    if np.abs(R.T @ R - np.eye(3)).max() > ROTATION_TOLERANCE or np.linalg.det(R) < 0.0:
        raise InputError(f"{name}: its upper left 3x3 part is not a rotation")
    return R, place[:3, 3]


def split_rows(kind: str, rows: Array) -> tuple[Array, Array]:
    """Force and moment along the contact's axes."""
    force, moment = np.zeros(3), np.zeros(3)
    if kind == "normal":
        force[2] = rows[0]
    elif kind == "point":
        force[:] = rows
    else:
        moment[:], force[:] = rows[:3], rows[3:]
    return force, moment
