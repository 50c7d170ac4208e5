"""Accelerations and forces of a robot in contact, and velocities after an impact."""

from numba import types

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.contacts.branch_factor import finish_solve
from torqued.kernels.contacts.rows import CONTACTS, fill_contacts
from torqued.kernels.contacts.solvers import (
    CONTACT_SPACE,
    DIRECT,
    NULL_SPACE,
    fill_contact_inertia,
    is_regular,
    solve_direct,
    solve_forces,
    solve_null_space,
    solve_range_space,
)
from torqued.kernels.dynamics.articulated import OK, SINGULAR
from torqued.kernels.dynamics.composite import composite_inertias
from torqued.kernels.dynamics.crba import fill_mass_matrix
from torqued.kernels.dynamics.kinematics import bias_accelerations, body_poses
from torqued.kernels.dynamics.rnea import body_forces, collect_forces, rest_acceleration
from torqued.kernels.primitives.layout import INTEGER, VECTOR, WORK
from torqued.kernels.primitives.workspace import open_work


@kernel
def fill_contact_terms(work, q, v, contacts, space):
    """M, bias, G, G v and γ."""
    rest = rest_acceleration(work)
    body_poses(work, q)
    bias_accelerations(work, v, rest)
    body_forces(work)
    collect_forces(work, space.bias)
    composite_inertias(work)
    fill_mass_matrix(work, space.M)
    fill_contacts(work, contacts, rest, space.G, space.velocity, space.gamma)


@kernel
def solve_contacts(work, tau, solver, space):
    """a and λ; in the range space also where contacts are redundant."""
    status = SINGULAR
    if solver == DIRECT:
        status = solve_direct(tau, space)
    elif solver == NULL_SPACE:
        status = solve_null_space(tau, space)
    # K is part of the result of every solver, and its rank decides for all of them.
    if status == OK and fill_contact_inertia(work, space) == OK and is_regular(space):
        return OK
    return solve_range_space(work, tau, space)


@entry(WORK, VECTOR, VECTOR, CONTACTS, CONTACT_SPACE)
def contact_terms(handle, q, v, contacts, space):
    """M, bias, G, G v and γ of a contact problem."""
    fill_contact_terms(open_work(handle), q, v, contacts, space)


@entry(WORK, VECTOR, INTEGER, CONTACT_SPACE)
def contact_solve(handle, tau, solver, space):
    """a and λ, given the terms. Returns status bits."""
    return solve_contacts(open_work(handle), tau, solver, space)


@entry(WORK, VECTOR, VECTOR, VECTOR, CONTACTS, INTEGER, CONTACT_SPACE)
def contact_dynamics(handle, q, v, tau, contacts, solver, space):
    """Terms and solution in one call. Returns status bits."""
    work = open_work(handle)
    fill_contact_terms(work, q, v, contacts, space)
    return solve_contacts(work, tau, solver, space)


@entry(WORK, VECTOR, types.float64, CONTACT_SPACE)
def impact_solve(handle, v, restitution, space):
    """space.a = velocities after an impact, space.force = impulse, given the terms ([F16] eq. 10).

    M (v⁺ − v⁻) = Gᵀ Λ,   G v⁺ = −e G v⁻
    """
    work = open_work(handle)
    m, n = space.G.shape
    if fill_contact_inertia(work, space) != OK:
        return SINGULAR
    for r in range(m):
        space.rhs[r] = -(1.0 + restitution) * space.velocity[r]
    status = solve_forces(space)
    for c in range(n):
        space.a[c] = 0.0
        for r in range(m):
            space.a[c] += space.Z[r, c] * space.force[r]
    finish_solve(work, space.L, space.a)
    for c in range(n):
        space.a[c] += v[c]
    return status
