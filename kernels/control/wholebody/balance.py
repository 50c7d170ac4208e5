"""`Balance`: passivity-based balancing of a robot with a floating base; balance_law.py has the law.

control = Balance(robot, contacts=[{"frame": "left_sole_link", "half_size": [0.1, 0.06]}, …])
answer = control.torque(q, v, control.hold(q))
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from torqued.common.errors import InputError
from torqued.kernels.control.references.motions import COM, FRAME_MOTION, JOINTS, Motion
from torqued.kernels.control.typical_inertia import typical_inertia
from torqued.kernels.control.wholebody import balance_law  # noqa: F401  (registers its entry)
from torqued.kernels.control.wholebody.contacts import EDGES
from torqued.kernels.control.wholebody.controller import ContactController
from torqued.kernels.control.wholebody.daqp import UNBOUNDED
from torqued.kernels.control.wholebody.layout import TASK, Array
from torqued.kernels.control.wholebody.parsing import parse_contacts
from torqued.kernels.input_checks import numbers

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot

#: Natural frequencies, rad/s, that the default gains give the centre of mass and the orientation,
#: and joints on their own; all a little less than critically damped.
COM_RATE, ORIENTATION_RATE, POSTURE_RATE = 5.0, 6.0, 4.0
DAMPING_RATIO = 0.8


class Balance(ContactController):
    """Keeps centre of mass and base where they should be, by the forces of its contacts."""

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
    ) -> None:
        """Of `limits` only torque has a meaning here: torques are cut to it."""
        if robot.model.base != "floating":
            raise InputError(
                f"robot {robot.name!r} has a {robot.model.base} base, balancing is for floating "
                "ones",
                "robot",
            )
        self.robot = robot
        self.contact_names, contact, offset, _ = parse_contacts(robot, contacts, 0)
        self.references = {
            "com.position": (3,),
            "com.velocity": (3,),
            "base.orientation": (4,),  # quaternion x y z w
            "base.velocity": (3,),  # angular, world axes
            "posture.position": (robot.nq,),
            "posture.velocity": (robot.nv,),
            "active": (len(contact),),
            "max_force": (len(contact),),
        }
        self.outputs = {
            "tau": (robot.nv,),
            "force": (len(offset), 3),  # on the robot, world axes
            "wrench_wanted": (6,),  # [moment; force] about the centre of mass, world axes
            "wrench": (6,),  # what the forces amount to
            "violated": (1,),
            "iterations": (1,),
        }
        contact_rows = int(contact["rows"].sum())
        sizes = {
            "tasks": 0,
            "contacts": len(contact),
            "points": len(offset),
            "task_rows": 0,
            "contact_rows": contact_rows,
            "rows": contact_rows + 3 * len(offset),
            "variables": max(1, 3 * len(offset)),
            "most_rows": max(1, EDGES * len(offset) + len(contact)),
            "hessian": max(1, 3 * len(offset)),
        }
        self._allocate(sizes, np.zeros(0, TASK), contact, iterations)
        self._set_limits(limits, period, fade, fallback_damping)
        self.program.offset[:] = offset
        self._name_gains(self._default_gains())
        self.gains = self.pack_gains(gains)

    def _default_gains(self) -> dict[str, Any]:
        """From the robot's mass, its inertia in the neutral configuration and that of its joints.

        Constant: a spring that changes with the configuration would not give back what it stores.
        """
        robot = self.robot
        mass = robot.total_mass
        inertia = float(np.trace(robot.centroidal_matrix(robot.neutral())[:3, :3])) / 3.0
        # Not those of the neutral configuration, where a stretched arm turns about its own axis.
        joints = typical_inertia(robot).diagonal.copy()
        joints[:6] = 0.0
        twice = 2.0 * DAMPING_RATIO
        return {
            "com.stiffness": mass * COM_RATE**2,  # N/m
            "com.damping": twice * mass * COM_RATE,  # N s/m
            "base.stiffness": inertia * ORIENTATION_RATE**2,  # N m/rad
            "base.damping": twice * inertia * ORIENTATION_RATE,  # N m s/rad
            "moment_weight": 10.0,  # of 1 N m against 1 N
            "force_weight": 1e-4,
            "posture.stiffness": joints * POSTURE_RATE**2,
            "posture.damping": twice * joints * POSTURE_RATE,
        }

    @property
    def motions(self) -> tuple[Motion, ...]:
        """What is moved: centre of mass, base and posture."""
        base = (0, np.eye(3).ravel(), np.zeros(3))
        return (
            Motion(COM, "com.position", velocity="com.velocity"),
            Motion(
                FRAME_MOTION, orientation="base.orientation", velocity="base.velocity", frame=base
            ),
            Motion(JOINTS, "posture.position", velocity="posture.velocity"),
        )

    def hold(self, q: Any) -> dict[str, Array]:
        """References that keep the robot as it is at q, with all contacts active."""
        robot = self.robot
        own = numbers("q", q, (robot.nq,))
        values = {name: np.zeros(shape) for name, shape in self.references.items()}
        values["com.position"] = robot.center_of_mass(q)
        values["base.orientation"] = own[3:7].copy()
        values["posture.position"] = own
        values["active"][:] = 1.0
        values["max_force"][:] = UNBOUNDED
        return values
