"""Not a law but a stream: any of the dynamics quantities of the newest state, every tick."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
from numba import carray

from torqued.common.errors import InputError
from torqued.kernels.compilation.jit import kernel
from torqued.kernels.control.law import (
    Fields,
    Gains,
    Law,
    Prepared,
    copy,
    expand_state,
    law,
    open_control,
    velocity,
)
from torqued.kernels.dynamics.frames import REPRESENTATIONS
from torqued.kernels.dynamics.mimic import (
    project_matrix,
    project_rows,
    project_tensor,
    project_vector,
)
from torqued.kernels.dynamics.selected_quantities import (
    BIAS,
    CHRISTOFFEL,
    COM,
    CORIOLIS,
    ENERGY,
    GRAVITY,
    JACOBIAN,
    JACOBIAN_RATE,
    MASS,
    MASS_RATE,
    MOMENTUM,
    NEED_FACTORS,
    POSE,
    WANTS,
    Quantities,
    fill_quantities,
)
from torqued.kernels.input_checks import choice, text, texts
from torqued.kernels.primitives.layout import FRAME
from torqued.kernels.primitives.workspace import pointer

if TYPE_CHECKING:
    from torqued.kernels.robot.robot import Robot


def no_gains(robot: Robot, given: Fields, fields: Fields) -> Gains:
    if given:
        raise InputError("gains: a stream takes none", "gains")
    return {}


def prepare(robot: Robot, fields: Fields) -> Prepared:
    names = texts(fields, "frames", ())
    want = flags(texts(fields, "want", ("M", "C", "g")))
    representation = text(fields, "representation", "hybrid")
    free = shapes(want, robot.nv_free, len(names)) if robot.model.mimics.present else {}
    return Prepared(
        no_gains(robot, fields.get("gains", {}), fields),
        outputs=shapes(want, robot.nv, len(names)),
        memory=np.zeros(sum(math.prod(shape) for shape in free.values())),
        frames=robot._frames(names),
        want=want,
        representation=REPRESENTATIONS[choice("representation", representation, REPRESENTATIONS)],
    )


LAW = Law(
    "stream_quantities",
    prepare,
    no_gains,
    options=("want", "frames", "representation"),
    is_torque=False,
)


def shapes(want: int, nv: int, frames: int) -> dict[str, tuple[int, ...]]:
    """Arrays of a stream's output by name, in their order in the frame.

    M, Mdot and C come together wherever Mdot or C is wanted: they are computed together.
    """
    together = MASS | NEED_FACTORS if want & NEED_FACTORS else MASS
    sizes: list[tuple[str, int, tuple[int, ...]]] = [
        ("M", together, (nv, nv)),
        ("Mdot", NEED_FACTORS, (nv, nv)),
        ("C", NEED_FACTORS, (nv, nv)),
        ("Gamma", CHRISTOFFEL, (nv, nv, nv)),
        ("g", GRAVITY, (nv,)),
        ("bias", BIAS, (nv,)),
        ("energy", ENERGY, (2,)),
        ("com", COM, (3,)),
        ("momentum", MOMENTUM, (6,)),
        ("J", JACOBIAN, (frames, 6, nv)),
        ("Jdot_v", JACOBIAN_RATE, (frames, 6)),
        ("pose", POSE, (frames, 4, 4)),
    ]
    return {name: shape for name, bits, shape in sizes if want & bits}


def flags(want: Sequence[str]) -> int:
    """The bits of wanted names."""
    bits = 0
    for name in want:
        if name not in WANTS:
            allowed = ", ".join(WANTS)
            raise InputError(f"want: {name!r} is unknown, allowed: {allowed}", "want", name)
        bits |= WANTS[name]
    return bits


@kernel
def layout(at, want, n, k):
    """Where the quantities of n velocities and k frames are, in the order of `shapes`."""
    factors = want & (CORIOLIS | MASS_RATE) != 0
    square = n if factors else 0
    mass = n if factors or want & MASS else 0
    cube = n if want & CHRISTOFFEL else 0
    gravity = n if want & GRAVITY else 0
    bias = n if want & BIAS else 0
    energy = 2 if want & ENERGY else 0
    com = 3 if want & COM else 0
    momentum = 6 if want & MOMENTUM else 0
    jacobian = k if want & JACOBIAN else 0
    rate = k if want & JACOBIAN_RATE else 0
    pose = k if want & POSE else 0
    M = carray(pointer(at), (mass, mass), np.float64)
    at += 8 * mass * mass
    Mdot = carray(pointer(at), (square, square), np.float64)
    at += 8 * square * square
    C = carray(pointer(at), (square, square), np.float64)
    at += 8 * square * square
    Gamma = carray(pointer(at), (cube, cube, cube), np.float64)
    at += 8 * cube * cube * cube
    g = carray(pointer(at), gravity, np.float64)
    at += 8 * gravity
    b = carray(pointer(at), bias, np.float64)
    at += 8 * bias
    e = carray(pointer(at), energy, np.float64)
    at += 8 * energy
    c = carray(pointer(at), com, np.float64)
    at += 8 * com
    h = carray(pointer(at), momentum, np.float64)
    at += 8 * momentum
    J = carray(pointer(at), (jacobian, 6, n), np.float64)
    at += 8 * jacobian * 6 * n
    Jdot_v = carray(pointer(at), (rate, 6), np.float64)
    at += 8 * rate * 6
    poses = carray(pointer(at), (pose, 4, 4), np.float64)
    return Quantities(M, Mdot, C, Gamma, g, b, e, c, h, J, Jdot_v, poses)


@law
def stream_quantities(handle, address):
    """Returns status bits."""
    work, control, sizes, data = open_control(handle, address)
    k, want = control[0].frame_count, control[0].want
    frames = carray(pointer(control[0].frames), k, FRAME)
    out = layout(data.out.ctypes.data, want, sizes.nv, k)
    if len(data.memory) == 0:
        q, v = data.state[: sizes.nq], velocity(sizes, data)
        fill_quantities(work, q, v, want, frames, control[0].representation, out)
        return 0
    free = layout(data.memory.ctypes.data, want, sizes.nv_free, k)
    expand_state(sizes, data)
    fill_quantities(work, data.q_free, data.v_free, want, frames, control[0].representation, free)
    reduce_quantities(data, want, free, out)
    return 0


@kernel
def reduce_quantities(data, want, free, out):
    """Quantities of the tree with mimic joints free as those of the robot: projections."""
    index, multiplier = data.v_index, data.v_multiplier
    if want & (MASS | CORIOLIS | MASS_RATE):
        project_matrix(index, multiplier, free.M, out.M)
    if want & (CORIOLIS | MASS_RATE):
        project_matrix(index, multiplier, free.Mdot, out.Mdot)
        project_matrix(index, multiplier, free.C, out.C)
    if want & CHRISTOFFEL:
        project_tensor(index, multiplier, free.Gamma, out.Gamma)
    if want & GRAVITY:
        project_vector(index, multiplier, free.g, out.g)
    if want & BIAS:
        project_vector(index, multiplier, free.bias, out.bias)
    copy(free.energy, out.energy)
    copy(free.com, out.com)
    copy(free.momentum, out.momentum)
    for k in range(free.J.shape[0]):
        project_rows(index, multiplier, free.J[k], out.J[k])
    copy(free.Jdot_v.reshape(-1), out.Jdot_v.reshape(-1))
    copy(free.pose.reshape(-1), out.pose.reshape(-1))
