"""Contacts: points of a frame that stay where they are and push within linearized friction cones.

A contact has accelerations (three per point; six for a surface, whose points move together) that
are held at −damping · velocity, and three forces per point along its axes: two tangents and the
normal. Of the cone |f_t| ≤ μ f_n the pyramid inside is kept: ±f_1, ±f_2 ≤ μ/√2 f_n.
"""

from torqued.kernels.compilation.jit import kernel, routine
from torqued.kernels.dynamics.frames import body_motion, frame_placement
from torqued.kernels.dynamics.rnea import rest_acceleration
from torqued.kernels.primitives.spatial import (
    add,
    add_scaled6,
    angular,
    compose,
    cross,
    linear,
    rotate,
    rotate_back,
    scale,
)
from torqued.kernels.primitives.tuples import load3, load6, load9, store9

#: Rows that are dependent on others but for this share of their size add nothing to them. Joints
#: would move feet along such a row by 1 / share times what it asks. Legs without an ankle's roll
#: leave 0.0001 to 0.008 of one while the base rolls by up to 0.1 rad, other legs 0.08 and more.
DEPENDENT = 0.03

#: Rows of the friction pyramid per point.
EDGES = 4


@kernel
def activate(program, active, most):
    """Give variables to the active contacts; `active`, `most` (contacts,). Returns their number."""
    variables = 0
    for k in range(len(program.contact)):
        contact = program.contact[k]
        contact.variable = -1
        contact.most = min(most[k], contact.limit)
        if active[k] > 0.5:
            contact.variable = variables
            variables += 3 * contact.points
    return variables


@routine
def fill_contact(work, program, k, first_point, damping):
    """Rows of accelerations and of points, in J_free and rate; needs bias_accelerations."""
    contact = program.contact[k]
    J, rate = program.J_free, program.rate
    R, p = frame_placement(work, contact.frame)
    E = load9(contact.axes)
    if contact.turns:
        E = compose(R, E)
    store9(program.axes[k], E)
    surface = contact.points > 2
    point_row = first_point + 3 * contact.point
    for r in range(contact.row, contact.row + contact.rows):
        J[r, :] = 0.0
    for r in range(point_row, point_row + 3 * contact.points):
        J[r, :] = 0.0
    b = contact.frame.body
    while b >= 0:
        body = work.bodies[b]
        for c in range(body.run, body.column + body.columns):
            S = load6(work.columns[c].S)
            w, u = angular(S), linear(S)
            if surface:
                put_column(J, contact.row, c, rotate_back(E, w))
                put_column(J, contact.row + 3, c, rotate_back(E, add(u, cross(w, p))))
            for i in range(contact.points):
                r = add(p, rotate(R, load3(program.offset[contact.point + i])))
                column = rotate_back(E, add(u, cross(w, r)))
                put_column(J, point_row + 3 * i, c, column)
                if not surface:
                    put_column(J, contact.row + 3 * i, c, column)
        b = body.above
    twist, a = body_motion(work, contact.frame)
    if contact.frame.body >= 0:
        a = add_scaled6(a, rest_acceleration(work), -1.0)
    if surface:
        w = angular(twist)
        put(rate, contact.row, add(rotate_back(E, angular(a)), scale(rotate_back(E, w), damping)))
        put(rate, contact.row + 3, held(E, twist, a, p, damping))
    else:
        for i in range(contact.points):
            r = add(p, rotate(R, load3(program.offset[contact.point + i])))
            put(rate, contact.row + 3 * i, held(E, twist, a, r, damping))


@kernel
def held(E, twist, a, p, damping):
    """J̇ v + damping · J v of a point p, along the axes E."""
    w = angular(twist)
    u = add(linear(twist), cross(w, p))
    du = add(add(linear(a), cross(angular(a), p)), cross(w, u))
    return rotate_back(E, add(du, scale(u, damping)))


@kernel
def put_column(J, row, c, x):
    J[row, c], J[row + 1, c], J[row + 2, c] = x[0], x[1], x[2]


@kernel
def put(x, row, values):
    x[row], x[row + 1], x[row + 2] = values[0], values[1], values[2]


@routine
def independent(G, count, row):
    """Whether a row is independent of the first `count` rows of G, which are orthonormal.

    Where it is, its new direction is appended to G.
    """
    n = G.shape[1]
    before = 0.0
    for c in range(n):
        G[count, c] = row[c]
        before += row[c] * row[c]
    for k in range(count):
        x = 0.0
        for c in range(n):
            x += G[k, c] * G[count, c]
        for c in range(n):
            G[count, c] -= x * G[k, c]
    left = 0.0
    for c in range(n):
        left += G[count, c] * G[count, c]
    if not left > DEPENDENT * DEPENDENT * before:
        return False
    left = 1.0 / left**0.5
    for c in range(n):
        G[count, c] *= left
    return True
