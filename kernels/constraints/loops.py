"""Loops along chosen axes as rows of acceleration constraints: G v̇ = γ.

A loop holds a frame a against a frame b, in the axes of b, which move with their body. With the
rotation E of b and u_a, u_b the velocities of both bodies at a's origin,

    errors   turn(Eᵀ R_a),           Eᵀ (p_a − p_b)
    rates    Eᵀ (ω_a − ω_b),         Eᵀ (u_a − u_b)
    and      Eᵀ (ω̇_a − ω̇_b − ω_b × (ω_a − ω_b)),    Eᵀ (u̇_a − u̇_b − 2 ω_b × (u_a − u_b))

of which those rows count that the loop holds. Axes that turn bring the last terms, which vanish
only where all three rows of a kind are held.

Near zero the rate of an error is G v, however far the loop has turned where it is free: `turn` is
the logarithm where all turns are held, and where two are, the swing of the third axis, which a turn
about this axis leaves as it is. One held turn alone does not follow from a pose (it depends on the
order of the free ones); its error is that of the logarithm and holds for small turns.
"""

from __future__ import annotations

import math

import numpy as np
from numba import typeof

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.contacts.rows import ROUNDING, point_motion, rotation_vector, size
from torqued.kernels.dynamics.frames import frame_placement
from torqued.kernels.dynamics.rnea import rest_acceleration
from torqued.kernels.primitives.layout import FRAME, MATRIX, VECTOR, WORK, empty_records
from torqued.kernels.primitives.spatial import (
    add,
    angular,
    compose,
    cross,
    dot,
    linear,
    rotate,
    rotate_back,
    scale,
    sub,
    transpose,
)
from torqued.kernels.primitives.tuples import load6
from torqued.kernels.primitives.workspace import open_work

LOOP = np.dtype(
    [
        ("a", FRAME),  # the frame that is held
        ("b", FRAME),  # what it is held against, turned so that its axes are the loop's
        ("held", "i8", (6,)),  # 1: this row counts
        ("row", "i8"),  # the first of its rows
        ("rows", "i8"),  # how many
        ("stiffness", "f8"),  # Baumgarte gain on position errors, 1/s²
        ("damping", "f8"),  # on velocity errors, 1/s
    ],
    align=True,
)


LOOPS = typeof(empty_records(LOOP, 1))


@kernel
def put_held(loop, turn, shift, x):
    """x[rows] = those of six numbers that the loop holds."""
    row = loop.row
    for k in range(3):
        if loop.held[k]:
            x[row] = turn[k]
            row += 1
    for k in range(3):
        if loop.held[3 + k]:
            x[row] = shift[k]
            row += 1


@kernel
def swing(R, axis):
    """The shortest rotation vector from an axis to where R takes it: it has no part along it."""
    there = rotate(R, axis)
    x, cosine = cross(axis, there), dot(axis, there)
    sine = math.sqrt(dot(x, x))
    if sine > 0.0:
        return scale(x, math.atan2(sine, cosine) / sine)
    # None, or half a turn about any of the other axes.
    return scale((axis[2], axis[0], axis[1]), math.pi if cosine < 0.0 else 0.0)


@kernel
def turn_error(loop, R):
    """How far the held turns are off."""
    free = (1.0 - loop.held[0], 1.0 - loop.held[1], 1.0 - loop.held[2])
    if free[0] + free[1] + free[2] == 1.0:
        return swing(R, free)
    return rotation_vector(R)


@kernel
def add_loop_rows(work, loop, b, E, p, sign, G):
    """G += sign · (motion of body b at the point p, along the axes E). Returns the terms' size."""
    reach = 1.0 + size(p)
    largest = 0.0
    while b >= 0:
        body = work.bodies[b]
        for c in range(body.run, body.column + body.columns):
            S = load6(work.columns[c].S)
            w = angular(S)
            largest = max(largest, size(w) * reach + size(linear(S)))
            turn, shift = rotate_back(E, w), rotate_back(E, add(linear(S), cross(w, p)))
            row = loop.row
            for k in range(3):
                if loop.held[k]:
                    G[row, c] += sign * turn[k]
                    row += 1
            for k in range(3):
                if loop.held[3 + k]:
                    G[row, c] += sign * shift[k]
                    row += 1
        b = body.above
    return largest


@kernel
def fill_loop(work, loop, rest, G, velocity, gamma, position):
    Ra, pa = frame_placement(work, loop.a)
    E, pb = frame_placement(work, loop.b)
    for row in range(loop.row, loop.row + loop.rows):
        for c in range(G.shape[1]):
            G[row, c] = 0.0
    terms = add_loop_rows(work, loop, loop.a.body, E, pa, 1.0, G)
    terms += add_loop_rows(work, loop, loop.b.body, E, pa, -1.0, G)
    wa, ua, dwa, dua = point_motion(work, loop.a, pa, rest)
    wb, ub, dwb, dub = point_motion(work, loop.b, pa, rest)
    turning, speed = sub(wa, wb), sub(ua, ub)
    turn_rate = sub(sub(dwa, dwb), cross(wb, turning))
    shift_rate = sub(sub(dua, dub), scale(cross(wb, speed), 2.0))
    put_held(loop, rotate_back(E, turning), rotate_back(E, speed), velocity)
    put_held(loop, rotate_back(E, turn_rate), rotate_back(E, shift_rate), gamma)
    turn = turn_error(loop, compose(transpose(E), Ra))
    put_held(loop, turn, rotate_back(E, sub(pa, pb)), position)
    for row in range(loop.row, loop.row + loop.rows):
        gamma[row] = -gamma[row] - loop.damping * velocity[row] - loop.stiffness * position[row]
        for c in range(G.shape[1]):  # what no motion of the robot changes but for rounding
            if abs(G[row, c]) <= ROUNDING * terms:
                G[row, c] = 0.0


@entry(WORK, LOOPS, MATRIX, VECTOR, VECTOR, VECTOR)
def loop_terms(handle, loops, G, velocity, gamma, position):
    """Rows of G, G v, γ and position errors of all loops.

    Needs the sweeps of `contact_terms` at the same q and v.
    """
    work = open_work(handle)
    rest = rest_acceleration(work)
    for k in range(len(loops)):
        fill_loop(work, loops[k], rest, G, velocity, gamma, position)
