"""∂a/∂q, ∂a/∂v and ∂a/∂τ = M⁻¹ of forward dynamics.

Where τ = ID(q, v, a) is solved by a = FD(q, v, τ), ∂a/∂x = −M⁻¹ ∂τ/∂x for x = q, v: the
derivatives of inverse dynamics, solved for with the sparse factor of M. That factor gives a first;
what a adds to accelerations and forces is carried over the tree once more, from the composite
inertias that are there.
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.contacts.branch_factor import branch_factorize, finish_solve, half_solve
from torqued.kernels.derivatives.external import add_external
from torqued.kernels.derivatives.inverse import body_terms, collect_terms, fill_derivatives
from torqued.kernels.derivatives.solve import fill_inverse, multiply_negated
from torqued.kernels.derivatives.space import SPACE, open_space
from torqued.kernels.dynamics.articulated import OK
from torqued.kernels.dynamics.crba import fill_mass_matrix
from torqued.kernels.dynamics.kinematics import bias_accelerations, body_poses
from torqued.kernels.dynamics.rnea import rest_acceleration, subtract_external
from torqued.kernels.primitives.layout import FRAMES, MATRIX, VECTOR, WORK
from torqued.kernels.primitives.spatial import ZERO6, add6, add_scaled6, dot6, inertia_times
from torqued.kernels.primitives.tuples import accumulate6, load6, load10, store6
from torqued.kernels.primitives.workspace import open_work


@kernel
def solve_acceleration(work, space, tau):
    """space.a = M⁻¹ (τ − Sᵀ f) and space.L, a status; needs bias_accelerations, collect_terms."""
    fill_mass_matrix(work, space.M)
    status = branch_factorize(work, space.M, space.L)
    if status != OK:
        return status
    for c in range(len(tau)):
        f = load6(work.states[work.body_of[c]].f)
        space.a[c] = tau[c] - dot6(load6(work.columns[c].S), f)
    half_solve(work, space.L, space.a)
    finish_solve(work, space.L, space.a)
    return OK


@kernel
def add_acceleration(work, space):
    """What space.a adds to the accelerations of bodies and to the forces on subtrees.

    Σ I_i Δa_i over a subtree is I^C Δa of its root and, below it, Σ I^C S a of every joint.
    """
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        gain = ZERO6
        if body.parent >= 0:
            gain = load6(space.gain[body.parent])
        for c in range(body.column, body.column + body.columns):
            gain = add_scaled6(gain, load6(work.columns[c].S), space.a[c])
        store6(space.gain[i], gain)
        accumulate6(work.states[i].a, gain)
        store6(space.push[i], ZERO6)
    for i in range(len(work.bodies) - 1, -1, -1):
        parent = work.bodies[i].parent
        inertia, gain, push = load10(work.states[i].I), load6(space.gain[i]), load6(space.push[i])
        accumulate6(work.states[i].f, add6(inertia_times(inertia, gain), push))
        if parent >= 0:
            relative = add_scaled6(gain, load6(space.gain[parent]), -1.0)
            accumulate6(space.push[parent], add6(inertia_times(inertia, relative), push))


@kernel
def finish_derivatives(work, space, dq, dv, dtau):
    """Those of a from space.L, space.dq and space.dv."""
    fill_inverse(work, space.L, space.M)
    multiply_negated(space, space.M, space.dq, space.dv, dq, dv)
    for i in range(dtau.shape[0]):
        for j in range(dtau.shape[1]):
            dtau[i, j] = space.M[i, j]


@entry(WORK, SPACE, VECTOR, VECTOR, VECTOR, MATRIX, MATRIX, MATRIX)
def forward_dynamics_derivatives(handle, scratch, q, v, tau, dq, dv, dtau):
    """∂a/∂q, ∂a/∂v and ∂a/∂τ. Returns a status."""
    work, space = open_work(handle), open_space(scratch)
    rest = rest_acceleration(work)
    body_poses(work, q)
    bias_accelerations(work, v, rest)
    body_terms(work)
    collect_terms(work)
    status = solve_acceleration(work, space, tau)
    if status != OK:
        return status
    add_acceleration(work, space)
    fill_derivatives(work, space, rest, space.M, space.dq, space.dv)
    finish_derivatives(work, space, dq, dv, dtau)
    return OK


@entry(WORK, SPACE, VECTOR, VECTOR, VECTOR, FRAMES, MATRIX, MATRIX, MATRIX, MATRIX)
def forward_dynamics_derivatives_forced(handle, scratch, q, v, tau, frames, wrenches, dq, dv, dtau):
    """The same while wrenches (k, 6) of constant world axes act on k frames. Returns a status."""
    work, space = open_work(handle), open_space(scratch)
    rest = rest_acceleration(work)
    body_poses(work, q)
    bias_accelerations(work, v, rest)
    body_terms(work)
    subtract_external(work, frames, wrenches)
    collect_terms(work)
    status = solve_acceleration(work, space, tau)
    if status != OK:
        return status
    add_acceleration(work, space)
    fill_derivatives(work, space, rest, space.M, space.dq, space.dv)
    add_external(work, space, frames, wrenches, space.dq)
    finish_derivatives(work, space, dq, dv, dtau)
    return OK
