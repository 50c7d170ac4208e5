"""`WholeBody`: the whole-body quadratic program of [BK12] eq. 36-37, ready to be called each tick.

control = WholeBody(
    robot,
    tasks=[{"kind": "com"}, {"kind": "orientation", "frame": "base_link"}, {"kind": "posture"}],
    contacts=[{"frame": "left_sole_link", "half_size": [0.1, 0.06]}, …],
)
answer = control.torque(q, v, control.hold(q))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.rotation import quaternion
from torqued.kernels.control.references.motions import Motion
from torqued.kernels.control.wholebody import law  # noqa: F401  (registers its entries)
from torqued.kernels.control.wholebody.contacts import EDGES
from torqued.kernels.control.wholebody.controller import ContactController
from torqued.kernels.control.wholebody.daqp import UNBOUNDED
from torqued.kernels.control.wholebody.layout import Array
from torqued.kernels.control.wholebody.parsing import (
    COMMON,
    parse_contacts,
    parse_tasks,
    task_references,
)
from torqued.kernels.control.wholebody.task_motions import task_motions
from torqued.kernels.control.wholebody.tasks import KINDS
from torqued.kernels.input_checks import numbers

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot


class WholeBody(ContactController):
    """Tasks, contacts and limits of one robot.

    All contacts that may ever be used are named at the start; each tick's references say which
    of them are active.
    """

    ENTRY = "whole_body"
    POSITIVE = ("acceleration_weight", "force_weight")

    def __init__(
        self,
        robot: Robot,
        tasks: Sequence[Mapping[str, Any]],
        contacts: Sequence[Mapping[str, Any]] = (),
        limits: Mapping[str, Any] | None = None,
        gains: Mapping[str, Any] | None = None,
        iterations: int = 200,
        period: float = 1e-3,
        fade: float = 0.1,
        fallback_damping: float = 0.0,
    ) -> None:
        """Times in s, `fallback_damping` in N m s/rad; `gains` changes those of the tasks."""
        self.robot = robot
        self.task_names, task, chosen, task_gains = parse_tasks(robot, tasks)
        task_rows = int(task["rows"].sum())
        parsed = parse_contacts(robot, contacts, task_rows)
        self.contact_names, contact, offset, damping = parsed
        self.references = {
            **task_references(robot, self.task_names, task),
            "active": (len(contact),),
            "max_force": (len(contact),),
            "contact_force": (len(contact),),
        }
        self.outputs = {
            "tau": (robot.nv,),  # zero for a floating base
            "a": (robot.nv,),
            "force": (len(offset), 3),  # on the robot, world axes
            "error": (len(task), 2),  # angular and linear; of a posture its norm
            "violated": (1,),
            "iterations": (1,),
        }
        contact_rows = int(contact["rows"].sum())
        sizes = {
            "tasks": len(task),
            "contacts": len(contact),
            "points": len(offset),
            "task_rows": task_rows,
            "contact_rows": contact_rows,
            "rows": task_rows + contact_rows + 3 * len(offset),
            "variables": robot.nv + 3 * len(offset),
            "most_rows": 2 * robot.nv + contact_rows + EDGES * len(offset) + len(contact),
            "hessian": robot.nv,
        }
        self._allocate(sizes, task, contact, iterations)
        self._set_limits(limits, period, fade, fallback_damping)
        self.program.offset[:], self.program.chosen[:] = offset, chosen
        parts: dict[str, float] = {}
        for name, values in zip(self.task_names, task_gains, strict=True):
            for word, value in zip(("weight", "stiffness", "damping"), values, strict=True):
                parts[f"{name}.{word}"] = value
        for name, value in zip(self.contact_names, damping, strict=True):
            parts[f"contact.{name}.damping"] = value
        self._name_gains(parts | COMMON)
        self.gains = self.pack_gains(gains)

    @property
    def motions(self) -> tuple[Motion, ...]:
        """What its tasks move."""
        return task_motions(self.task_names, self.program.task)

    def hold(self, q: Any) -> dict[str, Array]:
        """References that keep the robot as it is at q, with all contacts active."""
        values = {name: np.zeros(shape) for name, shape in self.references.items()}
        for name, record in zip(self.task_names, self.program.task, strict=True):
            kind = next(word for word, number in KINDS.items() if number == record["kind"])
            if kind == "posture":
                values[f"{name}.position"] = numbers("q", q, (self.robot.nq,))
            elif kind == "com":
                values[f"{name}.position"] = self.robot.center_of_mass(q)
            elif kind != "momentum":
                pose = self.frame_pose_of(q, record["frame"])
                if record["relative"]:
                    pose = np.linalg.inv(self.frame_pose_of(q, record["other"])) @ pose
                if kind != "orientation":
                    values[f"{name}.position"] = pose[:3, 3].copy()
                if kind != "point":
                    values[f"{name}.orientation"] = quaternion(pose[:3, :3])
        values["active"][:] = 1.0
        values["max_force"][:] = UNBOUNDED
        return values
