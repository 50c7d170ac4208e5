"""Damping by the frame's inertia at each configuration, and bounds of what its spring does.

K = B Bᵀ and A = J M⁻¹ Jᵀ have the eigenvalues ω² of Bᵀ A B = Z ω² Zᵀ as squares of natural
frequencies, so that

    D_x = B Z diag(2 ζ / ω) Zᵀ Bᵀ

makes every mode damped by ζ: the double diagonalization of stiffness and inertia without either's
inverse. In place of 2 ζ ω a mode gets a rate that is no faster than a late torque can follow and no
slower than r, which is how all else is damped, in proportion to M:

    D = Jᵀ D_x J + r (M − Jᵀ Λ_γ J)

Damping may depend on the configuration as it likes: it takes energy as long as it is positive.
"""

import math

from torqued.kernels.compilation.jit import kernel, routine
from torqued.kernels.control.laws.frame_force import damp_force_axes
from torqued.kernels.control.laws.frame_spring import (
    POSTURE,
    fill_root,
    fill_stiffness,
    turned_entry,
)
from torqued.kernels.dynamics.articulated import OK
from torqued.kernels.primitives.dense import cholesky, cholesky_solve
from torqued.kernels.primitives.eigenvalues import diagonalize
from torqued.kernels.primitives.spatial import compose, transpose

#: 1/s, of the fastest mode that damping makes by design: torques may come 3 ms late.
FASTEST = 150.0
#: 1/s, that all motions are damped by beside that while a spring would drive joints too fast.
BRAKING = 120.0
#: 1/s: a joint's elastic torque is at most what accelerates it, by itself, to the speed that it
#: may have within the time 1/this.
CUT = 60.0
#: Stiffness that damping counts on at least, as a share of the largest one and rad/s of a typical
#: inertia: along an axis without any, motion has the rate r.
SOFTEST, SLOWEST = 1e-6, 1e-2
#: Damping ratio of the posture's fastest mode at least.
MIN_RATIO = 0.4
#: Share of a joint's speed limit that springs and references together may drive it to, and what is
#: left to springs whatever references ask for.
TOGETHER, LEFT = 0.8, 0.2
#: Share of a speed limit from which on motion itself is damped more, and the slope, 1/s: what
#: drives a joint may be the motion of others.
FAST, STEEP = 0.75, 480.0


@routine
def fill_damping(task, gains, memory, first, rest, R, T):
    """The frame's damping, and D (nv, nv) of all. `rest`: where gains begin after the matrices; R:
    axes of the rotational stiffness, T: of all other gains."""
    m, n, K, B = len(task.g), len(task.speed), task.stiffness, task.upper
    fill_stiffness(gains, compose(transpose(T), R), K)
    turn = max((SLOWEST * task.scale[0]) ** 2, SOFTEST * max(K[0, 0], K[1, 1], K[2, 2]))
    shift = max((SLOWEST * task.scale[3]) ** 2, SOFTEST * max(K[3, 3], K[4, 4], K[5, 5]))
    fill_root(K, turn, shift, B)
    for r in range(m):
        row, axis = first + r, 3 * ((first + r) // 3)
        for c in range(m):
            x = 0.0
            for k in range(3):
                x += T[3 * (row - axis) + k] * B[axis + k, first + c]
            task.root[r, c] = gains[rest + (1 if first + c < 3 else 0)] * x
            task.damping[r, c] = 0.0
        for c in range(axis - first, axis - first + 3):
            explicit = 27 if axis == 0 else 18
            task.damping[r, c] = turned_entry(gains, explicit, T, row - axis, c + first - axis)
    damp_force_axes(memory, task, T, first)
    for i in range(m):
        for j in range(m):
            total = 0.0
            for r in range(m):
                for c in range(m):
                    total += task.root[r, i] * task.A[r, c] * task.root[c, j]
            task.G[i, j] = total
    diagonalize(task.G, task.Z)
    largest = 0.0
    for i in range(m):
        largest = max(largest, task.G[i, i])
    joints = joint_rate(task, gains, rest)
    for i in range(m):
        square = task.G[i, i]
        if square > 1e-12 * largest:
            design = min(max(2.0 * math.sqrt(square), gains[rest + 2]), FASTEST) / square
            for r in range(m):
                x = 0.0
                for k in range(m):
                    x += task.root[r, k] * task.Z[k, i]
                task.x[0, r] = x
            for r in range(m):
                for c in range(m):
                    task.damping[r, c] += design * task.x[0, r] * task.x[0, c]
    for r in range(m):
        for k in range(n):
            x = 0.0
            for c in range(m):
                x += (task.damping[r, c] - joints * task.counted[r, c]) * task.J[c, k]
            task.DJ[r, k] = x
    for i in range(n):
        for k in range(n):
            x = joints * task.M[i, k]
            for r in range(m):
                x += task.J[r, i] * task.DJ[r, k]
            task.D[i, k] = x


@kernel
def joint_rate(task, gains, rest):
    """1/s, r of what the frame does not show: enough for the posture's spring where joints are
    light together, as where two axes line up. No mode of K_n and M is faster than √ tr M⁻¹ K_n.
    """
    n, trace = len(task.mobility), 0.0
    for k in range(n):
        trace += task.mobility[k] * gains[POSTURE + (n + 1) * k]
    return max(gains[rest + 2], min(MIN_RATIO * math.sqrt(trace), FASTEST))


@kernel
def allowed_speed(task, w, k):
    """What springs may drive joint k to while a reference moves it by w."""
    speed = task.speed[k]
    return max(TOGETHER * speed - abs(w[k]), LEFT * speed)


@routine
def cut_elastic(task, w, elastic, exerted):
    """Of the elastic torque (nv,) what joints may get: a light one not what a heavy one can take.

    It is not scaled as a whole: joints that carry much need their part to hold the arm up.
    """
    for k in range(len(elastic)):
        most = CUT * allowed_speed(task, w, k) / task.mobility[k]
        exerted[k] = min(max(elastic[k], -most), most)


@kernel
def speeding(task, v):
    """1/s, that all motions are damped by beside D because a joint is close to its speed limit."""
    share = 0.0
    for k in range(len(v)):
        share = max(share, abs(v[k]) / task.speed[k])
    return min(max(STEEP * (share - FAST), 0.0), BRAKING)


@routine
def boost(task, w, exerted):
    """1/s, that all motions have to be damped by beside D so that no joint gets too fast.

    D⁻¹ τ are the speeds that an elastic torque τ ends at. Where one is beyond its limit by a
    factor x, and M⁻¹ τ by b, b (1 − 1/x) is what isotropic damping lacks. Where BRAKING is not
    enough, the torque is made smaller.
    """
    n, speeds, a = len(exerted), task.y[0], task.y[1]
    for k in range(n):
        speeds[k] = a[k] = exerted[k]
    cholesky_solve(task.L, a)
    needed = 0.0
    for k in range(n):
        needed = max(needed, abs(a[k]) / allowed_speed(task, w, k))
    for i in range(n):
        for k in range(n):
            task.E[i, k] = task.D[i, k]
    excess = 1e300
    if cholesky(task.E) == OK:
        cholesky_solve(task.E, speeds)
        excess = 0.0
        for k in range(n):
            excess = max(excess, abs(speeds[k]) / allowed_speed(task, w, k))
    if excess <= 1.0:
        return 0.0
    if needed > BRAKING:
        for k in range(n):
            exerted[k] *= BRAKING / needed
    return min(needed, BRAKING) * (1.0 - 1.0 / excess)
