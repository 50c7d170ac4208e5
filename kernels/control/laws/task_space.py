"""The dynamics of a frame, at a singularity too: nothing that grows there is inverted.

With the whitened Jacobian T = L⁻¹ Jᵀ S, where M = L Lᵀ and S measures rotations and translations
each in units of their own typical inertia, the eigenvalues g of Tᵀ T = S J M⁻¹ Jᵀ S say how freely
the frame moves in each direction: about one where it is as heavy as usual, zero where it cannot
move. A direction counts by γ(g), one where the arm is regular and zero in a singularity:

    Λ = S Z diag(1/g) Zᵀ S,   Λ_γ = S Z diag(γ/g) Zᵀ S,   N = 1 − Jᵀ Λ_γ J M⁻¹

Λ is the frame's inertia (J M⁻¹ Jᵀ)⁻¹ ([EW21] section 3.3), N what is left of a torque that must
not move the frame. Where the arm is singular, N lets pass what the frame cannot feel.
"""

from __future__ import annotations

from typing import NamedTuple

from torqued.kernels.compilation.jit import kernel, routine
from torqued.kernels.control.law import inner, project, project_square, square
from torqued.kernels.dynamics.composite import composite_factors
from torqued.kernels.dynamics.coriolis import fill_coriolis
from torqued.kernels.dynamics.frames import HYBRID, fill_jacobian
from torqued.kernels.dynamics.kinematics import body_poses, body_velocities
from torqued.kernels.dynamics.rnea import fill_gravity
from torqued.kernels.primitives.arrays import Floats, Layout, array
from torqued.kernels.primitives.dense import cholesky, cholesky_solve
from torqued.kernels.primitives.eigenvalues import diagonalize
from torqued.kernels.screws.rates import fill_jacobian_rate

#: Mobilities, relative to the typical one, between which a direction of the frame fades out.
SINGULAR, REGULAR = 1e-3, 1e-2
#: The same, below which references of the frame become less and less motion of joints.
FOLLOWED = 3e-2
#: Share of a joint's speed limit that a reference of the frame may ask for, and how often per
#: second it may ask for all of that limit.
FED_FORWARD, STEEPEST = 0.7, 60.0
#: rad/s or m/s: the same where a file's limits are beyond what any arm does (100 rad/s).
MAX_FED = 10.0


class TaskSizes(NamedTuple):
    """Of one law: velocities, those of the free tree, and rows of the frame's twist."""

    nv: int
    nv_free: int
    rows: int


class Task(NamedTuple):
    """Matrices of the controlled rows of a frame's motion, and what the law has at opening."""

    scale: Floats = array(float, 6)  # S of each row: √ of typical inertias; set at opening
    speed: Floats = array(float, "nv")  # limits of joints' speeds; set at opening
    J_free: Floats = array(float, 6, "nv_free")
    Jdot_free: Floats = array(float, 6, "nv_free")
    whole: Floats = array(float, 6, "nv")  # J, all rows
    whole_rate: Floats = array(float, 6, "nv")  # J̇
    J: Floats = array(float, "rows", "nv")
    Jdot: Floats = array(float, "rows", "nv")
    X: Floats = array(float, "rows", "nv")  # J M⁻¹
    M: Floats = array(float, "nv", "nv")
    L: Floats = array(float, "nv", "nv")  # its Cholesky factor
    C: Floats = array(float, "nv", "nv")
    mobility: Floats = array(float, "nv")  # diagonal of M⁻¹
    D: Floats = array(float, "nv", "nv")  # damping of joints
    E: Floats = array(float, "nv", "nv")  # its factor
    DJ: Floats = array(float, "rows", "nv")  # scratch
    missing: Floats = array(float, "nv")  # of M ẇ, what is not fed forward
    force: Floats = array(float, 6)  # of the spring, world axes
    stiffness: Floats = array(float, 6, 6)  # in the axes of gains
    upper: Floats = array(float, 6, 6)  # its root
    way: Floats = array(float, 6)  # scratch of the spring
    root_way: Floats = array(float, 6)  # the same
    wrench: Floats = array(float, 6)  # to exert on the surroundings, world axes
    exerted: Floats = array(float, 6)  # the same as measured
    A: Floats = array(float, "rows", "rows")  # J M⁻¹ Jᵀ
    G: Floats = array(float, "rows", "rows")  # scratch of eigenvalues
    Z: Floats = array(float, "rows", "rows")  # their vectors, as columns
    g: Floats = array(float, "rows")  # mobilities relative to typical ones
    gamma: Floats = array(float, "rows")  # how much a direction counts
    inertia: Floats = array(float, "rows", "rows")  # Λ, kept from growing in a singularity
    counted: Floats = array(float, "rows", "rows")  # Λ_γ
    root: Floats = array(float, "rows", "rows")  # of the stiffness: K = root rootᵀ
    damping: Floats = array(float, "rows", "rows")  # of the frame
    x: Floats = array(float, 8, "rows")  # scratch
    y: Floats = array(float, 8, "nv")  # scratch


TASK = Layout(Task, TaskSizes)
open_task = TASK.open


@routine
def fill_task(work, sizes, data, task, frame, first, gravity):
    """Dynamics of a frame's hybrid twist from row `first` on; needs expand_state.

    `gravity` (nv,) becomes g. Returns a status.
    """
    n, free, m = sizes.nv, sizes.nv_free, len(task.g)
    M_free, Mdot_free = square(data, 0, free), square(data, 1, free)
    C_free = square(data, 2, free)
    body_poses(work, data.q_free)
    body_velocities(work, data.v_free)
    composite_factors(work)
    fill_coriolis(work, M_free, Mdot_free, C_free)
    project_square(data, M_free, task.M)
    project_square(data, C_free, task.C)
    fill_gravity(work, data.tau_free)
    project(data, data.tau_free, gravity)
    fill_jacobian(work, frame, HYBRID, task.J_free)
    fill_jacobian_rate(work, frame, HYBRID, task.Jdot_free)
    for r in range(6):
        project(data, task.J_free[r], task.whole[r])
        project(data, task.Jdot_free[r], task.whole_rate[r])
    for i in range(n):
        for k in range(n):
            task.L[i, k] = task.M[i, k]
    status = cholesky(task.L)
    for r in range(m):
        for k in range(n):
            task.J[r, k] = task.X[r, k] = task.whole[first + r, k]
            task.Jdot[r, k] = task.whole_rate[first + r, k]
        cholesky_solve(task.L, task.X[r])
    for r in range(m):
        for c in range(m):
            task.A[r, c] = inner(task.J[r], task.X[c])
            task.G[r, c] = task.scale[first + r] * task.A[r, c] * task.scale[first + c]
    fill_mobility(task)
    diagonalize(task.G, task.Z)
    for i in range(m):
        task.g[i] = max(task.G[i, i], 0.0)
        task.gamma[i] = smooth((task.g[i] - SINGULAR) / (REGULAR - SINGULAR))
    for r in range(m):
        for c in range(m):
            inertia, counted = 0.0, 0.0
            for i in range(m):
                x = task.Z[r, i] * task.Z[c, i]
                inertia += x / max(task.g[i], SINGULAR)
                counted += x * task.gamma[i] / max(task.g[i], SINGULAR)
            s = task.scale[first + r] * task.scale[first + c]
            task.inertia[r, c], task.counted[r, c] = s * inertia, s * counted
    return status


@kernel
def fill_mobility(task):
    """(M⁻¹)ₖₖ = ‖L⁻¹ eₖ‖²: how freely a joint moves while all others give way."""
    n, y = len(task.mobility), task.y[0]
    for k in range(n):
        total = 0.0
        for i in range(k, n):
            x = 1.0 if i == k else 0.0
            for j in range(k, i):
                x -= task.L[i, j] * y[j]
            y[i] = x / task.L[i, i]
            total += y[i] * y[i]
        task.mobility[k] = total


@kernel
def smooth(x):
    """From 0 to 1 as x does so, with slopes of zero at both ends."""
    x = min(max(x, 0.0), 1.0)
    return x * x * (3.0 - 2.0 * x)


@kernel
def multiply(A, x, y):
    """y = A x."""
    for i in range(A.shape[0]):
        y[i] = inner(A[i], x)


@kernel
def multiply_transposed(A, x, y):
    """y = Aᵀ x."""
    for k in range(A.shape[1]):
        y[k] = 0.0
    for i in range(A.shape[0]):
        for k in range(A.shape[1]):
            y[k] += A[i, k] * x[i]


@kernel
def pass_null(task, x, y, scratch, other):
    """y = N x: of a torque x (nv,) what does not move the frame. Scratch has (rows,) each."""
    multiply(task.X, x, scratch)
    multiply(task.counted, scratch, other)
    multiply_transposed(task.J, other, y)
    for k in range(len(x)):
        y[k] = x[k] - y[k]


@kernel
def null_velocity(task, v, y, scratch, other):
    """y = Nᵀ v: of a velocity v (nv,) what the frame does not see."""
    multiply(task.J, v, scratch)
    multiply(task.counted, scratch, other)
    multiply_transposed(task.X, other, y)
    for k in range(len(v)):
        y[k] = v[k] - y[k]


@kernel
def inverse(g):
    """h(g) = 1/g where the arm is regular, below that a parabola through zero; and its slope."""
    if g >= FOLLOWED:
        return 1.0 / g, -1.0 / (g * g)
    x = g / FOLLOWED
    return (3.0 - 2.0 * x) * x / FOLLOWED, (3.0 - 4.0 * x) / (FOLLOWED * FOLLOWED)


@routine
def feed_forward(task, first, velocity, acceleration, joint_v, joint_a, w, torque):
    """Joint velocity w (nv,) that moves the frame as wanted, and torque M ẇ + C w.

    w = φ (v_p + w₀): what the posture's reference does, v_p, and what the frame's has beside that,
    ẋ = ẋ_ref − J v_p. Both slow down by φ: v_p alone would move the frame. M w₀ = Jᵀ f,
    f = S Z h(g) Zᵀ S ẋ: what the frame cannot do is left out. With M ẇ₀ = Jᵀ ḟ + J̇ᵀ f − Ṁ w₀ no
    inverse is differentiated but h(S A S), whose rate in the axes Z is that of S A S times
    (h(gᵢ) − h(gⱼ)) / (gᵢ − gⱼ). φ = (1 + Σ (w₀ / limit)⁸)^(−1/8) keeps w₀ of every joint below its
    limit. Of accelerations beyond what joints can be braked by, only that share is fed forward; the
    rest is in `task.missing`.
    """
    n, m = len(w), len(task.g)
    f, f_rate, x, y = task.x[0], task.x[1], task.x[2], task.x[3]
    left, left_rate = task.x[4], task.x[5]
    start, force, rate = task.y[0], task.y[1], task.y[2]
    for r in range(m):
        left[r] = velocity[r] - inner(task.J[r], joint_v)
        left_rate[r] = acceleration[r] - inner(task.J[r], joint_a) - inner(task.Jdot[r], joint_v)
    spectral(task, first, left, f)
    multiply_transposed(task.X, f, start)
    # Ṁ = C + Cᵀ;  Ȧ = J̇ Xᵀ + X J̇ᵀ − X Ṁ Xᵀ
    for r in range(m):
        for k in range(n):
            total = task.Jdot[r, k]
            for i in range(n):
                total -= task.C[i, k] * task.X[r, i]
            task.DJ[r, k] = total
    for r in range(m):
        for c in range(m):
            rise = inner(task.DJ[r], task.X[c]) + inner(task.DJ[c], task.X[r])
            task.G[r, c] = task.scale[first + r] * rise * task.scale[first + c]
    for i in range(m):
        x[i] = 0.0
        for r in range(m):
            x[i] += task.Z[r, i] * task.scale[first + r] * left[r]
    for i in range(m):
        y[i] = 0.0
        for j in range(m):
            turned = 0.0
            for r in range(m):
                for c in range(m):
                    turned += task.Z[r, i] * task.G[r, c] * task.Z[c, j]
            y[i] += divided_difference(task.g[i], task.g[j]) * turned * x[j]
    spectral(task, first, left_rate, f_rate)
    for r in range(m):
        for i in range(m):
            f_rate[r] += task.scale[first + r] * task.Z[r, i] * y[i]
    multiply_transposed(task.Jdot, f, force)
    for k in range(n):
        for i in range(n):
            force[k] -= (task.C[k, i] + task.C[i, k]) * start[i]
        for r in range(m):
            force[k] += task.J[r, k] * f_rate[r]
        rate[k] = force[k]
    cholesky_solve(task.L, rate)
    power, slope = 0.0, 0.0
    for k in range(n):
        most = min(FED_FORWARD * task.speed[k], MAX_FED)
        z = start[k] / most
        power += z**8
        slope += z**7 * rate[k] / most
    share = (1.0 + power) ** -0.125
    share_rate = -share / (1.0 + power) * slope
    steepest = 1.0
    for k in range(n):
        z = share * rate[k] + share_rate * (joint_v[k] + start[k])
        steepest = max(steepest, abs(z) / (STEEPEST * task.speed[k]))
    for k in range(n):
        momentum = inner(task.M[k], joint_v)
        for r in range(m):
            momentum += task.J[r, k] * f[r]
        w[k] = share * (joint_v[k] + start[k])
        torque[k] = (share * force[k] + share_rate * momentum) / steepest
        task.missing[k] = (steepest - 1.0) * torque[k]
    for k in range(n):
        torque[k] += inner(task.C[k], w) + share * inner(task.M[k], joint_a)


@kernel
def spectral(task, first, x, y):
    """y = S Z h(g) Zᵀ S x."""
    m = len(task.g)
    for r in range(m):
        y[r] = 0.0
    for i in range(m):
        along = 0.0
        for r in range(m):
            along += task.Z[r, i] * task.scale[first + r] * x[r]
        along *= inverse(task.g[i])[0]
        for r in range(m):
            y[r] += task.scale[first + r] * task.Z[r, i] * along


@kernel
def divided_difference(a, b):
    """(h(a) − h(b)) / (a − b), the slope where they are the same."""
    if abs(a - b) <= 1e-7 * (a + b):
        return inverse(0.5 * (a + b))[1]
    return (inverse(a)[0] - inverse(b)[0]) / (a - b)


@kernel
def regularity(task):
    """1 where no direction of the frame is about to be lost, 0 where one is."""
    least = 1.0
    for i in range(len(task.gamma)):
        least = min(least, task.gamma[i])
    return least


@routine
def decouple(task, s, torque):
    """Add what cancels how motions of the frame and of the null space drive each other.

    With s = s_x + s_n, s_x = J̄ J s:  −Jᵀ Λ (J̇ − J M⁻¹ C) s_n + N (J̇ᵀ Λ J − Cᵀ J̄ J) s. It does no
    work: the two parts are adjoint. Faded out before a direction of the frame is lost.
    """
    n, m, fade = len(s), len(task.g), regularity(task)
    if fade == 0.0:
        return
    x, p, moving, a, b = task.x[0], task.x[1], task.x[2], task.x[3], task.x[4]
    s_x, s_n, c, into = task.y[0], task.y[1], task.y[2], task.y[3]
    multiply(task.J, s, x)
    multiply(task.inertia, x, p)  # Λ J s
    multiply_transposed(task.X, p, s_x)
    for k in range(n):
        s_n[k] = s[k] - s_x[k]
    multiply(task.C, s_n, c)
    for r in range(m):
        moving[r] = inner(task.Jdot[r], s_n) - inner(task.X[r], c)
    multiply(task.inertia, moving, a)
    multiply_transposed(task.Jdot, p, into)
    multiply_transposed(task.C, s_x, c)
    for k in range(n):
        into[k] -= c[k]
    multiply(task.X, into, moving)
    multiply(task.inertia, moving, b)
    for k in range(n):
        total = into[k]
        for r in range(m):
            total -= task.J[r, k] * (a[r] + b[r])
        torque[k] += fade * total
