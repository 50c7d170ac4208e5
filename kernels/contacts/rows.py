"""Contacts as rows of acceleration constraints: G v̇ = γ ([F16] eq. 5-7).

A contact holds a frame a of the robot against a frame b, which is fixed in the world or in
another body (a loop closure). Its rows are the motion of a relative to b along the contact's
axes, whose third one is the normal:

    NORMAL   the frame's origin along the normal                     1 row
    POINT    the frame's origin along all three axes                 3 rows
    FRAME    rotation about, then translation along the axes         6 rows

    γ = −(J̇_a − J̇_b) v − damping · (velocity error) − stiffness · (position error)

Where a contact may slide or separate, errors count along the normal only.
"""

from __future__ import annotations

import math

import numpy as np
from numba import typeof

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.dynamics.frames import body_motion, frame_placement
from torqued.kernels.dynamics.manifold import logarithm
from torqued.kernels.primitives.layout import FRAME, empty_records
from torqued.kernels.primitives.spatial import (
    add,
    add_scaled6,
    angular,
    compose,
    cross,
    linear,
    rotate_back,
    sub,
    transpose,
)
from torqued.kernels.primitives.tuples import load6, load9

NORMAL, POINT, FULL = 1, 3, 6  # also the number of rows

#: Entries of G below this fraction of their terms are rounding.
ROUNDING = 1e-14

CONTACT = np.dtype(
    [
        ("a", FRAME),  # the frame that is held
        ("b", FRAME),  # what it is held against
        ("kind", "i8"),  # NORMAL, POINT or FULL
        ("row", "i8"),  # the first of its rows
        ("axes", "f8", (9,)),  # columns: two tangents and the normal, in the world
        ("stiffness", "f8"),  # Baumgarte gain on position errors, 1/s²
        ("damping", "f8"),  # on velocity errors, 1/s
        ("friction", "f8"),  # Coulomb coefficient
        ("unilateral", "i8"),  # 1: may slide and separate; friction.py
    ],
    align=True,
)


CONTACTS = typeof(empty_records(CONTACT, 1))


@kernel
def rotation_vector(R):
    """Rotation vector, at most π long, of a rotation matrix."""
    trace = R[0] + R[4] + R[8]
    # The largest of the four squares 4 q² picks the division that loses no digits.
    if trace >= 0.0:
        w = math.sqrt(1.0 + trace)
        s = 0.5 / w
        return logarithm((R[7] - R[5]) * s, (R[2] - R[6]) * s, (R[3] - R[1]) * s, 0.5 * w)
    if R[0] >= R[4] and R[0] >= R[8]:
        x = math.sqrt(1.0 + R[0] - R[4] - R[8])
        s = 0.5 / x
        return logarithm(0.5 * x, (R[1] + R[3]) * s, (R[2] + R[6]) * s, (R[7] - R[5]) * s)
    if R[4] >= R[8]:
        y = math.sqrt(1.0 + R[4] - R[0] - R[8])
        s = 0.5 / y
        return logarithm((R[1] + R[3]) * s, 0.5 * y, (R[5] + R[7]) * s, (R[2] - R[6]) * s)
    z = math.sqrt(1.0 + R[8] - R[0] - R[4])
    s = 0.5 / z
    return logarithm((R[2] + R[6]) * s, (R[5] + R[7]) * s, 0.5 * z, (R[3] - R[1]) * s)


@kernel
def add_rows(work, contact, frame, sign, G):
    """G += sign · (Jacobian of one frame along the contact's axes); needs body_poses.

    Returns the size of the terms that its entries are sums of.
    """
    E = load9(contact.axes)
    _, p = frame_placement(work, frame)
    reach = 1.0 + size(p)
    largest = 0.0
    b = frame.body
    while b >= 0:
        body = work.bodies[b]
        for c in range(body.run, body.column + body.columns):
            S = load6(work.columns[c].S)
            w = angular(S)
            largest = max(largest, size(w) * reach + size(linear(S)))
            u = rotate_back(E, add(linear(S), cross(w, p)))
            row = contact.row
            if contact.kind == NORMAL:
                G[row, c] += sign * u[2]
            else:
                if contact.kind == FULL:
                    w = rotate_back(E, w)
                    G[row, c] += sign * w[0]
                    G[row + 1, c] += sign * w[1]
                    G[row + 2, c] += sign * w[2]
                    row += 3
                G[row, c] += sign * u[0]
                G[row + 1, c] += sign * u[1]
                G[row + 2, c] += sign * u[2]
        b = body.above
    return largest


@kernel
def size(x):
    """Of a 3-vector."""
    return abs(x[0]) + abs(x[1]) + abs(x[2])


@kernel
def clear_rounding(contact, G, noise):
    """Zeros for entries that are rounding alone.

    A contact may ask for what nothing in the robot moves: both ends of a loop on one body, a
    normal across a planar mechanism. Rounding would count as motion then, and take enormous forces.
    """
    for row in range(contact.row, contact.row + contact.kind):
        for c in range(G.shape[1]):
            if abs(G[row, c]) <= noise:
                G[row, c] = 0.0


@kernel
def point_motion(work, frame, p, rest):
    """Velocity, and acceleration while v stays constant, of a frame: angular and linear parts.

    `rest` is the acceleration that the sweep added to count gravity in.
    """
    twist, acceleration = body_motion(work, frame)
    if frame.body >= 0:
        acceleration = add_scaled6(acceleration, rest, -1.0)
    w = angular(twist)
    u = add(linear(twist), cross(w, p))
    du = add(add(linear(acceleration), cross(angular(acceleration), p)), cross(w, u))
    return w, u, angular(acceleration), du


@kernel
def put_rows(contact, E, turn, shift, x):
    """x[rows] = angular and linear 3-vectors along the contact's axes."""
    u = rotate_back(E, shift)
    row = contact.row
    if contact.kind == NORMAL:
        x[row] = u[2]
        return
    if contact.kind == FULL:
        w = rotate_back(E, turn)
        x[row], x[row + 1], x[row + 2] = w[0], w[1], w[2]
        row += 3
    x[row], x[row + 1], x[row + 2] = u[0], u[1], u[2]


@kernel
def stabilize(contact, E, gain, turn, shift, gamma):
    """γ −= gain · error, an angular and a linear 3-vector."""
    u = rotate_back(E, shift)
    row = contact.row
    if contact.kind == NORMAL:
        gamma[row] -= gain * u[2]
        return
    if contact.kind == FULL:
        w = rotate_back(E, turn)
        gamma[row] -= gain * w[0]
        gamma[row + 1] -= gain * w[1]
        gamma[row + 2] -= gain * w[2]
        row += 3
    if not contact.unilateral:
        gamma[row] -= gain * u[0]
        gamma[row + 1] -= gain * u[1]
    gamma[row + 2] -= gain * u[2]


@kernel
def fill_contacts(work, contacts, rest, G, velocity, gamma):
    """G (m, n), its velocity G v (m,) and γ (m,) of all contacts; needs bias_accelerations."""
    G[:, :] = 0.0
    for k in range(len(contacts)):
        contact = contacts[k]
        E = load9(contact.axes)
        terms = add_rows(work, contact, contact.a, 1.0, G)
        terms += add_rows(work, contact, contact.b, -1.0, G)
        clear_rounding(contact, G, ROUNDING * terms)
        Ra, pa = frame_placement(work, contact.a)
        Rb, pb = frame_placement(work, contact.b)
        wa, ua, dwa, dua = point_motion(work, contact.a, pa, rest)
        wb, ub, dwb, dub = point_motion(work, contact.b, pb, rest)
        turning, speed = sub(wa, wb), sub(ua, ub)
        put_rows(contact, E, turning, speed, velocity)
        put_rows(contact, E, sub(dwb, dwa), sub(dub, dua), gamma)
        stabilize(contact, E, contact.damping, turning, speed, gamma)
        if contact.stiffness != 0.0:
            turn = rotation_vector(compose(Ra, transpose(Rb)))
            stabilize(contact, E, contact.stiffness, turn, sub(pa, pb), gamma)
