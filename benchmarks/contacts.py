"""Contact dynamics of a humanoid beside Pinocchio's constraintDynamics, and by each solver.

Held frames do not move in these states: where they do, Pinocchio takes the spatial acceleration of
a 6-D contact for that of its origin, and the two programs would not compute the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import pinocchio as pin
from numpy.typing import NDArray

from torqued.benchmarks.timing import Call
from torqued.kernels import Contact
from torqued.kernels.compilation.entries import COMPILED
from torqued.kernels.contacts.solvers import SOLVERS, contact_space

if TYPE_CHECKING:
    from torqued.benchmarks.robots import Case, State

Array = NDArray[np.float64]

FEET = ("left_sole_link", "right_sole_link")
HANDS = ("gripper_left_base_link", "gripper_right_base_link")


def corners(foot: str) -> list[Contact]:
    """Four points of a sole."""
    return [Contact(foot, "point", point=(x, y, 0.0)) for x in (-0.1, 0.1) for y in (-0.06, 0.06)]


#: By robot: name of the kernel → what is held. The first is the budget's.
CONTACTS: dict[str, dict[str, list[Contact]]] = {
    "talos": {
        "contact": [Contact(foot) for foot in FEET],
        "contact_points": [point for foot in FEET for point in corners(foot)],
        "contact_hands": [*map(Contact, FEET), *(Contact(hand, "point") for hand in HANDS)],
    }
}

#: In words.
TITLES = {
    "contact": "two 6-D feet",
    "contact_points": "four points per foot",
    "contact_hands": "two 6-D feet, two hands as points",
}

KINDS = {"frame": pin.ContactType.CONTACT_6D, "point": pin.ContactType.CONTACT_3D}


class ContactProblem:
    """The same contacts in both programs. Calls are valid as long as this object lives."""

    def __init__(self, case: Case, contacts: Sequence[Contact]) -> None:
        robot = case.robot
        self.robot, self.model, self.data = robot, case.model, case.model.createData()
        self.order = case.order
        self.contacts = list(contacts)
        self.states = [case.with_velocity(s, self._held(s)) for s in case.states]
        self.pin_states = [case.to_pin(state) for state in self.states]
        self.records = robot.contact_records(self.contacts)
        self.space = contact_space(robot.nv, int(self.records.kind.sum()), dense=True)
        self.models = pin.StdVec_RigidConstraintModel()
        self.datas = pin.StdVec_RigidConstraintData()
        for contact in self.contacts:
            self.models.append(self._pin_contact(contact))
        for model in self.models:
            self.datas.append(model.createData())
        pin.initConstraintDynamics(self.model, self.data, self.models, self.datas)
        # Points of one foot are redundant: with two proximal iterations Pinocchio's accelerations
        # are right to rounding. Otherwise one solve is exact.
        redundant = any(contact.kind == "point" for contact in self.contacts[:2])
        self.settings = pin.ProximalSettings(1e-12, *((1e-8, 2) if redundant else (0.0, 1)))

    def _held(self, state: State) -> Array:
        """The velocity, with what is held brought to rest."""
        return self.robot.impact(state.q, state.v, self.contacts).v

    def _pin_contact(self, contact: Contact) -> Any:
        frame = self.model.frames[self.model.getFrameId(contact.frame)]
        place = frame.placement * pin.SE3(np.eye(3), np.array(contact.point))
        axes = pin.LOCAL_WORLD_ALIGNED
        return pin.RigidConstraintModel(
            KINDS[contact.kind], self.model, frame.parentJoint, place, axes
        )

    def ours(self, solver: str = "range_space") -> list[Call]:
        """The in-place kernel."""
        handle, way = self.robot.work.handle, SOLVERS[solver]
        return [
            (COMPILED.contact_dynamics, (handle, s.q, s.v, s.tau, self.records, way, self.space))
            for s in self.states
        ]

    def method(self) -> list[Call]:
        return [
            (self.robot.contact_dynamics, (s.q, s.v, s.tau, self.contacts)) for s in self.states
        ]

    def pinocchio(self) -> list[Call]:
        more = (self.models, self.datas, self.settings)
        return [
            (pin.constraintDynamics, (self.model, self.data, s.q, s.v, s.tau, *more))
            for s in self.pin_states
        ]

    def results(self) -> Iterable[tuple[str, Array, Array]]:
        """Of the last calls, in torqued's coordinates. Forces need not be unique."""
        yield "a", self.space.a, np.array(self.data.ddq)[self.order]
