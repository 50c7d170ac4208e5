"""Inverse dynamics by the recursive Newton-Euler algorithm in any of the four representations.

    body      [M18] eq. 66-67        spatial   eq. 70-71
    hybrid    eq. 75-76              mixed     eq. 56-57 with the kinematics of hybrid, turned

One recursion for all of them. A representation decides three things: how a twist is `carried` from
a body to the next (in spatial not at all, in hybrid to another point, in body also to other axes),
in which axes and at which point an inertia is, and which velocity Y stands in

    W = I V̇ + Y ×* (I Y),     Y = V in body and spatial (eq. 38, 41),  Y = (ω, 0) else (eq. 53, 56)

because accelerations of hybrid and mixed already are those of a point. The production path works in
the common frame instead (dynamics/rnea.py), which is spatial with an origin near the robot.
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.frames import BODY, MIXED, SPATIAL, represent
from torqued.kernels.dynamics.kinematics import body_poses
from torqued.kernels.dynamics.rnea import rest_acceleration
from torqued.kernels.primitives.layout import INTEGER, MATRIX, VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    IDENTITY,
    ZERO6,
    add,
    add6,
    add_scaled6,
    angular,
    cross,
    cross_force,
    cross_motion,
    dot,
    dot6,
    inertia_times,
    join,
    linear,
    rotate,
    rotate_back,
    rotate_symmetric,
    scale,
    sub,
    symmetric_times,
)
from torqued.kernels.primitives.tuples import load3, load6, load9, store6
from torqued.kernels.primitives.workspace import open_work


@kernel
def to_world_axes(representation, R, x):
    """Both halves of a body's twist or wrench, in world axes."""
    if representation == BODY:
        return join(rotate(R, angular(x)), rotate(R, linear(x)))
    if representation == MIXED:
        return join(rotate(R, angular(x)), linear(x))
    return x


@kernel
def to_own_axes(representation, R, x):
    """From world axes to those of the representation."""
    if representation == BODY:
        return join(rotate_back(R, angular(x)), rotate_back(R, linear(x)))
    if representation == MIXED:
        return join(rotate_back(R, angular(x)), linear(x))
    return x


@kernel
def carried_motion(representation, R_from, R_to, away, x):
    """A body's motion as that of a body `away` from it, in world axes: Ad of [M18] eq. 66b, 75c."""
    if representation == SPATIAL:
        return x
    x = to_world_axes(representation, R_from, x)
    x = join(angular(x), add(linear(x), cross(angular(x), away)))
    return to_own_axes(representation, R_to, x)


@kernel
def carried_wrench(representation, R_from, R_to, away, f):
    """A wrench on a body as one on its parent, from which it is `away`: Adᵀ of eq. 67a, 76b."""
    if representation == SPATIAL:
        return f
    f = to_world_axes(representation, R_from, f)
    f = join(add(angular(f), cross(away, linear(f))), linear(f))
    return to_own_axes(representation, R_to, f)


@kernel
def next_twist(representation, R_parent, R, away, V, motion):
    """[M18] eq. 66b, 70c, 75c; `motion` is X q̇ of the joint."""
    return add6(carried_motion(representation, R_parent, R, away, V), motion)


@kernel
def next_acceleration(representation, R_parent, R, away, V_parent, V, A_parent, motion, pull):
    """[M18] eq. 66c, 70d, 75d; `pull` is X q̈ of the joint."""
    A = add6(carried_motion(representation, R_parent, R, away, A_parent), pull)
    if representation == BODY:
        return add6(A, cross_motion(V, motion))
    if representation == SPATIAL:
        return add6(A, cross_motion(V_parent, V))
    above = to_world_axes(representation, R_parent, V_parent)
    here = to_world_axes(representation, R, V)
    joint = to_world_axes(representation, R, motion)
    drift = cross(angular(above), sub(linear(here), linear(above)))
    turn = cross(angular(here), angular(joint))
    slide = cross(angular(here), linear(joint))
    return add6(A, to_own_axes(representation, R, join(turn, add(drift, slide))))


@kernel
def body_inertia(m, com, rotational):
    """Ten numbers about the body's origin in its axes, [M18] eq. 40."""
    h = scale(com, m)
    q = dot(com, h)
    x, y, z = com
    return (
        m,
        h[0],
        h[1],
        h[2],
        rotational[0] + q - x * h[0],
        rotational[1] - x * h[1],
        rotational[2] - x * h[2],
        rotational[3] + q - y * h[1],
        rotational[4] - y * h[2],
        rotational[5] + q - z * h[2],
    )


@kernel
def represented_inertia(representation, R, r, m, com, rotational):
    """In the axes and at the point of the representation, [M18] eq. 71a, 76a."""
    if representation in (BODY, MIXED):
        return body_inertia(m, com, rotational)
    turned = rotate_symmetric(R, rotational)
    center = rotate(R, com)
    if representation == SPATIAL:
        center = add(center, r)
    return body_inertia(m, center, turned)


@kernel
def balance(representation, R, inertia, V, A):
    """The wrench that moves a body, [M18] eq. 38, 41, 53, 56-57."""
    if representation in (BODY, SPATIAL):
        return add6(inertia_times(inertia, A), cross_force(V, inertia_times(inertia, V)))
    if representation == MIXED:  # the force in the body's axes first
        A = join(angular(A), rotate_back(R, linear(A)))
    w, h = angular(V), (inertia[1], inertia[2], inertia[3])
    spin = symmetric_times(
        (inertia[4], inertia[5], inertia[6], inertia[7], inertia[8], inertia[9]), w
    )
    gyroscopic = join(cross(w, spin), cross(w, cross(w, h)))  # Y ×* (I Y), without its zeros
    W = add6(inertia_times(inertia, A), gyroscopic)
    if representation == MIXED:
        return join(angular(W), rotate(R, linear(W)))
    return W


@entry(WORK, VECTOR, VECTOR, VECTOR, INTEGER, MATRIX, MATRIX, MATRIX, MATRIX, VECTOR)
def newton_euler(handle, q, v, a, representation, applied, twists, accelerations, wrenches, tau):
    """Per body, (N, 6): twists, accelerations with −gravity in them, and the wrench that comes
    through its joint, all in the representation; tau (nv,). `applied` (N, 6) acts from outside."""
    work = open_work(handle)
    body_poses(work, q)
    rest = rest_acceleration(work)
    origin = load3(work.origin)
    for i in range(len(work.bodies)):
        body, state = work.bodies[i], work.states[i]
        R, p = load9(state.R), load3(state.p)
        motion, pull = ZERO6, ZERO6
        for c in range(body.column, body.column + body.columns):
            X = represent(work, representation, R, p, load6(work.columns[c].S))
            motion, pull = add_scaled6(motion, X, v[c]), add_scaled6(pull, X, a[c])
        if body.parent < 0:
            R_parent, away = IDENTITY, add(p, origin)
            V_parent, A_parent = ZERO6, rest
        else:
            parent = work.states[body.parent]
            R_parent, away = load9(parent.R), sub(p, load3(parent.p))
            V_parent, A_parent = load6(twists[body.parent]), load6(accelerations[body.parent])
        V = next_twist(representation, R_parent, R, away, V_parent, motion)
        A = next_acceleration(
            representation, R_parent, R, away, V_parent, V, A_parent, motion, pull
        )
        inertia = represented_inertia(
            representation, R, add(p, origin), body.mass, load3(body.com), load6(body.inertia)
        )
        W = balance(representation, R, inertia, V, A)
        store6(twists[i], V)
        store6(accelerations[i], A)
        store6(wrenches[i], add_scaled6(W, load6(applied[i]), -1.0))
    for i in range(len(work.bodies) - 1, -1, -1):
        body, state = work.bodies[i], work.states[i]
        R, p, W = load9(state.R), load3(state.p), load6(wrenches[i])
        for c in range(body.column, body.column + body.columns):
            X = represent(work, representation, R, p, load6(work.columns[c].S))
            tau[c] = dot6(X, W) + body.armature[c - body.column] * a[c]
        if body.parent >= 0:
            parent = work.states[body.parent]
            away = sub(p, load3(parent.p))
            W = carried_wrench(representation, R, load9(parent.R), away, W)
            store6(wrenches[body.parent], add6(load6(wrenches[body.parent]), W))
