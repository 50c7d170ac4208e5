"""A robot that is not torqued's: MuJoCo simulates it, in torqued's coordinates.

From a description MuJoCo gets masses, joints and rotor inertias, and nothing of torqued's
computations. Its joints have no losses and no end stops: what a torque does is what the equations
of motion say. Around the robot there can be a floor, walls, feet and loads, and it can be pushed.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any

import mujoco
import numpy as np

from torqued.common.errors import InputError
from torqued.kernels import Robot
from torqued.kernels.formats.urdf_writer import to_urdf
from torqued.kernels.model.description import Array, Description, Limits

#: s, of MuJoCo's own steps.
SUBSTEP = 5e-4
#: MuJoCo's answer to a hard contact: time constant in s (two steps and more), damping ratio.
HARD = (2e-3, 1.0)

INTEGRATORS = {
    "implicitfast": mujoco.mjtIntegrator.mjINT_IMPLICITFAST,
    "rk4": mujoco.mjtIntegrator.mjINT_RK4,
}


@dataclass(frozen=True)
class Wall:
    """A plane through `point` (3,) m whose free side is the one `normal` (3,) points to.

    With `half_size` (3,) m a box instead: its face has the point in its middle, and the third size
    is half of its depth behind the face.
    """

    point: Array
    normal: Array
    half_size: Array | None = None
    friction: float = 0.8
    #: MuJoCo's solref: (time constant s, damping ratio), or both negative (−stiffness, −damping)
    #: per unit of mass.
    softness: tuple[float, float] = HARD


@dataclass(frozen=True)
class Toucher:
    """What of a link touches walls: a ball of `radius` m, or a box of half sizes `box` (3,) m."""

    link: str
    at: Array = field(default_factory=lambda: np.zeros(3))  # m, center in the link's axes
    radius: float = 0.0
    box: Array | None = None


@dataclass(frozen=True)
class Push:
    """A force (3,) N in world axes at a point (3,) m of a link, in the link's axes."""

    link: str
    force: Array
    at: Array = field(default_factory=lambda: np.zeros(3))
    moment: Array = field(default_factory=lambda: np.zeros(3))  # N m, world axes


class Plant:
    """A simulated robot: `q`, `v` at `time`, and `step(tau, seconds)` to move on."""

    def __init__(
        self,
        description: Description,
        base: str = "fixed",
        walls: tuple[Wall, ...] = (),
        touchers: tuple[Toucher, ...] = (),
        integrator: str = "implicitfast",
        substep: float = SUBSTEP,
    ) -> None:
        self.robot = Robot.from_description(description, base)
        if self.robot.tree.follows:
            raise InputError(
                f"robot {description.name!r} has mimic joints; lock them for the simulation"
            )
        self.chart = self.robot.chart("mujoco")
        self.model = self._compile(specification(description, base, walls, touchers))
        self.model.opt.timestep = substep
        self.model.opt.integrator = INTEGRATORS[integrator]
        self.model.opt.gravity[:] = self.robot.gravity_vector
        self.data = mujoco.MjData(self.model)
        self._check_order()
        zero: Array = np.zeros(self.robot.nv)
        self._set_armature()
        self.pushes: list[Push] = []
        self._pushed = False
        # Joints of one coordinate each are the same in both; what has a quaternion is not.
        self._same = self.model.nq == self.model.nv
        self.contact_torque = zero  # (nv,) of all contacts, its mean over the last step
        self.reset(self.robot.neutral(), zero)

    def _compile(self, spec: Any) -> Any:
        return spec.compile()

    def _set_armature(self) -> None:
        """Rotor inertias are of joints: the free joint has none, whatever its map."""
        armature, neutral = self.robot.limits.armature, self.robot.neutral()
        self.model.dof_armature[:] = self.chart.torque_from_native(neutral, armature)

    def _check_order(self) -> None:
        """MuJoCo's order of joints has to be the chart's; motors may follow."""
        own = list(self.chart.joint_names)
        there = [self.model.joint(k).name for k in range(self.model.njnt)][: len(own)]
        if self.robot.model.base == "floating":
            there, own = there[1:], own[1:]
        if there != own:
            raise InputError(f"MuJoCo has joints {there}, but the chart 'mujoco' has {own}")

    def reset(self, q: Any, v: Any, time: float = 0.0) -> None:
        """Put the robot into a state, without warm starts of solvers."""
        mujoco.mj_resetData(self.model, self.data)
        self.data.qpos[:] = self.chart.from_native(q)
        self.data.qvel[:] = self.chart.velocity_from_native(q, v)
        self.data.time = time
        mujoco.mj_forward(self.model, self.data)

    @property
    def time(self) -> float:
        return float(self.data.time)

    @property
    def q(self) -> Array:
        """(nq,) in torqued's coordinates."""
        return np.array(self.data.qpos) if self._same else self.chart.to_native(self.data.qpos)

    @property
    def v(self) -> Array:
        """(nv,) in torqued's coordinates."""
        if self._same:
            return np.array(self.data.qvel)
        return self.chart.velocity_to_native(self.data.qpos, self.data.qvel)

    def _native_torque(self, there: Array) -> Array:
        return there if self._same else self.chart.torque_to_native(self.data.qpos, there)

    def step(self, tau: Array, seconds: float = 1e-3) -> None:
        """Hold a torque (nv,) for a time, which is a whole number of MuJoCo's steps."""
        native = tau if self._same else self.chart.torque_from_native(self.q, tau)
        self.data.qfrc_applied[:] = native
        steps = round(seconds / self.model.opt.timestep)
        touched = np.zeros(self.model.nv)
        for _ in range(steps):
            if self.pushes or self._pushed:
                self._apply_pushes()
            mujoco.mj_step(self.model, self.data)
            touched += self.data.qfrc_constraint
        mujoco.mj_forward(self.model, self.data)  # where links are now, and what they touch
        self.contact_torque = self._native_torque(touched / steps)

    def _apply_pushes(self) -> None:
        self._pushed = bool(self.pushes)
        self.data.xfrc_applied[:] = 0.0
        for push in self.pushes:
            body = self.body(push.link)
            arm = self.point(push.link, push.at) - self.data.xipos[body]
            self.data.xfrc_applied[body, :3] += push.force
            self.data.xfrc_applied[body, 3:] += np.cross(arm, push.force) + push.moment

    def body(self, link: str) -> int:
        """MuJoCo's number of a link."""
        number = mujoco.mj_name2id(self.model, mujoco.mjtObj.mjOBJ_BODY, body_name(link))
        if number < 0:
            raise InputError(f"unknown link {link!r}")
        return int(number)

    def point(self, link: str, at: Any = (0.0, 0.0, 0.0)) -> Array:
        """Where a point of a link is in the world, m."""
        body = self.body(link)
        place: Array = self.data.xpos[body] + self.data.xmat[body].reshape(3, 3) @ np.asarray(at)
        return place

    def push_torque(self) -> Array:
        """The joint torque (nv,) of all pushes."""
        total = np.zeros(self.model.nv)
        for push in self.pushes:
            place, body = self.point(push.link, push.at), self.body(push.link)
            mujoco.mj_applyFT(self.model, self.data, push.force, push.moment, place, body, total)
        return self._native_torque(total)

    def contact_force(self) -> float:
        """N, sum of the normal forces of all contacts."""
        wrench, total = np.zeros(6), 0.0
        for k in range(self.data.ncon):
            mujoco.mj_contactForce(self.model, self.data, k, wrench)
            total += wrench[0]
        return total

    def force_on(self, link: str) -> Array:
        """N, sum (3,) of the forces of walls on a link, world axes."""
        body, wrench, total = self.body(link), np.zeros(6), np.zeros(3)
        for k in range(self.data.ncon):
            contact = self.data.contact[k]
            first, second = self.model.geom_bodyid[contact.geom]
            if body in (first, second):
                mujoco.mj_contactForce(self.model, self.data, k, wrench)
                force = contact.frame.reshape(3, 3).T @ wrench[:3]  # of the first on the second
                total += force if second == body else -force
        return total


def body_name(link: str) -> str:
    """MuJoCo calls the ground `world`; a link of that name gets another one."""
    return "not_the_world" if link == "world" else link


def specification(
    description: Description, base: str, walls: tuple[Wall, ...], touchers: tuple[Toucher, ...]
) -> Any:
    """Source of MuJoCo's model: inertias and joints as they are, meshes, losses and end stops left
    out."""
    free: dict[str, Any] = {"damping": 0.0, "friction": 0.0, "armature": 0.0, "limits": Limits()}
    plain = replace(
        description,
        links=tuple(replace(link, name=body_name(link.name)) for link in description.links),
        joints=tuple(
            replace(joint, parent=body_name(joint.parent), child=body_name(joint.child), **free)
            for joint in description.joints
        ),
    )
    settings = '<mujoco><compiler fusestatic="false" balanceinertia="false"/></mujoco></robot>'
    spec = mujoco.MjSpec.from_string(to_urdf(plain).replace("</robot>", settings))
    if base == "floating":
        spec.worldbody.first_body().add_freejoint()
    for wall in walls:
        add_wall(spec, wall)
    for toucher in touchers:
        add_toucher(spec, toucher)
    return spec


#: Walls touch touchers and nothing else does: a bit each.
WALL, TOUCHER = 1, 2


def add_wall(spec: Any, wall: Wall) -> None:
    normal = np.asarray(wall.normal, float) / np.linalg.norm(wall.normal)
    turn = np.zeros(4)
    mujoco.mju_quatZ2Vec(turn, normal)
    shape, size, middle = mujoco.mjtGeom.mjGEOM_PLANE, [0.0, 0.0, 1.0], wall.point
    if wall.half_size is not None:
        shape, size = mujoco.mjtGeom.mjGEOM_BOX, list(wall.half_size)
        middle = wall.point - normal * size[2]
    spec.worldbody.add_geom(
        type=shape,
        size=size,
        pos=middle,
        quat=turn,
        contype=WALL,
        conaffinity=TOUCHER,
        friction=[wall.friction, 0.005, 1e-4],
        solref=list(wall.softness),
        priority=1,  # contacts take the wall's numbers, not a mean with the link's
    )


def add_toucher(spec: Any, toucher: Toucher) -> None:
    shape, size = mujoco.mjtGeom.mjGEOM_SPHERE, [toucher.radius, 0.0, 0.0]
    if toucher.box is not None:
        shape, size = mujoco.mjtGeom.mjGEOM_BOX, list(toucher.box)
    spec.body(body_name(toucher.link)).add_geom(
        type=shape, size=size, pos=toucher.at, contype=TOUCHER, conaffinity=WALL, mass=0.0
    )
