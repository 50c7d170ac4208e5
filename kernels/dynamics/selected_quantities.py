"""Many quantities from one walk over the tree: what is asked for, and nothing else.

quantities.py has the table of them.
"""

from __future__ import annotations

from numba import typeof

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
from torqued.kernels.dynamics.kinematics import bias_accelerations, body_poses
from torqued.kernels.dynamics.quantities import (
    BIT,
    NEED_FACTORS,
    NEED_INERTIAS,
    NEED_VELOCITY,
    quantities,
)
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

RESULTS = typeof(quantities(0, 0, 0))


@entry(WORK, VECTOR, VECTOR, INTEGER, FRAMES, INTEGER, RESULTS)
def evaluate(handle, q, v, want, frames, representation, out):
    """Fill the wanted members of `out`, sharing every sweep."""
    fill_quantities(open_work(handle), q, v, want, frames, representation, out)


@kernel
def fill_quantities(work, q, v, want, frames, representation, out):
    """The same for kernels."""
    rest = rest_acceleration(work)
    body_poses(work, q)
    if want & NEED_VELOCITY:
        bias_accelerations(work, v, rest)
    if want & NEED_FACTORS:
        composite_factors(work)
        fill_coriolis(work, out.M, out.Mdot, out.C)
    elif want & NEED_INERTIAS:
        composite_inertias(work)
        if want & BIT.M:
            fill_mass_matrix(work, out.M)
    if want & BIT.g:
        fill_gravity(work, out.g)
    if want & BIT.Gamma:
        fill_christoffel(work, out.Gamma)
    if want & BIT.bias:
        body_forces(work)
        collect_forces(work, out.bias)
    if want & BIT.energy:
        out.energy[0] = kinetic_energy(work, v)
        out.energy[1] = potential_energy(work)
    if want & BIT.com:
        store3(out.com, add(relative_com(work), load3(work.origin)))
    if want & BIT.momentum:
        store6(out.momentum, momentum_about(total_momentum(work), relative_com(work)))
    for k in range(len(frames)):
        if want & BIT.pose:
            fill_pose(work, frames[k], out.pose[k])
        if want & BIT.J:
            fill_jacobian(work, frames[k], representation, out.J[k])
        if want & BIT.Jdot_v:
            R, p = frame_placement(work, frames[k])
            twist, acceleration = body_motion(work, frames[k])
            if frames[k].body >= 0:  # bias_accelerations have gravity, a Jacobian's rate has none
                acceleration = add_scaled6(acceleration, rest, -1.0)
            store6(out.Jdot_v[k], represent_rate(work, representation, R, p, twist, acceleration))
