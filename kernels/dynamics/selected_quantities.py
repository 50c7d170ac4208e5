"""Many quantities from one walk over the tree: what is asked for, and nothing else.

quantities.py has the table of them. Matrices of several states at once are filled in another way,
in kernels/batch/evaluation.py; all else is computed here, of one state and of several.
"""

from numba import typeof
from numba.extending import overload

from torqued.kernels.batch.transposition import store, store_numbers
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
from torqued.kernels.primitives.wide import WIDE
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
    fill_of_robot(work, v, want, out, out, 0)
    if want & BIT.Gamma:
        fill_christoffel(work, out.Gamma)
    for k in range(len(frames)):
        fill_of_frame(work, want, frames, k, representation, rest, out, k, out, 0)


@kernel
def fill_of_robot(work, v, want, x, out, start):
    """Quantities of the whole robot but matrices, in arrays of `x`; needs the sweeps.

    Of several states at once `put` takes them from there to rows `start` … of `out`. Returns their
    guard, as transposition.py has it.
    """
    nan_guard = 0.0 * work.origin[0]
    if want & BIT.g:
        fill_gravity(work, x.g)
        nan_guard += put(x.g, out.g, start)
    if want & BIT.bias:
        body_forces(work)
        collect_forces(work, x.bias)
        nan_guard += put(x.bias, out.bias, start)
    if want & BIT.energy:
        x.energy[0] = kinetic_energy(work, v)
        x.energy[1] = potential_energy(work)
        nan_guard += put(x.energy, out.energy, start)
    if want & BIT.com:
        store3(x.com, add(relative_com(work), load3(work.origin)))
        nan_guard += put(x.com, out.com, start)
    if want & BIT.momentum:
        store6(x.momentum, momentum_about(total_momentum(work), relative_com(work)))
        nan_guard += put(x.momentum, out.momentum, start)
    return nan_guard


@kernel
def fill_of_frame(work, want, frames, k, representation, rest, x, i, out, start):
    """Those of frame k likewise, at index i of the arrays of `x`."""
    nan_guard = 0.0 * work.origin[0]
    if want & BIT.pose:
        fill_pose(work, frames[k], x.pose[i])
        nan_guard += put_of_frame(x.pose[i], out.pose, start, k)
    if want & BIT.J:
        fill_jacobian(work, frames[k], representation, x.J[i])
        nan_guard += put_of_frame(x.J[i], out.J, start, k)
    if want & BIT.Jdot_v:
        R, p = frame_placement(work, frames[k])
        twist, acceleration = body_motion(work, frames[k])
        if frames[k].body >= 0:  # bias_accelerations have gravity, a Jacobian's rate has none
            acceleration = add_scaled6(acceleration, rest, -1.0)
        store6(x.Jdot_v[i], represent_rate(work, representation, R, p, twist, acceleration))
        nan_guard += put_of_frame(x.Jdot_v[i], out.Jdot_v, start, k)
    return nan_guard


def put(x, rows, first):
    """Of one state: it is there already."""
    return 0.0


def put_of_frame(x, rows, first, k):
    return 0.0


def _put_wide(x, rows, first):
    return store(x, rows, first)


def _put_wide_of_frame(x, rows, first, k):
    n, frames = x.size, rows.shape[1]
    return store_numbers(x.reshape(n), rows, (first * frames + k) * n, frames * n)


#: As kernels are compiled.
_INLINE = {"error_model": "numpy", "forceinline": True}


@overload(put, jit_options=_INLINE)
def _put(x, rows, first):
    return _put_wide if x.dtype == WIDE else put


@overload(put_of_frame, jit_options=_INLINE)
def _put_of_frame(x, rows, first, k):
    return _put_wide_of_frame if x.dtype == WIDE else put_of_frame
