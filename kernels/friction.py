"""Unilateral contacts with Coulomb friction: projected Gauss-Seidel in contact space.

Over one time step dt, impulses p and the contacts' velocities w at its end satisfy

    w = G v + dt (G a_free − γ) + K p
    0 ≤ p_n ⟂ w_n ≥ 0,    |p_t| ≤ friction · p_n,    w_t opposite to p_t where they slide

The sweep takes one contact after the other: the normal impulse is cut off at zero, then the
tangential one at the disc that the normal one allows. A fixed point is a solution. Iterations are
bounded, the change of the last one is the residual, and a former solution may be the start.
"""

from __future__ import annotations

import math

from numba import types

from torqued.kernels.articulated import OK, SINGULAR
from torqued.kernels.branch_factor import finish_solve, half_solve
from torqued.kernels.contact_rows import CONTACTS, NORMAL
from torqued.kernels.contact_solvers import CONTACT_SPACE, fill_contact_inertia
from torqued.kernels.jit import entry, kernel
from torqued.kernels.layout import INDICES, INTEGER, VECTOR, WORK
from torqued.kernels.workspace import open_work

#: Status: the residual is still above the tolerance after the last iteration.
NOT_CONVERGED = 8

#: What a contact does over the step.
SEPARATES, STICKS, SLIDES = 0, 1, 2


@kernel
def row_velocity(space, row):
    """w of one row: rhs holds its part without impulses."""
    w = space.rhs[row]
    for s in range(len(space.force)):
        w += space.K[row, s] * space.force[s]
    return w


@kernel
def relax(contact, space):
    """One contact's impulse, given the others'. Returns how far its velocity was off, m/s."""
    p = space.force
    n = contact.row if contact.kind == NORMAL else contact.row + 2
    change = 0.0
    if space.K[n, n] > 0.0:
        before = p[n]
        p[n] = max(0.0, before - row_velocity(space, n) / space.K[n, n])
        change = abs(p[n] - before) * space.K[n, n]
    if contact.kind == NORMAL:
        return change
    x, y = contact.row, contact.row + 1
    # One step length for both tangents, small enough for either: the disc stays a disc.
    inertia = space.K[x, x] + space.K[y, y]
    if inertia > 0.0:
        px = p[x] - row_velocity(space, x) / inertia
        py = p[y] - row_velocity(space, y) / inertia
        size = math.hypot(px, py)
        limit = contact.friction * p[n]
        if size > limit:
            px *= limit / size
            py *= limit / size
        change = max(change, math.hypot(px - p[x], py - p[y]) * inertia)
        p[x], p[y] = px, py
    return change


@kernel
def classify(contact, space):
    """Whether a contact separates, sticks or slides."""
    n = contact.row if contact.kind == NORMAL else contact.row + 2
    normal = space.force[n]
    if normal <= 0.0:
        return SEPARATES
    if contact.kind == NORMAL:
        return SLIDES
    tangential = math.hypot(space.force[contact.row], space.force[contact.row + 1])
    return STICKS if tangential < contact.friction * normal * (1.0 - 1e-9) else SLIDES


@entry(WORK, VECTOR, CONTACTS, types.float64, INTEGER, types.float64, CONTACT_SPACE, INDICES)
def friction_solve(handle, tau, contacts, dt, iterations, tolerance, space, states):
    """space.force (impulses / dt), space.a and each contact's state, given the terms.

    space.force holds the start (forces of a former solution, or zeros). space.rhs[0] of the
    result is the residual in m/s, space.x[0] the number of iterations. Returns status bits.
    """
    work = open_work(handle)
    m, n = space.G.shape
    if fill_contact_inertia(work, space) != OK:
        return SINGULAR
    free = space.a
    for c in range(n):
        free[c] = tau[c] - space.bias[c]
    half_solve(work, space.M, free)
    for r in range(m):
        acceleration = -space.gamma[r]
        for c in range(n):
            acceleration += space.Z[r, c] * free[c]
        space.rhs[r] = space.velocity[r] + dt * acceleration
        space.force[r] *= dt
    residual, done = math.inf, 0
    while done < iterations and residual > tolerance:
        residual = 0.0
        for k in range(len(contacts)):
            residual = max(residual, relax(contacts[k], space))
        done += 1
    for k in range(len(contacts)):
        states[k] = classify(contacts[k], space)
    for r in range(m):
        space.force[r] /= dt
        for c in range(n):
            free[c] += space.Z[r, c] * space.force[r]
    finish_solve(work, space.M, free)
    space.rhs[0] = residual
    space.x[0] = done
    return OK if residual <= tolerance else NOT_CONVERGED
