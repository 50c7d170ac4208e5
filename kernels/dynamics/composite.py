"""Composite inertias and Coriolis factors: sums over subtrees of ten and of twelve numbers.

In the common frame a composite quantity is a plain sum ([EW21] eq. 15-16), no transforms.
"""

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.dynamics.tree import (
    accumulate_to_parent10,
    accumulate_to_parent12,
    has_children,
)
from torqued.kernels.primitives.spatial import (
    add,
    angular,
    coriolis_factor,
    cross,
    cross_force,
    cross_motion,
    dot,
    inertia_times,
    linear,
    rotate,
    rotate_symmetric,
    scale,
)
from torqued.kernels.primitives.tuples import (
    accumulate15,
    add10,
    add12,
    load3,
    load6,
    load9,
    load10,
    load12,
    load15,
    store10,
    store12,
)


@kernel
def world_inertia(body, state):
    """(m, h, Ī) of one body about the origin, in world axes."""
    R = load9(state.R)
    return inertia_with(body, R, add(load3(state.p), rotate(R, load3(body.com))))


@kernel
def inertia_with(body, R, c):
    """(m, h, Ī) of one body about a point that its center of mass is c away from."""
    h = scale(c, body.mass)
    turned = rotate_symmetric(R, load6(body.inertia))
    ch = dot(c, h)
    return (
        body.mass,
        h[0],
        h[1],
        h[2],
        turned[0] + ch - c[0] * h[0],
        turned[1] - c[0] * h[1],
        turned[2] - c[0] * h[2],
        turned[3] + ch - c[1] * h[1],
        turned[4] - c[1] * h[2],
        turned[5] + ch - c[2] * h[2],
    )


@kernel
def composite_inertias(work):
    """State.I of every subtree; needs body_poses."""
    for i in range(len(work.bodies) - 1, -1, -1):
        body, state = work.bodies[i], work.states[i]
        inertia = world_inertia(body, state)
        if has_children(body):
            inertia = add10(inertia, load10(state.I))
        store10(state.I, inertia)
        if body.parent >= 0:
            accumulate_to_parent10(work, body, work.states[body.parent].I, inertia)


@kernel
def composite_factors(work):
    """State.I and State.B of every subtree; needs body_velocities."""
    for i in range(len(work.bodies) - 1, -1, -1):
        body, state = work.bodies[i], work.states[i]
        inertia = world_inertia(body, state)
        factor = coriolis_factor(inertia, load6(state.v))
        if has_children(body):
            inertia = add10(inertia, load10(state.I))
            factor = add12(factor, load12(state.B))
        store10(state.I, inertia)
        store12(state.B, factor)
        if body.parent >= 0:
            accumulate_to_parent10(work, body, work.states[body.parent].I, inertia)
            accumulate_to_parent12(work, body, work.states[body.parent].B, factor)


@kernel
def inertia_rate(inertia, v):
    """İ = v×* I − I v× as ten numbers (mass rate 0): the rate of h and of Ī."""
    w, u = angular(v), linear(v)
    h = (inertia[1], inertia[2], inertia[3])
    xx, xy, xz = inertia[4], inertia[5], inertia[6]
    yy, yz, zz = inertia[7], inertia[8], inertia[9]
    rate = add(scale(u, inertia[0]), cross(w, h))
    # d/dt Ī = ω× Ī − Ī ω× + 2 (h·u) 1 − h uᵀ − u hᵀ
    hu = 2.0 * dot(h, u)
    return (
        0.0,
        rate[0],
        rate[1],
        rate[2],
        2.0 * (w[1] * xz - w[2] * xy) + hu - 2.0 * h[0] * u[0],
        w[1] * yz - w[2] * yy + w[2] * xx - w[0] * xz - h[0] * u[1] - u[0] * h[1],
        w[1] * zz - w[2] * yz + w[0] * xy - w[1] * xx - h[0] * u[2] - u[0] * h[2],
        2.0 * (w[2] * xy - w[0] * yz) + hu - 2.0 * h[1] * u[1],
        w[2] * xz - w[0] * zz + w[0] * yy - w[1] * xy - h[1] * u[2] - u[1] * h[2],
        2.0 * (w[0] * yz - w[1] * xz) + hu - 2.0 * h[2] * u[2],
    )


@kernel
def composite_rates(work):
    """State.I and its rate Auxiliary.Idot of every subtree; needs body_velocities."""
    for i in range(len(work.bodies) - 1, -1, -1):
        body, state = work.bodies[i], work.states[i]
        inertia = world_inertia(body, state)
        rate = inertia_rate(inertia, load6(state.v))
        if has_children(body):
            inertia = add10(inertia, load10(state.I))
            rate = add10(rate, load10(work.auxiliary[i].Idot))
        store10(state.I, inertia)
        store10(work.auxiliary[i].Idot, rate)
        if body.parent >= 0:
            accumulate_to_parent10(work, body, work.states[body.parent].I, inertia)
            accumulate_to_parent10(work, body, work.auxiliary[body.parent].Idot, rate)


@kernel
def skew_column(inertia, v, momentum, k):
    """Column k of N = ½ (v×* I + I v× − (I v)×̄*), so that [EW21] eq. 9 is eq. 10 plus N."""
    e = (
        1.0 if k == 0 else 0.0,
        1.0 if k == 1 else 0.0,
        1.0 if k == 2 else 0.0,
        1.0 if k == 3 else 0.0,
        1.0 if k == 4 else 0.0,
        1.0 if k == 5 else 0.0,
    )
    a = cross_force(v, inertia_times(inertia, e))
    b = inertia_times(inertia, cross_motion(v, e))
    c = cross_force(e, momentum)
    return (
        0.5 * (a[0] + b[0] - c[0]),
        0.5 * (a[1] + b[1] - c[1]),
        0.5 * (a[2] + b[2] - c[2]),
        0.5 * (a[3] + b[3] - c[3]),
        0.5 * (a[4] + b[4] - c[4]),
        0.5 * (a[5] + b[5] - c[5]),
    )


@kernel
def composite_skew(work):
    """State.N of every subtree: its strict upper triangle row by row; needs body_velocities."""
    for i in range(len(work.bodies)):
        state = work.states[i]
        v = load6(state.v)
        inertia = world_inertia(work.bodies[i], state)
        momentum = inertia_times(inertia, v)
        place_in_N = 0
        for row in range(5):
            # N is skew-symmetric: row k right of the diagonal is −column k below it.
            below = skew_column(inertia, v, momentum, row)
            for k in range(row + 1, 6):
                state.N[place_in_N] = -below[k]
                place_in_N += 1
    for i in range(len(work.bodies) - 1, 0, -1):
        parent = work.bodies[i].parent
        if parent >= 0:
            accumulate15(work.states[parent].N, load15(work.states[i].N))


@kernel
def skew_times(N, x):
    """N x from the strict upper triangle."""
    return (
        N[0] * x[1] + N[1] * x[2] + N[2] * x[3] + N[3] * x[4] + N[4] * x[5],
        -N[0] * x[0] + N[5] * x[2] + N[6] * x[3] + N[7] * x[4] + N[8] * x[5],
        -N[1] * x[0] - N[5] * x[1] + N[9] * x[3] + N[10] * x[4] + N[11] * x[5],
        -N[2] * x[0] - N[6] * x[1] - N[9] * x[2] + N[12] * x[4] + N[13] * x[5],
        -N[3] * x[0] - N[7] * x[1] - N[10] * x[2] - N[12] * x[3] + N[14] * x[5],
        -N[4] * x[0] - N[8] * x[1] - N[11] * x[2] - N[13] * x[3] - N[14] * x[4],
    )
