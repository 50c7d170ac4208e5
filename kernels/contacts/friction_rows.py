"""One contact of a friction problem: its velocity, its cone, how to relax it, how far it is off.

Over one time step, impulses p and the contacts' velocities w at its end satisfy

    w = b + K p,    0 ≤ p_n ⟂ w_n ≥ 0,    |p_t| ≤ friction · p_n,    w_t opposite to p_t if w_t ≠ 0

which is the same as being a fixed point of two projections, for any positive steps r:

    p_n = max(0, p_n − r w_n),    p_t = cut(p_t − r w_t, friction · p_n)
"""

import math

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.contacts.rows import NORMAL


@kernel
def normal_row(contact):
    """The contact's last row."""
    return contact.row + contact.kind - 1


@kernel
def row_velocity(space, p, row):
    """w of one row; rhs holds b."""
    w = space.rhs[row]
    for s in range(len(p)):
        w += space.K[row, s] * p[s]
    return w


@kernel
def tangential_inertia(K, x):
    """The largest inverse inertia along any tangent: the steps 1 / it stay stable."""
    mean, half = 0.5 * (K[x, x] + K[x + 1, x + 1]), 0.5 * (K[x, x] - K[x + 1, x + 1])
    return mean + math.hypot(half, K[x, x + 1])


@kernel
def cut(x, y, limit):
    """A tangential vector, shortened to a limit."""
    size = math.hypot(x, y)
    if size > limit:
        return x * (limit / size), y * (limit / size)
    return x, y


@kernel
def put_into_cone(contact, p):
    """The contact's part of p, with the tangential part cut off at the cone."""
    n = normal_row(contact)
    p[n] = max(0.0, p[n])
    if contact.kind != NORMAL:
        p[n - 2], p[n - 1] = cut(p[n - 2], p[n - 1], contact.friction * p[n])


@kernel
def relax_normal(contact, space, p):
    """p_n projected, and how far it was off as a velocity, m/s."""
    n = normal_row(contact)
    inertia = space.K[n, n]
    if not inertia > 0.0:  # nothing that the robot does moves this contact
        return 0.0, 0.0
    x = max(0.0, p[n] - row_velocity(space, p, n) / inertia)
    return x, abs(x - p[n]) * inertia


@kernel
def relax_tangents(contact, space, p):
    """p_t projected on the disc that p_n allows, and how far it was off, m/s."""
    n = normal_row(contact)
    inertia = tangential_inertia(space.K, n - 2)
    if not inertia > 0.0:
        return 0.0, 0.0, 0.0
    x = p[n - 2] - row_velocity(space, p, n - 2) / inertia
    y = p[n - 1] - row_velocity(space, p, n - 1) / inertia
    x, y = cut(x, y, contact.friction * p[n])
    return x, y, math.hypot(x - p[n - 2], y - p[n - 1]) * inertia


@kernel
def sweep(contacts, space, p, share):
    """Gauss-Seidel: one contact after the other, given the others', goes this share of its way.

    Returns the largest velocity by which one was off, m/s.
    """
    largest = 0.0
    for k in range(len(contacts)):
        n = normal_row(contacts[k])
        z, change = relax_normal(contacts[k], space, p)
        p[n] += share * (z - p[n])
        largest = max(largest, change)
        if contacts[k].kind != NORMAL:
            x, y, change = relax_tangents(contacts[k], space, p)
            p[n - 2] += share * (x - p[n - 2])
            p[n - 1] += share * (y - p[n - 1])
            largest = max(largest, change)
            put_into_cone(contacts[k], p)
    return largest


@kernel
def residual(contacts, space, p):
    """The largest velocity by which any contact is off its fixed point, m/s."""
    largest = 0.0
    for k in range(len(contacts)):
        _, change = relax_normal(contacts[k], space, p)
        largest = max(largest, change)
        if contacts[k].kind != NORMAL:
            _, _, change = relax_tangents(contacts[k], space, p)
            largest = max(largest, change)
    return largest
