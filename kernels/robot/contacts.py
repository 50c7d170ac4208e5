"""Dynamics with contacts, natively: held frames, friction, impacts."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from torqued.common.errors import InputError, NumericalError
from torqued.kernels.compilation.entries import COMPILED
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
from torqued.kernels.input_checks import choice, nonnegative, number, numbers, whole_number
from torqued.kernels.model.description import Array
from torqued.kernels.primitives.workspace import Workspace, unbranched
from torqued.kernels.robot.contact_inputs import checked_contacts, require_cone
from torqued.kernels.robot.frame_table import FrameTable
from torqued.kernels.robot.frames import Frames
from torqued.kernels.robot.tree import FreeTree

STATES = ("separates", "sticks", "slides")

#: Rows with a larger share in forces that move nothing count as redundant.
REDUNDANT = 1e-6

#: Most sweeps and Newton steps that may be asked for.
MOST_ITERATIONS = 1_000_000


class Contacts:
    """Forces act on the robot; M a + bias = τ + Gᵀ force."""

    def __init__(self, tree: FreeTree, table: FrameTable, frames: Frames) -> None:
        self._tree, self._table, self._frames = tree, table, frames
        self._unbranched: Workspace | None = None  # made when contacts of a mimic robot need it

    def contact_dynamics(
        self, q: Any, v: Any, tau: Any, contacts: Sequence[Contact], solver: str
    ) -> ContactSolution:
        choice("solver", solver, SOLVERS)
        contacts, records = checked_contacts(self._table, contacts)
        torque = self._tree.own_v("tau", tau)
        space = self.terms(q, v, records, dense=solver != "range_space")
        status = COMPILED.contact_solve(self._factor_handle(), torque, SOLVERS[solver], space)
        self._require_solved(status)
        return ContactSolution(
            a=space.a,
            force=space.force,
            contacts=self._forces(q, contacts, records, space),
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
        iterations: int,
        tolerance: float,
        start: Any,
    ) -> FrictionSolution:
        step = number("dt", dt)
        if step <= 0.0:
            wanted = "a positive time step in seconds"
            raise InputError(f"dt is {step}, expected {wanted}", "dt", step, wanted)
        most = whole_number("iterations", iterations, 1, MOST_ITERATIONS)
        tolerance = nonnegative("tolerance", tolerance)
        torque = self._tree.own_v("tau", tau)
        contacts, records = checked_contacts(self._table, contacts)
        for k, contact in enumerate(contacts):
            require_cone(f"contacts[{k}]", contact)
        records.unilateral = 1
        space = self.terms(q, v, records, dense=False)
        if start is not None:
            space.force[:] = numbers("start", start, space.force.shape)
        states, convergence = np.zeros(len(contacts), np.int64), np.zeros(2)
        status = COMPILED.friction_solve(
            self._factor_handle(),
            torque,
            records,
            step,
            most,
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
            contacts=self._forces(q, contacts, records, space),
            states=tuple(STATES[state] for state in states),
            residual=float(convergence[0]),
            iterations=int(convergence[1]),
            converged=status == OK,
        )

    def impact(
        self, q: Any, v: Any, contacts: Sequence[Contact], restitution: float
    ) -> ImpactSolution:
        e = number("restitution", restitution)
        if not 0.0 <= e <= 1.0:
            raise InputError(f"restitution is {e}, allowed: 0 to 1", "restitution", e, "0 to 1")
        _, records = checked_contacts(self._table, contacts)
        before = self._tree.own_v("v", v)
        space = self.terms(q, v, records, dense=False)
        status = COMPILED.impact_solve(self._factor_handle(), before, e, space)
        self._require_solved(status)
        with np.errstate(over="ignore", invalid="ignore"):  # told of the result
            # Work of the impulse over the mean of the velocities before and after.
            lost = -0.5 * space.force @ (space.velocity + space.G @ space.a)
        return ImpactSolution(
            v=space.a,
            impulse=space.force,
            energy_lost=max(0.0, float(lost)),
            rank_deficient=bool(status & RANK_DEFICIENT),
            conflicting=bool(status & CONFLICTING),
        )

    def records(self, contacts: Sequence[Contact]) -> Any:
        """What kernels take for contacts, checked."""
        return checked_contacts(self._table, contacts)[1]

    def terms(self, q: Any, v: Any, records: Any, dense: bool) -> ContactSpace:
        """M, bias, G, G v and γ in the robot's own coordinates."""
        tree, rows = self._tree, int(records.kind.sum())
        free_q, free_v = tree.q(q), tree.v("v", v)
        space = contact_space(tree.nv_free, rows, dense)
        COMPILED.contact_terms(tree.handle, free_q, free_v, records, space)
        if not tree.follows:
            return space
        own = contact_space(tree.nv, rows, dense)
        own.M[:] = tree.projected("matrix", space.M)
        own.bias[:] = tree.projected("vector", space.bias)
        own.G[:] = tree.projected("rows", space.G)
        own.velocity[:], own.gamma[:] = space.velocity, space.gamma
        return own

    def _factor_handle(self) -> int:
        """The workspace whose tree tells the sparsity of M; mimic joints couple branches."""
        if not self._tree.follows:
            return self._tree.handle
        if self._unbranched is None:
            self._unbranched = unbranched(self._tree.nv)
        return self._unbranched.handle

    def _forces(
        self, q: Any, contacts: Sequence[Contact], records: Any, space: ContactSpace
    ) -> tuple[ContactForce, ...]:
        """Each contact's force along its axes, with a verdict."""
        out, row = [], 0
        for contact, axes in zip(contacts, records.axes.reshape(-1, 3, 3).copy(), strict=True):
            rows = slice(row, row + KINDS[contact.kind])
            row = rows.stop
            force, moment = split_rows(contact.kind, space.force[rows])
            with np.errstate(over="ignore", invalid="ignore"):  # told of the result
                pulls, slips, tips = self._verdict(q, contact, axes, force, moment)
            redundant = bool((space.redundancy[rows] > REDUNDANT).any())
            out.append(ContactForce(contact, force, moment, axes, redundant, pulls, slips, tips))
        return tuple(out)

    def _verdict(
        self, q: Any, contact: Contact, axes: Array, force: Array, moment: Array
    ) -> tuple[bool, bool, bool]:
        """Whether a contact pulls, slips and tips."""
        slack = 1e-9 * (1.0 + float(np.abs(force).max()))
        normal = max(0.0, float(force[2]))
        # What holds two bodies together holds both ways, unless it is said to be a surface.
        surface = contact.other is None or contact.friction is not None
        pulls = surface and bool(force[2] < -slack)
        sideways = float(np.hypot(force[0], force[1]))
        slips = contact.friction is not None and sideways > contact.friction * normal + slack
        tips = False
        if contact.kind == "frame" and contact.half_size is not None:
            # Normal force times centre of pressure, x = −m_y / f_z and y = m_x / f_z, in the
            # frame's own axes.
            R = self._frames.pose(q, contact.frame)[:3, :3]
            lever = R.T @ axes @ np.array([-moment[1], moment[0], 0.0])
            reach = normal * np.asarray(contact.half_size, dtype=np.float64)
            tips = bool((np.abs(lever[:2]) > reach + slack).any())
        return pulls, slips, tips

    def _require_solved(self, status: int) -> None:
        if status & SINGULAR:
            name = self._tree.model.name
            raise NumericalError(f"robot {name!r}: the mass matrix is singular here")


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
