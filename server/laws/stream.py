"""Not a law but a stream: any of the dynamics quantities of the newest state, every tick."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numba import carray

from torqued.kernels import InputError, Robot
from torqued.kernels.evaluate import (
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
from torqued.kernels.layout import FRAME
from torqued.kernels.workspace import pointer
from torqued.server.compiling import kernel
from torqued.server.laws.law import Array, Law

STREAM = 0


def no_gains(robot: Robot, given: Mapping[str, Any]) -> Array:
    if given:
        raise InputError("gains: a stream takes none", "gains")
    return np.zeros(0)


LAW = Law(STREAM, references=lambda robot: 0, gains=no_gains)


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
def stream_quantities(work, session, sizes, data):
    """Returns status bits."""
    n, k, want = sizes.nv, session.frame_count, session.want
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
    at = data.out.ctypes.data
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
    out = Quantities(M, Mdot, C, Gamma, g, b, e, c, h, J, Jdot_v, poses)
    frames = carray(pointer(session.frames), k, FRAME)
    q, v = data.state[: sizes.nq], data.state[sizes.nq : sizes.nq + sizes.nv]
    fill_quantities(work, q, v, want, frames, session.representation, out)
    return 0
