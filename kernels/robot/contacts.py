"""Dynamics with contacts and other constraints: held frames, friction, impacts."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np

from torqued.common.errors import InputError, NumericalError
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.constraints.loops import LOOP
from torqued.kernels.constraints.types import Loop, LoopForce
from torqued.kernels.contacts.rows import CONTACT
from torqued.kernels.contacts.solvers import (
    CONFLICTING,
    RANK_DEFICIENT,
    SOLVERS,
    ContactSpace,
    contact_space,
)
from torqued.kernels.contacts.types import (
    Contact,
    ContactForce,
    ContactSolution,
    FrictionSolution,
    ImpactSolution,
)
from torqued.kernels.dynamics.articulated import OK, SINGULAR
from torqued.kernels.dynamics.frames import HYBRID
from torqued.kernels.input_checks import choice, nonnegative, number, numbers, whole_number
from torqued.kernels.model.description import Array
from torqued.kernels.primitives.layout import empty_records
from torqued.kernels.primitives.workspace import Workspace, unbranched
from torqued.kernels.result_checks import finite
from torqued.kernels.robot.constraint_set import (
    Constraint,
    ConstraintSet,
    constraint_set,
    held_rows,
    loop_axes,
)
from torqued.kernels.robot.contact_inputs import checked_contacts, require_cone
from torqued.kernels.robot.frame_table import Wrenches
from torqued.kernels.robot.frames import Frames

STATES = ("separates", "sticks", "slides")

#: Rows with a larger share in forces that move nothing count as redundant.
REDUNDANT = 1e-6

#: Most sweeps and Newton steps that may be asked for.
MAX_ITERATIONS = 1_000_000


class Contacts(Frames):
    """Forces act on the robot; M a + bias = τ + Gᵀ force. Constraints are `Contact`s, `Loop`s and
    `Rows`, in any order and together."""

    @finite
    def contact_dynamics(
        self,
        q: Any,
        v: Any,
        tau: Any,
        contacts: Sequence[Constraint],
        solver: str = "range_space",
        f_ext: Wrenches | None = None,
    ) -> ContactSolution:
        """Accelerations and contact forces while frames are held ([F16] eq. 7).

        Contacts pull as well as push; each force comes with a verdict. `solver` is
        "range_space" (fastest), "direct" or "null_space". `f_ext` as in `inverse_dynamics`.
        """
        choice("solver", solver, SOLVERS)
        held = self.constraint_set(contacts, q, v)
        space, status = self.solve_contacts(q, v, tau, held, solver, f_ext)
        return ContactSolution(
            a=space.a,
            force=space.force,
            contacts=self._contact_forces(q, held, space),
            G=space.G,
            gamma=space.gamma,
            M=space.M,
            inverse_inertia=space.K,
            rank_deficient=bool(status & RANK_DEFICIENT),
            conflicting=bool(status & CONFLICTING),
            rows=held.rows,
        )

    def solve_contacts(
        self,
        q: Any,
        v: Any,
        tau: Any,
        held: ConstraintSet,
        solver: str = "range_space",
        f_ext: Any = None,
    ) -> tuple[ContactSpace, int]:
        """The numbers of `contact_dynamics` alone, and status bits, for a set that was checked."""
        torque = self.checked_tree.own_v("tau", tau)
        space = self._constraint_space(q, v, held, solver != "range_space", f_ext)[0]
        status = COMPILED.contact_solve(self._factor_handle(), torque, SOLVERS[solver], space)
        self._require_solved(status)
        return space, status

    @finite
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
        f_ext: Wrenches | None = None,
    ) -> FrictionSolution:
        """Accelerations over a time step dt with contacts that only push, stick, slide or let go.

        Contacts are of kind "point" (with `friction`) or "normal" (without). A surface is several
        points. Iterations end when no contact is off by more than `tolerance`, m/s. `start` is
        the force of a former solution, to begin from. Baumgarte gains act along normals only:
        tangents may slide. `f_ext` as in `inverse_dynamics`.
        """
        step = number("dt", dt)
        if step <= 0.0:
            wanted = "a positive time step in seconds"
            raise InputError(f"dt is {step}, expected {wanted}", "dt", step, wanted)
        most = whole_number("iterations", iterations, 1, MAX_ITERATIONS)
        tolerance = nonnegative("tolerance", tolerance)
        torque = self.checked_tree.own_v("tau", tau)
        held = self.constraint_set(contacts, q, v)
        for k, contact in enumerate(held.given):
            require_cone(f"contacts[{k}]", contact)
        records = held.contacts
        records.unilateral = 1
        space = self._constraint_space(q, v, held, False, f_ext)[0]
        if start is not None:
            space.force[:] = numbers("start", start, space.force.shape)
        states, convergence = np.zeros(len(records), np.int64), np.zeros(2)
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
            contacts=self._contact_forces(q, held, space),
            states=tuple(STATES[state] for state in states),
            residual=float(convergence[0]),
            iterations=int(convergence[1]),
            converged=status == OK,
        )

    @finite
    def impact(
        self,
        q: Any,
        v: Any,
        contacts: Sequence[Constraint],
        restitution: float = 0.0,
        after: Any = None,
    ) -> ImpactSolution:
        """Velocities after frames hit what holds them, G v⁺ = −e G v⁻ ([F16] eq. 10).

        `restitution` e is between 0 (the frames stay) and 1 (no energy is lost). `after` (m,) in
        its place is the velocity of each row after the impact, G v⁺ = after.
        """
        e = number("restitution", restitution)
        if not 0.0 <= e <= 1.0:
            raise InputError(f"restitution is {e}, allowed: 0 to 1", "restitution", e, "0 to 1")
        held = self.constraint_set(contacts, q, v)
        before = self.checked_tree.own_v("v", v)
        space = self._constraint_space(q, v, held, False, None)[0]
        was = space.velocity.copy()
        if after is not None:
            if e != 0.0:
                message = "after: not together with a restitution, expected one of the two"
                raise InputError(message, "after")
            space.velocity[:] -= numbers("after", after, (held.count,))
        status = COMPILED.impact_solve(self._factor_handle(), before, e, space)
        self._require_solved(status)
        with np.errstate(over="ignore", invalid="ignore"):  # the result is checked
            # Work of the impulse over the mean of the velocities before and after.
            lost = float(-0.5 * space.force @ (was + space.G @ space.a))
        return ImpactSolution(
            v=space.a,
            impulse=space.force,
            energy_lost=max(0.0, lost) if after is None else lost,
            rank_deficient=bool(status & RANK_DEFICIENT),
            conflicting=bool(status & CONFLICTING),
        )

    def contact_records(self, contacts: Sequence[Contact]) -> Any:
        """What kernels take for contacts, checked."""
        return checked_contacts(self.frame_table, contacts)[1]

    def constraint_set(
        self, constraints: Any, q: Any, v: Any, name: str = "contacts"
    ) -> ConstraintSet:
        """What kernels take for constraints of any kind, checked."""
        tree = self.checked_tree
        return constraint_set(
            self.frame_table, constraints, tree.own_q(q), tree.own_v("v", v), name
        )

    def contact_terms(self, q: Any, v: Any, records: Any, dense: bool) -> ContactSpace:
        """M, bias, G, G v and γ of contacts alone, in the robot's own coordinates."""
        none: tuple[Any, ...] = ()
        rows = int(records.kind.sum())
        held = ConstraintSet(none, records, empty_records(LOOP, 0), none, none, rows)
        return self._constraint_space(q, v, held, dense)[0]

    def _constraint_space(
        self, q: Any, v: Any, held: ConstraintSet, dense: bool, f_ext: Any = None
    ) -> tuple[ContactSpace, Array]:
        """M, bias, G, G v and γ in the robot's own coordinates, and position errors of all rows
        but those of contacts. What acts from outside counts in the bias."""
        tree = self.checked_tree
        free_q, free_v = tree.q(q), tree.v("v", v)
        space, position = contact_space(tree.nv_free, held.count, dense), np.zeros(held.count)
        COMPILED.contact_terms(tree.handle, free_q, free_v, held.contacts, space)
        if len(held.loops):
            arrays = (space.G, space.velocity, space.gamma, position)
            COMPILED.loop_terms(tree.handle, held.loops, *arrays)
        if f_ext is not None:
            self._add_wrenches(free_q, f_ext, space.bias)
        if tree.follows:
            space = self._own_space(space, held.count, dense)
        for rows, own in held.own:
            space.G[rows] = own.G
            space.velocity[rows] = own.G @ tree.own_v("v", v)
            space.gamma[rows] = (
                own.gamma - own.damping * space.velocity[rows] - own.stiffness * own.position
            )
            position[rows] = own.position
        return space, position

    def _contact_gamma(self, q: Any, v: Any, held: ConstraintSet) -> Array:
        """γ of the contacts among constraints, (m,); zero for all other rows."""
        tree = self.checked_tree
        space = contact_space(tree.nv_free, held.count, False)
        handle, free_q, free_v = tree.handle, tree.q(q), tree.v("v", v)
        COMPILED.contact_terms(handle, free_q, free_v, held.contacts, space)
        return space.gamma

    def _add_wrenches(self, free_q: Array, f_ext: Any, bias: Array) -> None:
        """bias −= Σ Jᵀ f."""
        frames, wrenches = self.frame_table.wrenches(f_ext)
        J = np.empty((len(frames), 6, len(bias)))
        COMPILED.frame_jacobians(self.checked_tree.handle, free_q, frames, HYBRID, J)
        bias -= np.einsum("krc,kr->c", J, wrenches)

    def _own_space(self, free: ContactSpace, rows: int, dense: bool) -> ContactSpace:
        """The same in the coordinates of joints that others follow."""
        tree = self.checked_tree
        own = contact_space(tree.nv, rows, dense)
        own.M[:] = tree.projected("matrix", free.M)
        own.bias[:] = tree.projected("vector", free.bias)
        own.G[:] = tree.projected("rows", free.G)
        own.velocity[:], own.gamma[:] = free.velocity, free.gamma
        return own

    def _factor_handle(self) -> int:
        """The workspace whose tree has the sparsity of M; mimic joints couple branches."""
        if not self.checked_tree.follows:
            return self.checked_tree.handle
        return self._unbranched.handle

    @cached_property
    def _unbranched(self) -> Workspace:
        """Made when contacts of a mimic robot need it."""
        return unbranched(self.nv)

    def _contact_forces(
        self, q: Any, held: ConstraintSet, space: ContactSpace
    ) -> tuple[ContactForce | LoopForce, ...]:
        """The force of each contact along its axes, with a verdict, and of each loop."""
        out: list[ContactForce | LoopForce] = []
        records = held.contacts.view(CONTACT, np.ndarray)
        axes = iter(records["axes"].reshape(-1, 3, 3).copy())
        poses = iter(self._frame_poses(q, records["a"]))
        for item, rows in zip(held.given, held.rows, strict=True):
            redundant = bool((space.redundancy[rows] > REDUNDANT).any())
            if isinstance(item, Loop):
                out.append(self._loop_force(q, item, space.force[rows], redundant))
            if not isinstance(item, Contact):
                continue
            E, pose = next(axes), next(poses)
            R = pose[:3, :3]
            force, moment = split_rows(item.kind, space.force[rows])
            with np.errstate(over="ignore", invalid="ignore"):  # the result is checked
                pulls, slips, tips = self._verdict(item, R, E, force, moment)
            verdict = (redundant, pulls, slips, tips)
            out.append(ContactForce(item, force, moment, E, *verdict, R, pose[:3, 3].copy()))
        return tuple(out)

    def _loop_force(self, q: Any, loop: Loop, rows: Array, redundant: bool) -> LoopForce:
        along = np.zeros(6)
        along[held_rows("", loop) > 0] = rows
        R = np.eye(3) if loop.other is None else self.frame_pose(q, loop.other)[:3, :3]
        axes = R @ loop_axes("", loop.axis)
        return LoopForce(loop, along[3:], along[:3], axes, redundant)

    @staticmethod
    def _verdict(
        contact: Contact, R: Array, axes: Array, force: Array, moment: Array
    ) -> tuple[bool, bool, bool]:
        """Whether a contact pulls, slips and tips; R is the rotation of its frame."""
        slack = 1e-9 * (1.0 + float(np.abs(force).max()))
        normal = max(0.0, float(force[2]))
        # What holds two bodies together holds both ways, unless it is said to be a surface.
        surface = contact.other is None or contact.friction is not None
        pulls = surface and bool(force[2] < -slack)
        sideways = float(np.hypot(force[0], force[1]))
        slips = contact.friction is not None and sideways > contact.friction * normal + slack
        tips = False
        if contact.kind == "frame" and contact.half_size is not None:
            # Normal force times center of pressure, x = −m_y / f_z and y = m_x / f_z, in the
            # frame's own axes.
            lever = R.T @ axes @ np.array([-moment[1], moment[0], 0.0])
            reach = normal * np.asarray(contact.half_size, dtype=np.float64)
            tips = bool((np.abs(lever[:2]) > reach + slack).any())
        return pulls, slips, tips

    def _require_solved(self, status: int) -> None:
        if status & SINGULAR:
            name = self.checked_tree.model.name
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
