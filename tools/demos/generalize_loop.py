"""One robot of MuJoCo under one law in this process, in lock step, clean or with disturbances."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

import mujoco
import numpy as np
from numpy.typing import NDArray

from torqued.client.sessions.session import Session
from torqued.common.rotation import quaternion
from torqued.common.status import status_names
from torqued.kernels import Robot
from torqued.kernels.control import Controller
from torqued.kernels.model.description import Array
from torqued.tools.demos.lockstep import PATIENCE
from torqued.tools.demos.plant import Plant

PERIOD = 1e-3  # s

References = Mapping[str, Any]
NOTHING: References = {}


@dataclass(frozen=True)
class Condition:
    """What is wrong with robot and sensors."""

    name: str
    delay: int = 0  # steps by which torques come late
    mass: float = 1.0  # of the robot's links relative to the law's model
    viscous: float = 0.0  # N m s/rad, of joints that are strong enough
    coulomb: float = 0.0  # N m
    position_noise: float = 0.0  # rad, standard deviation
    velocity_noise: float = 0.0  # rad/s
    rotors: bool = False  # the robot has rotor inertia
    payload: bool = False  # and carries a load, which the law's model lacks
    told: bool = False  # the law's model has rotors and friction of the robot


CLEAN = Condition("clean")
#: Friction damps what delay makes swing: rest and standing are also tried without it.
LATE = Condition("late", 2, 1.1, position_noise=1e-5, velocity_noise=1e-3)
ROUGH = Condition("rough", 2, 1.1, 1.0, 0.5, 1e-5, 1e-3, told=True)
#: What a URDF lacks: rotors, which the law knows or does not.
BARE = Condition("bare", 2, 1.0, 0.0, 0.0, 1e-5, 1e-3, rotors=True)
TOLD = replace(BARE, name="told", told=True)
#: Rotors and friction of a file of the Menagerie; its masses are not the URDF's.
FILE = replace(TOLD, name="file")
#: An arm with known rotors that is pushed, stopped or carries a load: bare links of a URDF, of
#: which some wrists have 1e-5 kg m², tell nothing about that.
LAB = replace(LATE, name="lab", rotors=True, told=True)
LOADED = replace(LAB, name="loaded", mass=1.0, payload=True)
CONDITIONS = (CLEAN, LATE, ROUGH, BARE, TOLD, LAB, LOADED)

#: N m: joints that are weaker than a Panda's wrist have less friction than that in proportion.
STRONG = 12.0


def losses(condition: Condition, effort: Array) -> tuple[Array, Array]:
    """(nv,) viscous and Coulomb friction of joints; none where nothing drives."""
    share = np.where(np.isfinite(effort), np.minimum(1.0, effort / STRONG), 0.0)
    return condition.viscous * share, condition.coulomb * share


#: s in which a joint's full torque brings its rotor to full speed: 2 to 32 ms on UR5e, FR3, G1 and
#: Go2 as MuJoCo Menagerie has them. Limits of speed above the second number, rad/s, say little.
SPIN_UP, FAST = 0.01, 10.0


def rotors(robot: Robot, effort: Array) -> Array:
    """(nv,) kg m², plausible rotor inertias of joints."""
    speed = robot.limits.velocity
    found: Array = SPIN_UP * effort / np.where(speed > 0.0, np.minimum(speed, FAST), 3.0)
    return found


#: MuJoCo's words for numbers that have run away.
RUN_AWAY = (
    mujoco.mjtWarning.mjWARN_BADQPOS,
    mujoco.mjtWarning.mjWARN_BADQVEL,
    mujoco.mjtWarning.mjWARN_BADQACC,
)


def quiet() -> None:
    """Robots that run away are results here: MuJoCo need not print them or keep a file of them."""
    mujoco.set_mju_user_warning(lambda message: None)


def ran_away(plant: Plant) -> bool:
    return any(plant.data.warning[kind].number > 0 for kind in RUN_AWAY)


#: MuJoCo's solimp and solref of Coulomb friction: how hard it holds. By default a joint creeps at
#: 1e-3 f / inertia rad/s under a torque f that friction should hold, which is 1 rad/s for 0.1 N m
#: and a wrist of 1e-4 kg m². Here it is 5e-8 f / inertia; a time constant is two steps at least.
HARD, STEPS_TO_HOLD = (0.9999, 0.9999, 1e-3, 0.5, 2.0), 2


def add_losses(plant: Plant, viscous: Array, coulomb: Array, armature: Array | None = None) -> None:
    neutral = plant.robot.neutral()
    if armature is not None:
        plant.model.dof_armature[:] = plant.chart.torque_from_native(neutral, armature)
    plant.model.dof_damping[:] = plant.chart.torque_from_native(neutral, viscous)
    plant.model.dof_frictionloss[:] = plant.chart.torque_from_native(neutral, coulomb)
    hold_hard(plant)


def hold_hard(plant: Plant) -> None:
    plant.model.dof_solimp[:] = HARD
    plant.model.dof_solref[:] = (STEPS_TO_HOLD * plant.model.opt.timestep, 1.0)
    plant.model.opt.cone = mujoco.mjtCone.mjCONE_ELLIPTIC


@dataclass
class Log:
    """A row per step."""

    q: Array
    v: Array
    tau: Array
    bits: NDArray[np.int64]
    ran_away: bool = False  # the simulation ended in numbers that mean nothing

    @property
    def statuses(self) -> list[str]:
        return status_names(int(np.bitwise_or.reduce(self.bits, initial=0)))

    @property
    def time(self) -> Array:
        return np.arange(len(self.q), dtype=float) * PERIOD


@dataclass
class Trial:
    """A law for a robot that is there, and how well both know each other."""

    robot: Robot  # as the law knows it
    plant: Plant
    controller: Controller
    condition: Condition
    #: Given at a time; nothing: no references ever.
    references: Callable[[float], References] = lambda t: NOTHING
    #: Ends a run early.
    failed: Callable[[Array], bool] = lambda q: False
    #: By step, what happens once its state is on the way.
    events: Mapping[int, Callable[[], object]] = field(default_factory=dict)
    #: Takes the states in place of the controller.
    session: Session | None = None
    #: Step from which encoders repeat what they last read.
    frozen_from: float = np.inf
    #: (nv,) what pushes joints beside their motors at a time.
    pushed: Callable[[float], Array | float] = lambda t: 0.0
    seed: int = 0

    def run(self, q: Array, seconds: float, settle: Array | None = None) -> Log:
        """From rest at q, with the torque `settle` until the first one comes."""
        rng = np.random.default_rng(self.seed)
        robot, plant, condition = self.robot, self.plant, self.condition
        plant.model.opt.disableflags |= mujoco.mjtDisableBit.mjDSBL_AUTORESET
        plant.reset(q, np.zeros(robot.nv))
        plant.pushes.clear()
        first = robot.gravity(q) if settle is None else settle
        late = deque([first] * condition.delay)
        rows: list[tuple[Array, Array, Array, int]] = []
        known, measured = None, (q, np.zeros(robot.nv))
        for k in range(round(seconds / PERIOD)):
            t = k * PERIOD
            q_now, v_now = plant.q, plant.v
            if self.failed(q_now) or ran_away(plant):
                break
            if k < self.frozen_from:
                measured = self._measure(rng, q_now, v_now)
            references = self.references(t)
            # Those that are not given again keep their values.
            new, known = {} if references is known else references, references
            tau, bits = self._answer(t, *measured, new)
            rows.append((q_now, v_now, tau, bits))
            late.append(tau)
            self.events.get(k, int)()
            plant.step(late.popleft() + self.pushed(t), PERIOD)
        q_all, v_all, tau_all, bits_all = (np.array(column) for column in zip(*rows, strict=True))
        return Log(q_all, v_all, tau_all, bits_all, ran_away(plant))

    def _answer(self, t: float, q: Array, v: Array, references: References) -> tuple[Array, int]:
        """The torque and status bits."""
        if self.session is not None:
            output = self.session.step(q, v, at=t, timeout=PATIENCE, **references)
            return output.tau, output.status
        controller = self.controller
        bits = controller.tick(q, v, PERIOD, references)
        return controller.split(controller.data.out)["tau"].copy(), bits

    def _measure(self, rng: np.random.Generator, q: Array, v: Array) -> tuple[Array, Array]:
        condition, nv = self.condition, len(v)
        if not condition.velocity_noise:
            return q, v
        off = condition.position_noise * rng.normal(size=nv)
        plain = len(q) == nv
        measured = q + off if plain else self.robot.integrate(q, off, 1.0)
        return measured, v + condition.velocity_noise * rng.normal(size=nv)


def hold(controller: Controller, robot: Robot, frame: str, q: Array) -> dict[str, Any]:
    """References by name with which a law keeps the robot at q."""
    names = controller.references
    owner = controller.prepared.owner
    if owner is not None and hasattr(owner, "hold"):
        return {name: value for name, value in owner.hold(q).items() if name in names}
    found: dict[str, Any] = {"q_ref": q, "posture": q}
    if "position" in names:
        pose = robot.frame_pose(q, frame)
        found |= {"position": pose[:3, 3], "orientation": quaternion(pose[:3, :3])}
    return {name: value for name, value in found.items() if name in names}


#: Steps before and after one whose mean is not chatter: what is faster than about 50 Hz is.
AROUND = 5


def chatter(tau: Array, effort: Array) -> float:
    """RMS of the torque's fast part, relative to the effort limit, of the worst joint."""
    width = 2 * AROUND + 1
    if len(tau) <= 2 * width:
        return float("nan")
    sums = np.cumsum(np.vstack([np.zeros(tau.shape[1]), tau]), axis=0)
    mean = (sums[width:] - sums[:-width]) / width
    fast = tau[AROUND:-AROUND] - mean
    with np.errstate(invalid="ignore", divide="ignore"):
        share = np.sqrt(np.mean(fast**2, axis=0)) / effort
    return float(np.nanmax(np.where(np.isfinite(effort), share, 0.0)))


def over_speed(robot: Robot, v: Array) -> tuple[float, str]:
    """Largest speed relative to its limit, and the joint."""
    limit = robot.limits.velocity
    share = np.where(limit > 0.0, np.abs(v).max(axis=0) / limit, 0.0)
    worst = int(np.argmax(share))
    joints = list(robot.joint_names)
    offset = robot.nv - len(joints)
    return float(share[worst]), joints[max(worst - offset, 0)]


def beyond_limits(robot: Robot, q: Array) -> float:
    """rad, how far a joint went past its end, more than it was at the start."""
    low = np.minimum(robot.limits.lower, q[0]) - q.min(axis=0)
    high = q.max(axis=0) - np.maximum(robot.limits.upper, q[0])
    worst = np.maximum(low, high)[np.isfinite(robot.limits.lower)]
    return float(max(worst.max(initial=0.0), 0.0))
