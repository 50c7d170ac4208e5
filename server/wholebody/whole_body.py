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
from typing import Any

import numpy as np

from torqued.kernels import InputError, Robot
from torqued.kernels.compiled import COMPILED
from torqued.kernels.inputs import choice, numbers
from torqued.kernels.robot_contacts import nonnegative
from torqued.server.solver import UNBOUNDED, LeastDistance, require_daqp
from torqued.server.wholebody import law  # noqa: F401  (registers its entries)
from torqued.server.wholebody.contacts import EDGES
from torqued.server.wholebody.layout import CLASSES, Array, Memory
from torqued.server.wholebody.parsing import (
    COMMON,
    parse_contacts,
    parse_limits,
    parse_tasks,
    task_references,
)
from torqued.server.wholebody.tasks import KINDS


class WholeBody:
    """Tasks, contacts and limits of one robot. All contacts that may ever be used are named here;

    each tick's references say which of them are active.
    """

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
        """Times in s; `fallback_damping` in N m s/rad. Gains are changes to those of the tasks."""
        require_daqp()
        self.robot = robot
        self.task_names, task, chosen, task_gains = parse_tasks(robot, tasks)
        task_rows = int(task["rows"].sum())
        parsed = parse_contacts(robot, contacts, task_rows)
        self.contact_names, contact, offset, damping = parsed
        if not isinstance(iterations, int) or not 1 <= iterations <= 10000:
            raise InputError(
                f"iterations is {iterations!r}, expected a whole number from 1 to 10000",
                "iterations",
                iterations,
            )
        #: Name → shape of what each tick brings after q and v.
        self.references = {
            **task_references(robot, self.task_names, task),
            "active": (len(contact),),
            "max_force": (len(contact),),
        }
        #: Name → shape of what each tick gives.
        self.outputs = {
            "tau": (robot.nv,),
            "a": (robot.nv,),
            "force": (len(offset), 3),
            "error": (len(task), 2),
            "violated": (1,),
            "iterations": (1,),
        }
        self.memory = self._lay_out(task, contact, offset, task_rows, iterations)
        plan = self.memory.plan
        plan.offset[:], plan.chosen[:] = offset, chosen
        for name, values in parse_limits(robot, limits).items():
            getattr(plan, name)[:] = values
        plan.options[:] = (
            nonnegative("period", period),
            nonnegative("fade", fade),
            nonnegative("fallback_damping", fallback_damping),
        )
        #: Weights and gains, in the order of `gain_names`; may change while running.
        self.gains = np.concatenate([task_gains.ravel(), damping, list(COMMON.values())])
        words = ("weight", "stiffness", "damping")
        self.gain_names = (
            *(f"{name}.{word}" for name in self.task_names for word in words),
            *(f"{name}.damping" for name in self.contact_names),
            *COMMON,
        )
        self.gains = self.pack_gains(gains or {})

    def _lay_out(
        self, task: Any, contact: Any, offset: Array, task_rows: int, iterations: int
    ) -> Memory:
        robot, mimics = self.robot, self.robot.model.mimics
        base = 6 if robot.model.base == "floating" else 0
        contact_rows = int(contact["rows"].sum())
        sizes = {
            "nq": robot.nq,
            "nv": robot.nv,
            "nq_free": robot.nq_free,
            "nv_free": robot.nv_free,
            "base": base,
            "follows": int(mimics.present),
            "tasks": len(task),
            "contacts": len(contact),
            "points": len(offset),
            "task_rows": task_rows,
            "contact_rows": contact_rows,
            "references": sum(int(np.prod(shape)) for shape in self.references.values()),
            "rows": task_rows + contact_rows + 3 * len(offset),
            "variables": robot.nv + 3 * len(offset),
            "most_rows": 2 * robot.nv + contact_rows + EDGES * len(offset) + len(contact),
        }
        solver = LeastDistance(sizes["variables"], sizes["most_rows"], iterations)
        memory = Memory(sizes, task, contact, solver)
        plan = memory.plan
        plan.q_multiplier[:], plan.q_offset[:] = mimics.q_multiplier, mimics.offset
        plan.q_index[:], plan.v_index[:] = mimics.q_index, mimics.v_index
        plan.v_multiplier[:] = mimics.multiplier
        plan.leader[mimics.leaders_v] = 1.0
        return memory

    @property
    def address(self) -> int:
        """Of the record for `whole_body_torque`; valid as long as this object lives."""
        return self.memory.address

    def pack_gains(self, changes: Mapping[str, Any]) -> Array:
        """The present gains with some changed, by their names: "com.weight", "force_weight"."""
        gains = self.gains.copy()
        for name, value in changes.items():
            choice("gains", name, self.gain_names)
            gains[self.gain_names.index(name)] = nonnegative(f"gains.{name}", value)
        for name in ("acceleration_weight", "force_weight"):
            if not gains[self.gain_names.index(name)] > 0.0:
                raise InputError(f"gains.{name} is 0, expected a positive number", "gains", 0.0)
        return gains

    def hold(self, q: Any) -> dict[str, Array]:
        """References that keep the robot as it is at q, with all contacts active."""
        values = {name: np.zeros(shape) for name, shape in self.references.items()}
        for name, record in zip(self.task_names, self.memory.plan.task, strict=True):
            kind = next(word for word, number in KINDS.items() if number == record["kind"])
            if kind == "posture":
                values[f"{name}.position"] = numbers("q", q, (self.robot.nq,))
            elif kind == "com":
                values[f"{name}.position"] = self.robot.center_of_mass(q)
            elif kind != "momentum":
                pose = self._pose(q, record)
                if kind != "orientation":
                    values[f"{name}.position"] = pose[:3, 3].copy()
                if kind != "point":
                    values[f"{name}.orientation"] = quaternion(pose[:3, :3])
        values["active"][:] = 1.0
        values["max_force"][:] = UNBOUNDED
        return values

    def _pose(self, q: Any, record: Any) -> Array:
        frames = np.zeros(1, record["frame"].dtype).view(np.recarray)
        frames[0] = record["frame"]
        poses = np.empty((1, 4, 4))
        COMPILED.frame_poses(self.robot.work.handle, self.robot._free_q(q), frames, poses)
        pose: Array = poses[0]
        return pose

    def pack(self, q: Any, v: Any, references: Mapping[str, Any]) -> Array:
        """The flat state [q, v, references]. Velocities and accelerations may be left out (zero),

        as may `active` (all are) and `max_force` (without limit).
        """
        self.robot._free_q(q)
        parts = [numbers("q", q, (self.robot.nq,)), numbers("v", v, (self.robot.nv,))]
        for name in references:
            choice("references", name, self.references)
        for name, shape in self.references.items():
            value = references.get(name)
            if value is None:
                value = self._default(name, shape)
            parts.append(numbers(f"references.{name}", value, shape))
        return np.concatenate(parts)

    def _default(self, name: str, shape: tuple[int, ...]) -> Array:
        if name in ("active", "max_force"):
            return np.full(shape, 1.0 if name == "active" else UNBOUNDED)
        if name.rsplit(".", 1)[-1] in ("position", "orientation"):
            raise InputError(f"references.{name}: missing", f"references.{name}", None, "present")
        return np.zeros(shape)

    def torque(self, q: Any, v: Any, references: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """One tick in this process: `outputs` by name; `violated` as a word, `status` bits."""
        state = self.pack(q, v, references or {})
        return self.tick(state)

    def tick(self, state: Array) -> dict[str, Any]:
        """The same from a packed state."""
        out = np.zeros(sum(int(np.prod(shape)) for shape in self.outputs.values()))
        robot = self.robot
        handle = robot.work.handle
        status = COMPILED.whole_body(
            handle, self.address, state, robot.nq, robot.nv, self.gains, out
        )
        answer: dict[str, Any] = {"status": int(status)}
        at = 0
        for name, shape in self.outputs.items():
            size = int(np.prod(shape))
            answer[name] = out[at : at + size].reshape(shape)
            at += size
        answer["violated"] = CLASSES[int(answer["violated"][0])]
        answer["iterations"] = int(answer["iterations"][0])
        return answer


def quaternion(R: Array) -> Array:
    """x y z w of a rotation matrix."""
    candidates = np.array(
        [
            [1 + R[0, 0] - R[1, 1] - R[2, 2], R[0, 1] + R[1, 0], R[0, 2] + R[2, 0], R[2, 1] - R[1, 2]],
            [R[0, 1] + R[1, 0], 1 - R[0, 0] + R[1, 1] - R[2, 2], R[1, 2] + R[2, 1], R[0, 2] - R[2, 0]],
            [R[0, 2] + R[2, 0], R[1, 2] + R[2, 1], 1 - R[0, 0] - R[1, 1] + R[2, 2], R[1, 0] - R[0, 1]],
            [R[2, 1] - R[1, 2], R[0, 2] - R[2, 0], R[1, 0] - R[0, 1], 1 + R[0, 0] + R[1, 1] + R[2, 2]],
        ]
    )
    best = candidates[np.argmax(np.diag(candidates))]
    return best / np.linalg.norm(best)
