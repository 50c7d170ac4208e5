"""How contacts' accelerations change with q and v, for derivatives of contact dynamics.

A contact asks for c = G a − γ = 0: the acceleration of its frame relative to what it is held
against, and Baumgarte's terms (contacts/rows.py). For a frame at p on body i, and with the changes
of v_i and a_i that docs/KERNELS.md derives, velocity and acceleration of the point change by

    δp = ω_k × p + u_k                        δu = δu_i + δω_i × p + ω_i × δp
    δu̇ = δ(u̇_i) + δ(ω̇_i) × p + ω̇_i × δp + δω_i × u + ω_i × δu
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.contacts.rows import CONTACTS, FULL, NORMAL, rotation_vector
from torqued.kernels.dynamics.frames import frame_placement
from torqued.kernels.dynamics.kinematics import (
    body_accelerations,
    body_poses,
    parent_acceleration,
    parent_twist,
)
from torqued.kernels.integration.group import dexp_inverse_rotation, exp_rotation
from torqued.kernels.primitives.layout import MATRIX, VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    ZERO3,
    ZERO6,
    add,
    add6,
    add_scaled6,
    angular,
    compose,
    cross,
    cross_motion,
    linear,
    rotate,
    rotate_back,
    scale,
    transpose,
)
from torqued.kernels.primitives.tuples import load6, load9
from torqued.kernels.primitives.workspace import open_work


@kernel
def point_changes(twist, acceleration, p, dp, dv, da):
    """Changes of a point's angular and linear velocity and acceleration, given those of its body's
    twist and acceleration and of its place."""
    w, alpha = angular(twist), angular(acceleration)
    u = add(linear(twist), cross(w, p))
    dw, dalpha = angular(dv), angular(da)
    du = add(add(linear(dv), cross(dw, p)), cross(w, dp))
    rate = add(add(linear(da), cross(dalpha, p)), cross(alpha, dp))
    return dw, du, dalpha, add(rate, add(cross(dw, u), cross(w, du)))


@kernel
def add_changes(contact, c, sign, turn, shift, D):
    """D[rows, c] += sign · (angular and linear 3-vectors along the contact's axes)."""
    E = load9(contact.axes)
    u = rotate_back(E, shift)
    row = contact.row
    if contact.kind == NORMAL:
        D[row, c] += sign * u[2]
        return
    if contact.kind == FULL:
        w = rotate_back(E, turn)
        for r in range(3):
            D[row + r, c] += sign * w[r]
        row += 3
    for r in range(3):
        D[row + r, c] += sign * u[r]


@kernel
def add_frame_changes(work, contact, frame, sign, turn, opposite, dq, dv):
    """What one of the two frames of a contact adds to ∂c/∂q and ∂c/∂v; needs body_accelerations.

    `turn` is the rotation vector of the frame's error, `opposite` whether a turn of this frame is
    seen through the error's rotation: of what the contact is held against.
    """
    if frame.body < 0:
        return
    _, p = frame_placement(work, frame)
    twist, acceleration = load6(work.states[frame.body].v), load6(work.states[frame.body].a)
    b = frame.body
    while b >= 0:
        body = work.bodies[b]
        v_parent, a_parent = parent_twist(work, body), parent_acceleration(work, body, ZERO6)
        v_own = load6(work.states[b].v)
        relative = add_scaled6(twist, v_parent, -1.0)
        for c in range(body.column, body.column + body.columns):
            S = load6(work.columns[c].S)
            Psidot = cross_motion(v_parent, S)
            dp = add(linear(S), cross(angular(S), p))
            moved = add6(
                cross_motion(S, add_scaled6(acceleration, a_parent, -1.0)),
                cross_motion(Psidot, relative),
            )
            dw, du, dalpha, rate = point_changes(
                twist, acceleration, p, dp, cross_motion(S, relative), moved
            )
            turned = angular(S)
            if opposite:
                turned = rotate(exp_rotation(turn), turned)
            error = dexp_inverse_rotation(turn, turned)
            k, d = contact.stiffness, contact.damping
            whole_turn = add(dalpha, add(scale(dw, d), scale(error, k)))
            whole_shift = add(rate, add(scale(du, d), scale(dp, k)))
            add_changes(contact, c, sign, whole_turn, whole_shift, dq)
            swung = add_scaled6(add6(Psidot, cross_motion(v_own, S)), cross_motion(twist, S), -1.0)
            dw, du, dalpha, rate = point_changes(twist, acceleration, p, ZERO3, S, swung)
            add_changes(contact, c, sign, add(dalpha, scale(dw, d)), add(rate, scale(du, d)), dv)
        b = body.parent


@entry(WORK, VECTOR, VECTOR, VECTOR, CONTACTS, MATRIX, MATRIX)
def contact_acceleration_derivatives(handle, q, v, a, contacts, dq, dv):
    """∂(G a − γ)/∂q and ∂(G a − γ)/∂v (m, n) of all contacts."""
    work = open_work(handle)
    body_poses(work, q)
    body_accelerations(work, v, a, ZERO6)
    dq[:, :] = 0.0
    dv[:, :] = 0.0
    for k in range(len(contacts)):
        contact = contacts[k]
        turn = ZERO3
        if contact.kind == FULL and contact.stiffness != 0.0:
            Ra, _ = frame_placement(work, contact.a)
            Rb, _ = frame_placement(work, contact.b)
            turn = rotation_vector(compose(Ra, transpose(Rb)))
        add_frame_changes(work, contact, contact.a, 1.0, turn, False, dq, dv)
        add_frame_changes(work, contact, contact.b, -1.0, turn, True, dq, dv)
