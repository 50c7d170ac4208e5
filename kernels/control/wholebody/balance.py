"""`Balance`: passivity-based balancing of a robot with a floating base; balance_law.py has the law.

control = Balance(robot, contacts=[{"frame": "left_sole_link", "half_size": [0.1, 0.06]}, …])
answer = control.torque(q, v, control.hold(q))

A foot that swings is a task: `tasks=[{"kind": "frame", "frame": "left_sole_link"}]`.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import InputError
from torqued.common.rotation import quaternion
from torqued.kernels.control.posture_inertia import posture_inertia
from torqued.kernels.control.references.motions import COM, FRAME_MOTION, JOINTS, Motion
from torqued.kernels.control.wholebody import balance_law  # noqa: F401  (registers its entry)
from torqued.kernels.control.wholebody.contacts import EDGES
from torqued.kernels.control.wholebody.controller import ContactController
from torqued.kernels.control.wholebody.daqp import UNBOUNDED
from torqued.kernels.control.wholebody.held_inertia import Feet, base_inertia, limb_inertia
from torqued.kernels.control.wholebody.layout import Array
from torqued.kernels.control.wholebody.parsing import parse_contacts, parse_tasks, task_references
from torqued.kernels.control.wholebody.task_motions import task_motions
from torqued.kernels.input_checks import choice, numbers

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Natural frequencies, rad/s, that the default gains give the center of mass and the orientation
#: of the whole robot, all a little less than critically damped.
COM_RATE, ORIENTATION_RATE = 5.0, 6.0
DAMPING_RATIO = 0.8
#: rad/s and 1/s: what the base may do at most where it is lightest, with its feet held.
MAX_BASE, MAX_DAMPING = 30.0, 120.0
#: rad/s, of a joint by itself.
POSTURE_RATE = 8.0
#: Kinds of tasks that balancing has, and how much faster than where it is lightest a task's frame
#: may be taken for by its gains.
TASK_KINDS = ("frame", "point", "orientation")
LIGHTEST = 5.0


class Balance(ContactController):
    """Keeps center of mass and base where they should be, by the forces of its contacts."""

    ENTRY = "balance"
    POSITIVE = ("force_weight",)

    def __init__(
        self,
        robot: Robot,
        contacts: Sequence[Mapping[str, Any]],
        limits: Mapping[str, Any] | None = None,
        gains: Mapping[str, Any] | None = None,
        iterations: int = 200,
        period: float = 1e-3,
        fade: float = 0.1,
        fallback_damping: float = 0.0,
        tasks: Sequence[Mapping[str, Any]] = (),
    ) -> None:
        """Of `limits` only torque has a meaning here: torques are cut to it.

        `tasks` are of the kinds frame, point and orientation. That of a contact's frame waits
        while the contact is active.
        """
        if robot.model.base != "floating":
            raise InputError(
                f"robot {robot.name!r} has a {robot.model.base} base, but balancing requires a "
                "floating one",
                "robot",
            )
        self.robot = robot
        self.contact_names, contact, offset, _ = parse_contacts(robot, contacts, 0)
        if not len(contact):
            raise InputError(
                "contacts is missing: balancing requires at least one contact",
                "contacts",
                None,
                "a list of one or more",
            )
        self.contact_frames = [str(given["frame"]) for given in contacts]
        self._parse_tasks(tasks)
        task = self._tasks
        before: dict[str, tuple[int, ...]] = {
            "com.position": (3,),
            "com.velocity": (3,),
            "base.orientation": (4,),  # quaternion x y z w
            "base.velocity": (3,),  # angular, world axes
            "posture.position": (robot.nq,),
            "posture.velocity": (robot.nv,),
        }
        self.references = before | task_references(robot, self.task_names, task)
        task["references"] += sum(int(np.prod(shape)) for shape in before.values())
        self.references |= {
            "active": (len(contact),),
            "max_force": (len(contact),),
        }
        self.outputs = {
            "tau": (robot.nv,),
            "force": (len(offset), 3),  # on the robot, world axes
            "wrench_wanted": (6,),  # [moment; force] about the center of mass, world axes
            "wrench": (6,),  # what the forces amount to
            "violated": (1,),
            "iterations": (1,),
        }
        contact_rows = int(contact["rows"].sum())
        sizes = {
            "tasks": len(task),
            "contacts": len(contact),
            "points": len(offset),
            "task_rows": 0,
            "contact_rows": contact_rows,
            "rows": contact_rows + 3 * len(offset),
            "variables": max(1, 3 * len(offset)),
            "most_rows": max(1, EDGES * len(offset) + len(contact)),
            "hessian": max(1, 3 * len(offset)),
        }
        self._allocate(sizes, task, contact, iterations)
        self._set_limits(limits, period, fade, fallback_damping)
        self.program.offset[:] = offset
        self.program.chosen[:] = self._limbs
        feet = [
            (frame, offset[record["point"] : record["point"] + record["points"]])
            for frame, record in zip(self.contact_frames, contact, strict=True)
        ]
        self._name_gains(self._default_gains(feet) | self._task_gains)
        self.gains = self.pack_gains(gains)

    def _parse_tasks(self, tasks: Any) -> None:
        """Names, records, gains and joints of tasks."""
        robot = self.robot
        self.task_names, self._tasks, self._limbs, values = parse_tasks(robot, tasks)
        self._task_gains: dict[str, float] = {}
        for k, task in enumerate(tasks):
            record = self._tasks[k]
            choice(f"tasks[{k}].kind", task["kind"], TASK_KINDS)
            if "weight" in task:
                message = "tasks of 'balance' have stiffness and damping, no weight"
                raise InputError(f"tasks[{k}].weight: {message}", f"tasks[{k}].weight")
            if record["relative"]:
                message = "tasks of 'balance' are relative to the world"
                field = f"tasks[{k}].relative_to"
                raise InputError(f"{field}: {message}", field, task["relative_to"])
            frame = task["frame"]
            record["contact"] = -1
            if frame in self.contact_frames:
                record["contact"] = self.contact_frames.index(frame)
            J = robot.frame_jacobian(robot.neutral(), frame, point=task.get("point"))
            moved = np.abs(J).max(axis=0) > 0.0
            if not moved[6:].any():
                message = f"frame {frame!r} does not move: it is fixed to the base"
                raise InputError(f"tasks[{k}].frame: {message}", f"tasks[{k}].frame", frame)
            self._limbs[k, 6:] = moved[6:]
            weights = limb_inertia(robot, frame, task.get("point"))
            record["inertia"] = [min(part.heavy, LIGHTEST * part.light) for part in weights]
            name = self.task_names[k]
            self._task_gains[f"{name}.stiffness"] = float(values[k, 1])  # 1/s²
            self._task_gains[f"{name}.damping"] = float(values[k, 2])  # 1/s

    def _default_gains(self, feet: Feet) -> dict[str, Any]:
        """From the robot's mass, what its base weighs on held feet, and what its joints weigh.

        Constant: a spring that changes with the configuration would not give back what it stores.
        """
        robot = self.robot
        mass = robot.total_mass
        inertia = float(np.trace(robot.centroidal_matrix(robot.neutral())[:3, :3])) / 3.0
        base = base_inertia(robot, feet)
        joints = posture_inertia(robot)
        twice = 2.0 * DAMPING_RATIO
        stiffness = min(inertia * ORIENTATION_RATE**2, base.light * MAX_BASE**2)
        heavy = min(base.heavy, inertia)
        damping = min(twice * np.sqrt(stiffness * heavy), base.light * MAX_DAMPING)
        return {
            "com.stiffness": mass * COM_RATE**2,  # N/m
            "com.damping": twice * mass * COM_RATE,  # N s/m
            "base.stiffness": stiffness,  # N m/rad
            "base.damping": damping,  # N m s/rad
            "moment_weight": 10.0,  # of 1 N m against 1 N
            "force_weight": 1e-4,
            "posture.stiffness": joints * POSTURE_RATE**2,
            "posture.damping": twice * joints * POSTURE_RATE,
        }

    @property
    def motions(self) -> tuple[Motion, ...]:
        """What is moved: center of mass, base, posture, and frames of tasks."""
        base = (0, np.eye(3).ravel(), np.zeros(3))
        return (
            Motion(COM, "com.position", velocity="com.velocity"),
            Motion(
                FRAME_MOTION, orientation="base.orientation", velocity="base.velocity", frame=base
            ),
            Motion(JOINTS, "posture.position", velocity="posture.velocity"),
            *task_motions(self.task_names, self.program.task),
        )

    def hold(self, q: Any) -> dict[str, Array]:
        """References that keep the robot as it is at q, with all contacts active."""
        robot = self.robot
        own = numbers("q", q, (robot.nq,))
        values = {name: np.zeros(shape) for name, shape in self.references.items()}
        values["com.position"] = robot.center_of_mass(q)
        values["base.orientation"] = own[3:7].copy()
        values["posture.position"] = own
        for name, record in zip(self.task_names, self.program.task, strict=True):
            pose = self.frame_pose_of(q, record["frame"])
            if f"{name}.position" in values:
                values[f"{name}.position"] = pose[:3, 3].copy()
            if f"{name}.orientation" in values:
                values[f"{name}.orientation"] = quaternion(pose[:3, :3])
        values["active"][:] = 1.0
        values["max_force"][:] = UNBOUNDED
        return values
