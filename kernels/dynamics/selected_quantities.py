"""Many quantities from one walk over the tree: what is asked for, and nothing else."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import typeof
from numpy.typing import NDArray

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.centroidal import (
    kinetic_energy,
    momentum_about,
    potential_energy,
    relative_com,
    total_momentum,
)
from torqued.kernels.dynamics.christoffel import fill_christoffel
from torqued.kernels.dynamics.composite import composite_factors, composite_inertias
from torqued.kernels.dynamics.coriolis import fill_coriolis
from torqued.kernels.dynamics.crba import fill_mass_matrix
from torqued.kernels.dynamics.frames import (
    body_motion,
    fill_jacobian,
    fill_pose,
    frame_placement,
    represent_rate,
)
from torqued.kernels.dynamics.kinematics import drift, place
from torqued.kernels.dynamics.rnea import (
    body_forces,
    collect_forces,
    fill_gravity,
    rest_acceleration,
)
from torqued.kernels.primitives.layout import FRAMES, INTEGER, VECTOR, WORK
from torqued.kernels.primitives.spatial import add, add_scaled6
from torqued.kernels.primitives.tuples import load3, store3, store6
from torqued.kernels.primitives.workspace import open_work

Array = NDArray[np.float64]

MASS, MASS_RATE, CORIOLIS, CHRISTOFFEL = 1, 2, 4, 8
GRAVITY, BIAS, ENERGY, COM, MOMENTUM = 16, 32, 64, 128, 256
JACOBIAN, JACOBIAN_RATE, POSE = 512, 1024, 2048

#: Names as users and the wire spell them.
WANTS = {
    "M": MASS,
    "Mdot": MASS_RATE,
    "C": CORIOLIS,
    "Gamma": CHRISTOFFEL,
    "g": GRAVITY,
    "bias": BIAS,
    "energy": ENERGY,
    "com": COM,
    "momentum": MOMENTUM,
    "J": JACOBIAN,
    "Jdot_v": JACOBIAN_RATE,
    "pose": POSE,
}

NEED_VELOCITY = CORIOLIS | MASS_RATE | BIAS | ENERGY | MOMENTUM | JACOBIAN_RATE
NEED_FACTORS = CORIOLIS | MASS_RATE
NEED_INERTIAS = MASS | CHRISTOFFEL | GRAVITY


class Quantities(NamedTuple):
    """Where results go; arrays that are not wanted may have size 0."""

    M: Array  # (nv, nv); also written when Mdot or C is wanted
    Mdot: Array  # (nv, nv); likewise
    C: Array  # (nv, nv); likewise
    Gamma: Array  # (nv, nv, nv), zeroed once
    g: Array  # (nv,)
    bias: Array  # (nv,)
    energy: Array  # (2,) kinetic, potential
    com: Array  # (3,)
    momentum: Array  # (6,) centroidal
    J: Array  # (k, 6, nv)
    Jdot_v: Array  # (k, 6)
    pose: Array  # (k, 4, 4)


def quantities(want: int, nv: int, frames: int) -> Quantities:
    """Zeroed arrays for what is wanted."""

    def array(needed: int, *shape: int) -> Array:
        return np.zeros(shape if want & needed else (0,) * len(shape))

    matrices = MASS if not want & NEED_FACTORS else MASS | NEED_FACTORS
    return Quantities(
        M=array(matrices, nv, nv),
        Mdot=array(NEED_FACTORS, nv, nv),
        C=array(NEED_FACTORS, nv, nv),
        Gamma=array(CHRISTOFFEL, nv, nv, nv),
        g=array(GRAVITY, nv),
        bias=array(BIAS, nv),
        energy=array(ENERGY, 2),
        com=array(COM, 3),
        momentum=array(MOMENTUM, 6),
        J=array(JACOBIAN, frames, 6, nv),
        Jdot_v=array(JACOBIAN_RATE, frames, 6),
        pose=array(POSE, frames, 4, 4),
    )


QUANTITIES = typeof(quantities(0, 0, 0))


@entry(WORK, VECTOR, VECTOR, INTEGER, FRAMES, INTEGER, QUANTITIES)
def evaluate(handle, q, v, want, frames, representation, out):
    """Fill the wanted members of `out`, sharing every sweep."""
    fill_quantities(open_work(handle), q, v, want, frames, representation, out)


@kernel
def fill_quantities(work, q, v, want, frames, representation, out):
    """The same for kernels."""
    rest = rest_acceleration(work)
    place(work, q)
    if want & NEED_VELOCITY:
        drift(work, v, rest)
    if want & NEED_FACTORS:
        composite_factors(work)
        fill_coriolis(work, out.M, out.Mdot, out.C)
    elif want & NEED_INERTIAS:
        composite_inertias(work)
        if want & MASS:
            fill_mass_matrix(work, out.M)
    if want & GRAVITY:
        fill_gravity(work, out.g)
    if want & CHRISTOFFEL:
        fill_christoffel(work, out.Gamma)
    if want & BIAS:
        body_forces(work)
        collect_forces(work, out.bias)
    if want & ENERGY:
        out.energy[0] = kinetic_energy(work, v)
        out.energy[1] = potential_energy(work)
    if want & COM:
        store3(out.com, add(relative_com(work), load3(work.origin)))
    if want & MOMENTUM:
        store6(out.momentum, momentum_about(total_momentum(work), relative_com(work)))
    for k in range(len(frames)):
        if want & POSE:
            fill_pose(work, frames[k], out.pose[k])
        if want & JACOBIAN:
            fill_jacobian(work, frames[k], representation, out.J[k])
        if want & JACOBIAN_RATE:
            R, p = frame_placement(work, frames[k])
            twist, acceleration = body_motion(work, frames[k])
            if frames[k].body >= 0:  # drift counted gravity in, a Jacobian's rate has none
                acceleration = add_scaled6(acceleration, rest, -1.0)
            store6(out.Jdot_v[k], represent_rate(work, representation, R, p, twist, acceleration))
