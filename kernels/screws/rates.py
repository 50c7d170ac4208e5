"""Rates of twists and Jacobians of frames, first and second, in the four representations.

All four are one formula. Motion vectors X are kept in the common frame, which stands still. A
representation gives X as an observer sees it that moves with a twist W, and

    d/dt   is   Ẋ − W × X,    d²/dt²   is   Ẍ − 2 W × Ẋ − Ẇ × X + W × (W × X)

spatial   at rest: W = 0                                            [M18] eq. 16, 20
body      the observer is the frame itself: W = V                   [M18] eq. 5, 12
hybrid    it is carried along without turning: W = [0; ṙ]           [M18] eq. 25, 30
mixed     the angular half is that of body, the linear half that of hybrid

The results are the rates of the represented numbers. [M18] eq. 33 turns the hybrid rates instead of
the mixed ones: that is the same for the acceleration (ω × ω = 0), and not for J̇, J̈ and the jerk.
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.dynamics.frames import (
    BODY,
    HYBRID,
    MIXED,
    SPATIAL,
    body_motion,
    fill_jacobian,
    fill_pose,
    frame_placement,
    represent,
)
from torqued.kernels.dynamics.kinematics import body_accelerations, body_poses
from torqued.kernels.primitives.layout import FRAMES, INTEGER, TENSOR, VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    ZERO3,
    ZERO6,
    add,
    add6,
    add_scaled6,
    angular,
    cross,
    cross_motion,
    join,
    linear,
)
from torqued.kernels.primitives.tuples import load6, store6
from torqued.kernels.primitives.workspace import open_work


@kernel
def observer(representation, p, V):
    """W, from the frame's twist V at the origin; p is where the frame is."""
    if representation == BODY:
        return V
    if representation == SPATIAL:
        return ZERO6
    return join(ZERO3, add(linear(V), cross(angular(V), p)))


@kernel
def observer_rate(representation, p, V, A):
    """Ẇ, from V and its rate A."""
    if representation == BODY:
        return A
    if representation == SPATIAL:
        return ZERO6
    w = angular(V)
    velocity = add(linear(V), cross(w, p))
    turn = add(cross(angular(A), p), cross(w, velocity))
    return join(ZERO3, add(linear(A), turn))


@kernel
def seen_rate(work, representation, R, p, V, X, rate):
    seen = add_scaled6(rate, cross_motion(observer(representation, p, V), X), -1.0)
    return represent(work, representation, R, p, seen)


@kernel
def seen_second_rate(work, representation, R, p, V, A, X, rate, second):
    W = observer(representation, p, V)
    # −2 W × Ẋ + W × (W × X) = −W × (2 Ẋ − W × X)
    inner = add6(add6(rate, rate), cross_motion(X, W))
    seen = add_scaled6(second, cross_motion(W, inner), -1.0)
    seen = add6(seen, cross_motion(X, observer_rate(representation, p, V, A)))
    return represent(work, representation, R, p, seen)


@kernel
def represented_rate(work, representation, R, p, V, X, rate):
    """The rate of `represent(X)` for a frame at R, p that moves with V; `rate` is Ẋ."""
    if representation == MIXED:
        turned = seen_rate(work, BODY, R, p, V, X, rate)
        carried = seen_rate(work, HYBRID, R, p, V, X, rate)
        return join(angular(turned), linear(carried))
    return seen_rate(work, representation, R, p, V, X, rate)


@kernel
def represented_second_rate(work, representation, R, p, V, A, X, rate, second):
    """The second rate of `represent(X)`; A is the rate of V, `second` that of `rate`."""
    if representation == MIXED:
        turned = seen_second_rate(work, BODY, R, p, V, A, X, rate, second)
        carried = seen_second_rate(work, HYBRID, R, p, V, A, X, rate, second)
        return join(angular(turned), linear(carried))
    return seen_second_rate(work, representation, R, p, V, A, X, rate, second)


@kernel
def column_rate(work, c):
    """Ṡ = V × S, [M18] eq. 16; needs twists."""
    return cross_motion(load6(work.states[work.body_of[c]].v), load6(work.columns[c].S))


@kernel
def column_second_rate(work, c, rate):
    """S̈ = V̇ × S + V × Ṡ; needs body_accelerations."""
    state = work.states[work.body_of[c]]
    turning = cross_motion(load6(state.a), load6(work.columns[c].S))
    return add6(turning, cross_motion(load6(state.v), rate))


@kernel
def fill_jacobian_rate(work, frame, representation, Jdot):
    """J̇ (6, nv), zero for columns that do not move the frame; needs twists."""
    Jdot[:, :] = 0.0
    R, p = frame_placement(work, frame)
    V, _ = body_motion(work, frame)
    b = frame.body
    while b >= 0:
        body = work.bodies[b]
        for c in range(body.run, body.column + body.columns):
            S = load6(work.columns[c].S)
            x = represented_rate(work, representation, R, p, V, S, column_rate(work, c))
            for r in range(6):
                Jdot[r, c] = x[r]
        b = body.above


@kernel
def fill_jacobian_second_rate(work, frame, representation, Jddot):
    """J̈ (6, nv); needs body_accelerations."""
    Jddot[:, :] = 0.0
    R, p = frame_placement(work, frame)
    V, A = body_motion(work, frame)
    b = frame.body
    while b >= 0:
        body = work.bodies[b]
        for c in range(body.run, body.column + body.columns):
            S, rate = load6(work.columns[c].S), column_rate(work, c)
            second = column_second_rate(work, c, rate)
            x = represented_second_rate(work, representation, R, p, V, A, S, rate, second)
            for r in range(6):
                Jddot[r, c] = x[r]
        b = body.above


@kernel
def body_jerk(work, frame, v, a, jerk):
    """V̈ = Σ S q⃛ + 2 Ṡ q̈ + S̈ q̇ of the body of a frame, [M18] eq. 21; needs body_accelerations.

    A sum over the path, so that no body has to keep its jerk.
    """
    total = ZERO6
    b = frame.body
    while b >= 0:
        body = work.bodies[b]
        for c in range(body.run, body.column + body.columns):
            rate = column_rate(work, c)
            total = add_scaled6(total, load6(work.columns[c].S), jerk[c])
            total = add_scaled6(total, rate, 2.0 * a[c])
            total = add_scaled6(total, column_second_rate(work, c, rate), v[c])
        b = body.above
    return total


@entry(
    *(WORK, VECTOR, VECTOR, VECTOR, VECTOR, FRAMES, INTEGER, INTEGER),
    *(TENSOR, TENSOR, TENSOR, TENSOR, TENSOR),
)
def frame_kinematics(
    handle, q, v, a, jerk, frames, representation, order, poses, motions, J, Jdot, Jddot
):
    """Of k frames: poses (k, 4, 4); from order 1 on J (k, 6, nv) and J v in motions (k, 3, 6);
    from order 2 on J̇ and J a + J̇ v; from order 3 on J̈ and J q⃛ + 2 J̇ a + J̈ v."""
    work = open_work(handle)
    body_poses(work, q)
    body_accelerations(work, v, a, ZERO6)
    for k in range(len(frames)):
        frame = frames[k]
        fill_pose(work, frame, poses[k])
        R, p = frame_placement(work, frame)
        V, A = body_motion(work, frame)
        if order >= 1:
            store6(motions[k, 0], represent(work, representation, R, p, V))
            fill_jacobian(work, frame, representation, J[k])
        if order >= 2:
            store6(motions[k, 1], represented_rate(work, representation, R, p, V, V, A))
            fill_jacobian_rate(work, frame, representation, Jdot[k])
        if order >= 3:
            second = body_jerk(work, frame, v, a, jerk)
            x = represented_second_rate(work, representation, R, p, V, A, V, A, second)
            store6(motions[k, 2], x)
            fill_jacobian_second_rate(work, frame, representation, Jddot[k])
