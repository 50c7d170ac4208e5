"""The description of a law in Python, and how compiled laws reach state, tree and results.

A law's results are its torque, and what its passivity can be checked by:

    d storage / dt = − dissipation + reference_power + portᵀ τ_ext
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import carray, types
from numpy.typing import NDArray

from torqued.common.errors import InputError
from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.control.control_record import CONTROL
from torqued.kernels.control.references.motions import Motion
from torqued.kernels.control.session_arrays import arrays_of, first_reference, sizes_of
from torqued.kernels.control.springs import RIGID, Springs
from torqued.kernels.dynamics.manifold import fill_difference
from torqued.kernels.dynamics.mimic import expand, expand_position, project_matrix, project_vector
from torqued.kernels.primitives.layout import FRAME, WORK
from torqued.kernels.primitives.workspace import open_work, pointer

if TYPE_CHECKING:
    from torqued.kernels.control.poses import Poses
    from torqued.kernels.robot.robot import Robot

Array = NDArray[np.float64]
Fields = Mapping[str, Any]
Shape = tuple[int, ...]
Gains = dict[str, Array]

#: What the loop calls through its address: takes a workspace's handle and the address of a
#: controller's record, returns status bits. Each is compiled separately, and the loop without them.
law = entry(WORK, types.uint64)


@dataclass
class Prepared:
    """A law for one robot, checked and laid out for compiled code."""

    gains: Gains  # by name, in the order in which compiled code has them
    references: dict[str, Array] = field(default_factory=dict)  # by name; values with defaults
    outputs: dict[str, Shape] = field(default_factory=dict)  # by name, in order
    memory: Array = field(default_factory=lambda: np.zeros(0))
    remembered: int = 0  # how much of `memory` carries over from tick to tick; the rest is scratch
    frames: NDArray[np.void] = field(default_factory=lambda: np.zeros(0, FRAME).view(np.recarray))
    want: int = 0  # of a stream
    representation: int = 0
    iterations: int = 0  # most of a solver, where there is one
    iteration_time: float = 0.0  # ns that one takes, estimated
    law_memory: int = 0  # address of memory that the law alone uses
    owner: Any = None  # keeps that memory alive
    axes: str = ""  # of a frame that are controlled: all, position, orientation; "": no frame is
    #: Which references belong together; those are held until they are given. None: those of joints.
    motions: tuple[Motion, ...] | None = None
    #: Between motors and links, of laws that measure both: states have the motors' as well.
    springs: Springs = RIGID
    measured: dict[str, Shape] = field(default_factory=dict)  # what states have beside q and v
    observes: bool = False  # needs the observer's residual


@dataclass(frozen=True)
class Law:
    """A law as sessions see it."""

    entry: str  # name of its compiled function
    prepare: Callable[[Robot, Fields], Prepared]  # from the fields of a request
    gains: Callable[[Robot, Fields, Fields], Gains]  # from the map of gains and all fields
    options: tuple[str, ...] = ()  # fields that it takes beside its gains
    is_torque: bool = True
    #: What it is at rest, δτ = −K δq − D δv: K and D (N, nv, nv) at N poses, from gains and all
    #: fields; stability.py judges by it.
    linearization: Callable[[Robot, Gains, Fields, Poses], tuple[Array, Array]] | None = None
    #: In its place for robots that are more than M: the largest eigenvalue (N,) of the sampled loop
    #: at N poses, with a period and a delay in s.
    radii: Callable[[Robot, Gains, Fields, Poses, float, float], Array] | None = None
    #: Where that is done, for laws of robots that stand on contacts: configurations, and M along
    #: the directions that contacts leave free, as K and D are. None: all poses, all joints.
    stances: Callable[[Robot, Fields], Poses] | None = None
    #: Gains that make the law slower or faster: 1 for those in proportion to rates (damping), 2
    #: for those to their squares (stiffness). "*.damping": of any task, contact or posture.
    scaling: Mapping[str, int] = field(default_factory=dict)
    #: Gains that another gain, once given, makes void: by the name of that one.
    replaces: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    #: Gains that count only where they are not zero: another gain stands in for those that are.
    optional: tuple[str, ...] = ()

    def in_force(self, gains: Gains) -> Gains:
        """Gains as users see them: without those that another one stands in for."""
        return {k: value for k, value in gains.items() if k not in self.optional or value.any()}

    def power(self, gain: str) -> int:
        """How a gain scales with rates."""
        word = "*." + gain.rpartition(".")[2]
        return self.scaling.get(gain, self.scaling.get(word, 0) if "." in gain else 0)


def power_outputs(robot: Robot) -> dict[str, Shape]:
    """The outputs that every torque law has."""
    return {
        "tau": (robot.nv,),
        "storage": (),
        "dissipation": (),
        "reference_power": (),
        "port": (robot.nv,),
    }


def fixed_base(robot: Robot, law: str) -> None:
    """Refuse robots whose base nothing holds."""
    if robot.model.base != "fixed":
        raise InputError(
            f"law: {law!r} needs a fixed base, but {robot.name!r} has a floating one; "
            "use 'wholebody' or 'balance' for robots that stand on contacts",
            "law",
            law,
        )


def joint_references(robot: Robot) -> dict[str, Array]:
    """Where joints are to be, how fast, and with which acceleration; and a torque to be added."""
    zeros = {name: np.zeros(robot.nv) for name in ("v_ref", "a_ref", "tau_ff")}
    return {"q_ref": robot.neutral(), **zeros}


def joint_law(name: str, entry: str, gains: Callable[..., Gains], **described: Any) -> Law:
    """A law for `joint_references` on a fixed base, with nothing but gains."""

    def prepare(robot: Robot, fields: Fields) -> Prepared:
        fixed_base(robot, name)
        packed = gains(robot, fields.get("gains", {}), fields)
        return Prepared(packed, joint_references(robot), power_outputs(robot))

    return Law(entry, prepare, gains, **described)


@kernel
def open_control(handle, address):
    """What a law works on: the tree, the controller's record (1,), sizes and arrays."""
    control = carray(pointer(address), 1, CONTROL)
    return open_work(handle), control, sizes_of(control[0]), arrays_of(control[0])


@kernel
def q_ref(sizes, data):
    start = first_reference(sizes)
    return data.state[start : start + sizes.nq]


@kernel
def v_ref(sizes, data):
    start = first_reference(sizes) + sizes.nq
    return data.state[start : start + sizes.nv]


@kernel
def a_ref(sizes, data):
    start = first_reference(sizes) + sizes.nq + sizes.nv
    return data.state[start : start + sizes.nv]


@kernel
def velocity(sizes, data):
    return data.state[sizes.nq : sizes.nq + sizes.nv]


@kernel
def square(data, k, n):
    """One of five scratch matrices (n, n), n at most nv_free."""
    return data.square[k].reshape(-1)[: n * n].reshape(n, n)


@kernel
def expand_q(data, q, q_free):
    """q of the free tree: mimic joints follow their leaders."""
    expand_position(data.q_index, data.q_multiplier, data.q_offset, q, q_free)


@kernel
def expand_v(data, v, v_free):
    """The same for velocities and accelerations."""
    expand(data.v_index, data.v_multiplier, v, v_free)


@kernel
def expand_state(sizes, data):
    expand_q(data, data.state, data.q_free)
    expand_v(data, velocity(sizes, data), data.v_free)


@kernel
def project(data, x_free, x):
    """x = Gᵀ x_free."""
    project_vector(data.v_index, data.v_multiplier, x_free, x)


@kernel
def project_square(data, M_free, M):
    """M = Gᵀ M_free G."""
    project_matrix(data.v_index, data.v_multiplier, M_free, M)


@kernel
def joint_error(work, sizes, data, reference, e):
    """e = q − reference, along the manifold where joints have quaternions; needs expand_state.

    Of a joint that turns on and on it is the shorter way, in (−π, π].
    """
    expand_q(data, reference, data.q_other)
    fill_difference(work, data.q_other, data.q_free, data.s_free)
    for k in range(sizes.nv):
        e[k] = data.s_free[data.leaders[k]]
        if data.turn[k] > 0.0:
            e[k] -= data.turn[k] * math.ceil(e[k] / data.turn[k] - 0.5)


@kernel
def times(gains, start, x, y):
    """y = K x with the square matrix K that begins at `start` of the gains."""
    n = len(x)
    for i in range(n):
        total = 0.0
        for k in range(n):
            total += gains[start + n * i + k] * x[k]
        y[i] = total


@kernel
def copy(x, y):
    """y = x. An assignment of arrays would allocate, should they overlap."""
    for k in range(len(x)):
        y[k] = x[k]


@kernel
def inner(x, y):
    total = 0.0
    for k in range(len(x)):
        total += x[k] * y[k]
    return total


@kernel
def port(sizes, data):
    """Where a law puts the velocity that external torques do work at."""
    return data.out[sizes.nv + 3 : 2 * sizes.nv + 3]


@kernel
def put_power(sizes, data, storage, dissipation, reference_power):
    """Put the numbers of the power balance behind the torque."""
    data.out[sizes.nv] = storage
    data.out[sizes.nv + 1] = dissipation
    data.out[sizes.nv + 2] = reference_power
