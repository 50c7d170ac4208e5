"""Unilateral contacts with Coulomb friction over one time step dt.

Impulses p and the contacts' velocities w at the end of the step satisfy the conditions of
friction_rows.py, with

    w = G v + dt (G a_free − γ) + K p

Projected Gauss-Seidel sweeps and a few Newton steps take turns, with more and shorter sweeps after
the first time.
Iterations are bounded, and how far the result is off is part of it. The start is a former
solution, or the impulses that would hold all contacts.
"""

import math

from numba import types

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.contacts.branch_factor import finish_solve, half_solve
from torqued.kernels.contacts.friction_newton import polish
from torqued.kernels.contacts.friction_rows import normal_row, put_into_cone, row_velocity, sweep
from torqued.kernels.contacts.rows import CONTACTS, NORMAL
from torqued.kernels.contacts.solvers import (
    CONTACT_SPACE,
    fill_contact_inertia,
    missed,
    solve_forces,
)
from torqued.kernels.dynamics.articulated import OK, SINGULAR
from torqued.kernels.primitives.layout import INDICES, INTEGER, VECTOR, WORK
from torqued.kernels.primitives.workspace import open_work

#: Status: the residual is still above the tolerance after the last iteration.
NOT_CONVERGED = 8

#: What a contact does over the step.
SEPARATES, STICKS, SLIDES = 0, 1, 2

#: Velocities below this fraction of the largest one without impulses are rounding.
ROUNDING = 1e-14

#: Sweeps before the first Newton steps, and how many of these follow at most.
SWEEPS, NEWTON_STEPS = 10, 10

#: How far later sweeps go towards each contact's own solution. With much friction whole steps may
#: go round in circles: for 30 of 51 000 boxes pushed at random with coefficients up to 1.5.
SHARE = 0.6


@kernel
def carries(contact, space, error):
    """Whether a contact presses: by more than its error, and more than it moves away.

    Impulses count by the velocities that they cause, m/s: what rounding leaves of one is none.
    """
    p, n = space.force, normal_row(contact)
    return space.K[n, n] * p[n] > max(error, row_velocity(space, p, n))


@kernel
def classify(contact, space, error, still):
    """Whether a contact separates, sticks or slides; slower than `still` is not a motion."""
    p, n = space.force, normal_row(contact)
    if not carries(contact, space, error):
        return SEPARATES
    if contact.kind == NORMAL:
        return SLIDES
    if math.hypot(p[n - 2], p[n - 1]) < contact.friction * p[n] * (1.0 - 1e-9):
        return STICKS
    speed = math.hypot(row_velocity(space, p, n - 2), row_velocity(space, p, n - 1))
    return SLIDES if speed > still else STICKS


@kernel
def drop_rounding(contact, space, error):
    """No impulse where a contact lifts off but for the error of the solution."""
    p, n = space.force, normal_row(contact)
    if space.K[n, n] * p[n] <= error < row_velocity(space, p, n):
        for r in range(contact.row, n + 1):
            p[r] = 0.0


@kernel
def fill_free_velocities(space, dt, free):
    """rhs = b, the velocities at the end of the step without impulses."""
    m, n = space.G.shape
    for r in range(m):
        acceleration = -space.gamma[r]
        for c in range(n):
            acceleration += space.Z[r, c] * free[c]
        space.rhs[r] = space.velocity[r] + dt * acceleration


@kernel
def fastest(space):
    """The largest velocity that a contact would have without impulses."""
    largest = 0.0
    for r in range(len(space.rhs)):
        largest = max(largest, abs(space.rhs[r]))
    return largest


@kernel
def put_within_reach(space):
    """b ← the nearest velocities that impulses can stop, and trial = the impulses that do.

    Several points of one body cannot have any velocities: the J̇ v of a body that turns asks its
    points to come closer to each other. Left in, that would be pressed into internal forces.
    """
    m = len(space.rhs)
    for r in range(m):
        space.trial[r] = space.force[r]
    solve_forces(space)
    for r in range(m):
        space.rhs[r] -= missed(space, r)
    for r in range(m):
        space.force[r], space.trial[r] = space.trial[r], -space.force[r]


@kernel
def iterate(contacts, space, tolerance, iterations):
    """Improve the impulses in `force`. Returns the error, m/s, and iterations."""
    p, rounding = space.force, ROUNDING * fastest(space)
    error, done = polish(contacts, space, p, tolerance, rounding, 0)
    batch, share = SWEEPS, 1.0
    while error > tolerance and done < iterations:
        for _ in range(min(batch, iterations - done)):
            done += 1
            if sweep(contacts, space, p, share) <= tolerance:
                break
        steps = min(NEWTON_STEPS, iterations - done)
        error, used = polish(contacts, space, p, tolerance, rounding, steps)
        done += used
        batch, share = 2 * batch, SHARE
    return error, done


@entry(
    WORK,
    VECTOR,
    CONTACTS,
    types.float64,
    INTEGER,
    types.float64,
    INTEGER,
    CONTACT_SPACE,
    INDICES,
    VECTOR,
)
def friction_solve(
    handle, tau, contacts, dt, iterations, tolerance, warm, space, states, convergence
):
    """space.force (impulses / dt), space.a and each contact's state, given the terms.

    Where `warm` is 1, space.force holds the forces of a former solution to start from.
    `convergence` (2,) = residual in m/s and number of iterations. Returns status bits.
    """
    work = open_work(handle)
    m, n = space.G.shape
    if fill_contact_inertia(work, space) != OK:
        return SINGULAR
    free = space.a
    for c in range(n):
        free[c] = tau[c] - space.bias[c]
    half_solve(work, space.L, free)
    fill_free_velocities(space, dt, free)
    put_within_reach(space)
    for r in range(m):
        space.force[r] = dt * space.force[r] if warm else space.trial[r]
    for k in range(len(contacts)):
        put_into_cone(contacts[k], space.force)
    convergence[0], convergence[1] = iterate(contacts, space, tolerance, iterations)
    error = max(convergence[0], ROUNDING * fastest(space))
    for k in range(len(contacts)):
        drop_rounding(contacts[k], space, error)
    for k in range(len(contacts)):
        states[k] = classify(contacts[k], space, error, 10.0 * max(tolerance, error))
    for r in range(m):
        space.force[r] /= dt
        for c in range(n):
            free[c] += space.Z[r, c] * space.force[r]
    finish_solve(work, space.L, free)
    return OK if convergence[0] <= tolerance else NOT_CONVERGED
