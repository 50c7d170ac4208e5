"""τ, τ̇ and τ̈ along a motion in O(N): Newton-Euler with jerk and snap ([M18] section 6.3).

In a frame that stands still, the axes of a body move with it and forces on subtrees add up, so
that rates are plain derivatives:

    Ṡ = v × S      S̈ = a × S + v × Ṡ      S⃛ = j × S + 2 a × Ṡ + v × S̈
    v = Σ S q̇     a = Σ S q̈ + Ṡ q̇     j = Σ S q⃛ + 2 Ṡ q̈ + S̈ q̇     s = Σ S q⁗ + 3 Ṡ q⃛ + 3 S̈ q̈ + S⃛ q̇
    τ = S·F        τ̇ = Ṡ·F + S·Ḟ         τ̈ = S̈·F + 2 Ṡ·Ḟ + S·F̈

With momentum Π = I v, b = a − gravity, and (I x)˙ = v ×* I x + I (ẋ − v × x), the force on a body
is f = I b + v ×* Π; its rates follow by the same rule.
"""

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.derivatives.space import SPACE, open_space
from torqued.kernels.dynamics.composite import world_inertia
from torqued.kernels.dynamics.kinematics import body_poses
from torqued.kernels.dynamics.rnea import rest_acceleration
from torqued.kernels.primitives.layout import VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    ZERO6,
    add6,
    add_scaled6,
    cross_force,
    cross_motion,
    dot6,
    inertia_times,
)
from torqued.kernels.primitives.tuples import accumulate6, load6, store6
from torqued.kernels.primitives.workspace import open_work


@kernel
def parent_of(rows, body):
    """A row of the parent, zero for the world."""
    if body.parent < 0:
        return ZERO6
    return load6(rows[body.parent])


@kernel
def column_rates(S, v, a, j):
    """Ṡ, S̈ and S⃛ of a column that moves with v, a, j."""
    first = cross_motion(v, S)
    second = add6(cross_motion(a, S), cross_motion(v, first))
    third = add6(cross_motion(j, S), cross_motion(v, second))
    return first, second, add_scaled6(third, cross_motion(a, first), 2.0)


@kernel
def carry_rates(work, space, q1, q2, q3, q4):
    """rate_v, rate_a, rate_j and rate_s of every body, without gravity; needs body_poses."""
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        v, a = parent_of(space.rate_v, body), parent_of(space.rate_a, body)
        j, s = parent_of(space.rate_j, body), parent_of(space.rate_s, body)
        columns = range(body.column, body.column + body.columns)
        for c in columns:
            S = load6(work.columns[c].S)
            v, a = add_scaled6(v, S, q1[c]), add_scaled6(a, S, q2[c])
            j, s = add_scaled6(j, S, q3[c]), add_scaled6(s, S, q4[c])
        # Each order needs the whole motion of the one before, of all columns of the body.
        for c in columns:
            first, _, _ = column_rates(load6(work.columns[c].S), v, ZERO6, ZERO6)
            a = add_scaled6(a, first, q1[c])
            j, s = add_scaled6(j, first, 2.0 * q2[c]), add_scaled6(s, first, 3.0 * q3[c])
        for c in columns:
            _, second, _ = column_rates(load6(work.columns[c].S), v, a, ZERO6)
            j, s = add_scaled6(j, second, q1[c]), add_scaled6(s, second, 3.0 * q2[c])
        for c in columns:
            _, _, third = column_rates(load6(work.columns[c].S), v, a, j)
            s = add_scaled6(s, third, q1[c])
        store6(space.rate_v[i], v)
        store6(space.rate_a[i], a)
        store6(space.rate_j[i], j)
        store6(space.rate_s[i], s)


@kernel
def force_rates(inertia, v, a, b, j, s):
    """f, ḟ and f̈ of one body; b is a with gravity counted in."""
    P = inertia_times(inertia, v)
    vP = cross_force(v, P)
    Ia = inertia_times(inertia, a)
    P1 = add6(Ia, vP)
    swung = inertia_times(inertia, add_scaled6(j, cross_motion(v, a), -1.0))
    P2 = add6(add6(cross_force(v, Ia), swung), add6(cross_force(a, P), cross_force(v, P1)))
    y = inertia_times(inertia, b)
    z = add_scaled6(j, cross_motion(v, b), -1.0)
    Iz = inertia_times(inertia, z)
    y1 = add6(cross_force(v, y), Iz)
    z1 = add_scaled6(add_scaled6(s, cross_motion(a, b), -1.0), cross_motion(v, j), -1.0)
    rest = inertia_times(inertia, add_scaled6(z1, cross_motion(v, z), -1.0))
    y2 = add6(add6(cross_force(a, y), cross_force(v, y1)), add6(cross_force(v, Iz), rest))
    f1 = add6(y1, add6(cross_force(a, P), cross_force(v, P1)))
    f2 = add6(y2, add6(cross_force(j, P), cross_force(v, P2)))
    return add6(y, vP), f1, add_scaled6(f2, cross_force(a, P1), 2.0)


@entry(WORK, SPACE, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR, VECTOR)
def inverse_dynamics_rates(handle, scratch, q, v, a, jerk, snap, tau, tau_dot, tau_ddot):
    """τ, τ̇ and τ̈ of the motion with these rates."""
    work, space = open_work(handle), open_space(scratch)
    body_poses(work, q)
    fill_rates(work, space, v, a, jerk, snap, tau, tau_dot, tau_ddot)


@kernel
def fill_rates(work, space, v, a, jerk, snap, tau, tau_dot, tau_ddot):
    """The same; needs body_poses."""
    carry_rates(work, space, v, a, jerk, snap)
    rest = rest_acceleration(work)
    for i in range(len(work.bodies)):
        own_a = load6(space.rate_a[i])
        f, f1, f2 = force_rates(
            world_inertia(work.bodies[i], work.states[i]),
            load6(space.rate_v[i]),
            own_a,
            add6(own_a, rest),
            load6(space.rate_j[i]),
            load6(space.rate_s[i]),
        )
        store6(space.rate_f[i], f)
        store6(space.rate_f1[i], f1)
        store6(space.rate_f2[i], f2)
    for i in range(len(work.bodies) - 1, -1, -1):
        body = work.bodies[i]
        f, f1, f2 = load6(space.rate_f[i]), load6(space.rate_f1[i]), load6(space.rate_f2[i])
        for k in range(body.columns):
            c = body.column + k
            S = load6(work.columns[c].S)
            S1, S2, _ = column_rates(S, load6(space.rate_v[i]), load6(space.rate_a[i]), ZERO6)
            rotor = body.armature[k]
            tau[c] = dot6(S, f) + rotor * a[c]
            tau_dot[c] = dot6(S1, f) + dot6(S, f1) + rotor * jerk[c]
            tau_ddot[c] = dot6(S2, f) + 2.0 * dot6(S1, f1) + dot6(S, f2) + rotor * snap[c]
        if body.parent >= 0:
            accumulate6(space.rate_f[body.parent], f)
            accumulate6(space.rate_f1[body.parent], f1)
            accumulate6(space.rate_f2[body.parent], f2)
