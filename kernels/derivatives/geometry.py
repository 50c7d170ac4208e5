"""∂τ/∂π of geometric parameters: small displacements of the joints' frames ([M18] section 6.2).

The place of a joint in its parent link is B_i(π) = B_i exp(U π), with the six unit twists U of the
joint's frame. A step of π displaces all that hangs from the joint by U, as a column of v would that
stands still and lies before the joint's own. So it has the derivatives of such a column
(inverse.py): with Ψ̇ = v_λ × U and Ψ̈ = a_λ × U + v_λ × Ψ̇ of the parent λ,

    ∂τ_j/∂π = S_jᵀ (I^C Ψ̈ + 2 B^C Ψ̇)              for j at or behind the joint, I^C and B^C of j
    ∂τ_j/∂π = S_jᵀ (I^C Ψ̈ + 2 B^C Ψ̇ + U ×* F)     for j before it, all of the joint's first body
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.derivatives.inverse import body_terms, collect_terms
from torqued.kernels.dynamics.frames import frame_placement
from torqued.kernels.dynamics.kinematics import (
    body_accelerations,
    body_poses,
    parent_acceleration,
    parent_twist,
)
from torqued.kernels.dynamics.rnea import rest_acceleration
from torqued.kernels.primitives.layout import FRAMES, INDICES, MATRIX, VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    ZERO3,
    add6,
    add_scaled6,
    column,
    cross,
    cross_force,
    cross_motion,
    dot,
    dot6,
    factor_times,
    factor_transposed_times,
    inertia_times,
    join,
)
from torqued.kernels.primitives.tuples import load6, load10, load12
from torqued.kernels.primitives.workspace import open_work


@kernel
def unit_twist(R, p, m):
    """The m-th of the six of a frame at p with rotation R: three turns, three shifts."""
    if m < 3:
        axis = column(R, m)
        return join(axis, cross(p, axis))
    return join(ZERO3, column(R, m - 3))


@kernel
def fill_behind(work, body, Psidot, second, k, out):
    """Torques of the joints at `body` and behind it."""
    for j in range(body.column, body.end):
        state = work.states[work.body_of[j]]
        S = load6(work.columns[j].S)
        F2 = inertia_times(load10(state.I), S)
        F3 = factor_transposed_times(load12(state.B), S)
        out[j, k] = dot6(F2, second) + 2.0 * dot(F3, (Psidot[0], Psidot[1], Psidot[2]))


@kernel
def fill_before(work, b, U, Psidot, second, k, out):
    """Torques of the joints between body b and the world."""
    state = work.states[b]
    change = inertia_times(load10(state.I), second)
    change = add_scaled6(change, factor_times(load12(state.B), Psidot), 2.0)
    change = add6(change, cross_force(U, load6(state.f)))
    i = work.bodies[b].parent
    while i >= 0:
        above = work.bodies[i]
        for j in range(above.column, above.column + above.columns):
            out[j, k] = dot6(load6(work.columns[j].S), change)
        i = above.parent


@entry(WORK, VECTOR, VECTOR, VECTOR, FRAMES, INDICES, MATRIX)
def geometric_derivatives(handle, q, v, a, sites, first, out):
    """∂τ/∂π (n, 6 s): six columns for each of s joints, [turns; shifts] in the joint's own axes.

    `sites` are the joints' frames at q = 0, on their parents; `first` the bodies that they move.
    """
    work = open_work(handle)
    rest = rest_acceleration(work)
    body_poses(work, q)
    body_accelerations(work, v, a, rest)
    body_terms(work)
    collect_terms(work)
    out[:, :] = 0.0
    for s in range(len(first)):
        body = work.bodies[first[s]]
        R, p = frame_placement(work, sites[s])
        v_parent, a_parent = parent_twist(work, body), parent_acceleration(work, body, rest)
        for m in range(6):
            U = unit_twist(R, p, m)
            Psidot = cross_motion(v_parent, U)
            second = add6(cross_motion(a_parent, U), cross_motion(v_parent, Psidot))
            fill_behind(work, body, Psidot, second, 6 * s + m, out)
            fill_before(work, first[s], U, Psidot, second, 6 * s + m, out)
