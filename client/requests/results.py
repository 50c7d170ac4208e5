"""What replies hold, a class for each kind. Shapes and units as docs/PROTOCOL.md has them.

Fields are attributes: `r.M`, also `r["M"]` and `"M" in r`. A reply has the fields that were asked
for; a newer daemon may send others beside those that are named here.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

import numpy as np

from torqued.common.errors import error
from torqued.common.results import Dynamics as Dynamics
from torqued.common.results import Kinematics as Kinematics
from torqued.common.results import Result as Result

if TYPE_CHECKING:
    from numpy.typing import NDArray

Array: TypeAlias = "NDArray[np.float64]"


class Joint(NamedTuple):
    """`q[joint.q]` and `v[joint.v]` are the joint's own numbers."""

    name: str
    q: slice
    v: slice


class Hello(Result):
    """The robot, its conventions, and the daemon that serves it."""

    name: str  # of the robot
    base: str  # "fixed" or "floating"
    nq: int
    nv: int
    joints: list[str]
    joint_slices: dict[str, dict[str, list[int]]]  # joint → q, v → first, end
    locked: dict[str, float]  # joints that are held, left out of q and v → rad or m
    frames: list[str]
    limits: dict[str, Array]  # lower, upper (nq,); velocity, effort, … (nv,); inf: not known
    neutral: Array  # (nq,)
    postures: dict[str, Array]  # by name, (nq,)
    gravity_vector: Array  # (3,) m/s², world axes
    warnings: list[str]  # harmless faults of the robot's file
    conventions: str
    operations: list[str]
    endpoints: dict[str, str]  # request, control, telemetry
    rights: str  # of this client: "read", "command" or "administrate"
    rate: float  # Hz, of the loop
    deadline: float  # s, of its newest tick, by the daemon's monotonic clock
    realtime: dict[str, str]  # settings asked for: whether they were granted

    def joint(self, name: str) -> Joint:
        """Where a joint is in q and v, by its name."""
        if name not in self.joint_slices:
            known = ", ".join(self.joint_slices)
            raise error("bad_field", f"joint: {name!r} is unknown, allowed: {known}", field="joint")
        places = self.joint_slices[name]
        return Joint(name, slice(*places["q"]), slice(*places["v"]))


class ContactDynamics(Result):
    """m rows of all contacts together: G a = γ, K = G M⁻¹ Gᵀ."""

    a: Array  # (nv,) rad/s², m/s²
    force: Array  # (m,) N m, N
    G: Array  # (m, nv)
    gamma: Array  # (m,)
    inverse_inertia: Array  # (m, m), K
    rank_deficient: bool  # contacts are redundant; forces are those of minimum norm
    conflicting: bool  # no acceleration satisfies all contacts; the nearest was taken
    redundant: list[Any]  # one per constraint, None where it does not apply, as in the next three
    pulls: list[Any]
    slips: list[Any]
    tips: list[Any]


class Impact(Result):
    """After an impact."""

    v: Array  # (nv,) rad/s, m/s
    impulse: Array  # (m,) N m s, N s
    energy_lost: float  # J
    rank_deficient: bool
    conflicting: bool


class ConstraintTerms(Result):
    """m rows of all constraints together."""

    G: Array  # (m, nv)
    position: Array  # (m,) errors, rad and m
    velocity: Array  # (m,) G v
    gamma: Array  # (m,) G a = γ


class Assembly(Result):
    """A state that satisfies constraints, near a guess."""

    q: Array  # (nq,)
    v: Array  # (nv,)
    position_error: float  # the largest that is left, rad or m
    velocity_error: float  # the same of G v, rad/s or m/s
    iterations: int
    converged: bool


class ConstrainedTorques(Result):
    """Torques of actuated joints for wanted accelerations under constraints."""

    tau: Array  # (nv,) N m, N; zero for what is not actuated
    efforts: Array  # (k,) of the actuators
    a: Array  # (nv,) rad/s², m/s², that come of it
    force: Array  # (m,) N m, N, of the constraints
    exact: bool  # whether a is what was wanted
    acceleration_error: float  # the largest difference between the two
    fully_actuated: bool  # whether any motion that constraints leave free could be had


class SecondDerivatives(Result):
    """Of torques, (nv, nv, nv) each: [j, k, l] is of τ_j."""

    dtau_dqdq: Array  # the derivative along q_l of that along q_k
    dtau_dvdv: Array
    dtau_dqdv: Array  # by q_k and v_l
    dM_dq: Array  # of M_jk by q_l


class ContactDerivatives(Result):
    """Of accelerations and contact forces; a column per velocity."""

    da_dq: Array  # (nv, nv)
    da_dv: Array
    da_dtau: Array
    dforce_dq: Array  # (m, nv), rows of all contacts together
    dforce_dv: Array
    dforce_dtau: Array


class InverseKinematics(Result):
    """A configuration, and how near it comes to the targets."""

    q: Array  # (nq,)
    status: str  # "reached"; "nearest" where no step comes nearer; "stopped" by the iterations
    errors: Array  # (targets,) the largest of each one's left_over, rad or m
    left_over: list[Array]  # per target, what is missing: [turn rad; distance m]
    reached: list[bool]  # per target
    iterations: int  # steps, of all starts together
    starts: int  # configurations from which it was tried


class Simulation(Result):
    """States at the start and after every so many steps."""

    time: Array  # (k,) s
    q: Array  # (k, nq)
    v: Array  # (k, nv)
    tau: Array  # (k, nv), that acted at these times


class Control(Result):
    """The outputs of a law; docs/PROTOCOL.md lists those beside the torque."""

    tau: Array  # (nv,) N m, N
    status: list[str]  # names of status bits; empty is good


class Ping(Result):
    ready: bool
    name: str  # of the daemon
    robot: str  # of its robot
    kernels: dict[str, Any]  # kernel: next to compile, done, total


class Stats(Result):
    """Counters of a daemon and percentiles of its loop."""

    name: str  # of the daemon
    robot: str  # of its robot
    ready: bool
    uptime: float  # s
    requests: int
    refused: int
    outcomes: dict[str, dict[str, int]]  # operation → "ok" or an error's code → how many
    unsent: int  # replies that no client read
    memory: dict[str, int]  # resident, most: bytes; cut: connections
    servo: dict[str, Any]  # tick, missed, rate Hz; lateness, compute, age: p50_us, p99_us, …
    sessions: list[dict[str, Any]]
    realtime: dict[str, str]
    kernels: dict[str, Any]  # kernel: next to compile, done, total
    worker: dict[str, Any]
    observation: dict[str, Any]  # the ring: size, records, refused; recorders, with their alarms


class Reloaded(Result):
    """The robot after a reload."""

    name: str
    base: str
    nq: int
    nv: int
    warnings: list[str]
    restart: list[str]  # settings that have changed too, and need a restart


class SessionState(Result):
    """What a session is doing."""

    session: int
    law: str
    mode: str  # waiting, holding, following, moving, fallback, stopped
    q: Array  # (nq,) of the newest state
    v: Array  # (nv,)
    references: dict[str, Array]  # in effect
    status: list[str]  # of the newest output
    at_wall: list[str]  # joints, and frames, whose walls changed a torque when one last did
    remaining: float  # s, of a movement
    commander: str  # empty where there is none
