"""A robot with springs between its motors and its links, simulated by MuJoCo.

Each motor is a separate body that spins on the ground, with its rotor inertia as the joint's
armature and next to no mass. A tendon of fixed length 0 = θ − q between motor and link is the
spring. Gravity and the arm's motion do not act on motors: Spong's reduced model, in which of a
motor's energy only its own spin counts (kernels/control/springs.py).
"""

from __future__ import annotations

from typing import Any

import mujoco
import numpy as np

from torqued.kernels.control.springs import Springs
from torqued.kernels.model.description import Array, Description
from torqued.tools.demos.plant import SUBSTEP, Plant

#: kg and kg m² of a motor's body, which MuJoCo requires: negligible beside its rotor inertia.
TINY = 1e-12


class ElasticPlant(Plant):
    """As `Plant`, with `motor_q` and `motor_v`; `step` takes torques of motors."""

    def __init__(
        self, description: Description, springs: Springs, substep: float = SUBSTEP
    ) -> None:
        self.springs = springs
        super().__init__(description, integrator="rk4", substep=substep)

    def _compile(self, spec: Any) -> Any:
        joints = [joint.name for joint in spec.joints]
        for k, name in enumerate(joints):
            add_motor(spec, name, self.springs, k)
        return spec.compile()

    def _set_armature(self) -> None:
        links = self.robot.limits.armature
        self.model.dof_armature[:] = np.concatenate([links, self.springs.motor_inertia])

    def reset(self, q: Any, v: Any, time: float = 0.0) -> None:
        """At rest in its springs: motors are where springs carry the links' weight."""
        turned = self.robot.gravity(q) / self.springs.stiffness
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:], self.data.qvel[:] = np.concatenate([q, q + turned]), np.tile(v, 2)
        self.data.time = time
        mujoco.mj_forward(self.model, self.data)

    @property
    def q(self) -> Array:
        return np.array(self.data.qpos[: self.robot.nv])

    @property
    def v(self) -> Array:
        return np.array(self.data.qvel[: self.robot.nv])

    @property
    def motor_q(self) -> Array:
        """(nv,) θ."""
        return np.array(self.data.qpos[self.robot.nv :])

    @property
    def motor_v(self) -> Array:
        """(nv,) θ̇."""
        return np.array(self.data.qvel[self.robot.nv :])

    def _native_torque(self, there: Array) -> Array:
        return there[: self.robot.nv]

    def step(self, tau: Array, seconds: float = 1e-3) -> None:
        super().step(np.concatenate([np.zeros(self.robot.nv), tau]), seconds)


def add_motor(spec: Any, joint: str, springs: Springs, k: int) -> None:
    """A motor on the ground, and the spring to its link."""
    link = spec.joint(joint)
    body = spec.worldbody.add_body(
        name=f"{joint}_motor", mass=TINY, inertia=[TINY] * 3, explicitinertial=True
    )
    body.gravcomp = 1.0  # otherwise a sliding motor has a weight
    body.add_joint(
        name=f"{joint}_motor",
        type=link.type,
        axis=[0.0, 0.0, 1.0],
        armature=springs.motor_inertia[k],  # here: of bodies that simple MuJoCo keeps M
    )
    spring = spec.add_tendon(
        name=f"{joint}_spring",
        stiffness=springs.stiffness[k],
        damping=springs.damping[k],
        springlength=[0.0, 0.0],
    )
    spring.wrap_joint(f"{joint}_motor", 1.0)
    spring.wrap_joint(joint, -1.0)
