"""Recursive Newton-Euler: τ = M a + C v + g − Σ Jᵀ f_ext ([F16] section 3.2; [EW21] eq. 12-13)."""

from __future__ import annotations

from torqued.kernels.jit import entry, kernel
from torqued.kernels.kinematics import parent_twist, place
from torqued.kernels.layout import MATRIX, VECTOR, WORK
from torqued.kernels.spatial import (
    ZERO3,
    accumulate,
    add,
    add_scaled6,
    angular,
    cross,
    cross_motion,
    dot6,
    join,
    linear,
    load3,
    load6,
    load9,
    rotate,
    rotate_back,
    scale,
    store,
    sub,
    symmetric_times,
)


@kernel
def newton_euler(body, state, v, a):
    """Force on one body at the origin: I a + v ×* I v, taken about the centre of mass.

    There Newton's and Euler's laws separate, and turning four vectors into body axes and back
    costs less than turning the inertia into world axes.
    """
    R = load9(state.R)
    c = add(load3(state.p), rotate(R, load3(body.com)))
    w, u = angular(v), linear(v)
    acceleration = add(
        add(linear(a), cross(angular(a), c)), cross(w, add(u, cross(w, c)))
    )
    force = scale(acceleration, body.mass)
    inertia = load6(body.inertia)
    spin = rotate_back(R, w)
    moment = rotate(
        R,
        add(
            symmetric_times(inertia, rotate_back(R, angular(a))),
            cross(spin, symmetric_times(inertia, spin)),
        ),
    )
    return join(add(moment, cross(c, force)), force)


@kernel
def rest_acceleration(work):
    """Gravity as an upward acceleration of the world."""
    return join(ZERO3, sub(ZERO3, load3(work.world[0].gravity)))


@kernel
def collect_forces(work, tau):
    """Inward sweep: forces of subtrees, projected on the motion columns."""
    for i in range(len(work.bodies) - 1, -1, -1):
        body = work.bodies[i]
        f = load6(work.states[i].f)
        for c in range(body.column, body.column + body.columns):
            tau[c] = dot6(load6(work.columns[c].S), f)
        if body.parent >= 0:
            accumulate(work.states[body.parent].f, f)


@kernel
def newton_euler_sweep(work, v, a, world_acceleration):
    """Twist, acceleration and force of every body; needs place."""
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        state = work.states[i]
        twist = parent_twist(work, body)
        if body.parent < 0:
            acceleration = world_acceleration
        else:
            acceleration = load6(work.states[body.parent].a)
        for c in range(body.column, body.column + body.columns):
            S = load6(work.columns[c].S)
            twist = add_scaled6(twist, S, v[c])
            acceleration = add_scaled6(acceleration, S, a[c])
        for c in range(body.column, body.column + body.columns):
            rate = cross_motion(twist, load6(work.columns[c].S))
            acceleration = add_scaled6(acceleration, rate, v[c])
        store(state.v, twist)
        store(state.a, acceleration)
        store(state.f, newton_euler(body, state, twist, acceleration))


@kernel
def add_armature(work, a, tau):
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        for k in range(body.columns):
            tau[body.column + k] += body.armature[k] * a[body.column + k]


@entry(WORK, VECTOR, VECTOR, VECTOR, VECTOR)
def inverse_dynamics(work, q, v, a, tau):
    """τ for accelerations a."""
    place(work, q)
    newton_euler_sweep(work, v, a, rest_acceleration(work))
    collect_forces(work, tau)
    add_armature(work, a, tau)
