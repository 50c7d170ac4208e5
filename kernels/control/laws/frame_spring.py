"""The spring between a frame and where it should be: a potential, its force and its moment.

    U = ψ(½ |z_t|²) + ψ(½ |z_r|²),     z = Bᵀ x,     K = B Bᵀ

with x = [rotation vector θ; way d] in the axes of K (6, 6), θ up to half a turn long, and its root
B, triangular from the translations on: z_t is the way of the point where K couples nothing, whose
force has a moment about the frame, and z_r what turns it. Without coupling these potentials are
those of ½ dᵀ K d and ½ θᵀ K_r θ. ψ(E) = E up to the energy E₀; above, the force goes on growing
towards twice the one it has there and never exceeds that: with r = √(E/E₀) it is 2 − 1/r times
that, and ψ = E₀ + 2 E₀ (2 (r − 1) − log r).
"""

import math

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.contacts.rows import rotation_vector
from torqued.kernels.dynamics.frames import frame_placement
from torqued.kernels.primitives.spatial import (
    add,
    compose,
    cross,
    dot,
    join,
    quaternion_rotation,
    rotate,
    rotate_back,
    scale,
    sub,
    transpose,
)
from torqued.kernels.primitives.tuples import load3, store6

#: Where gains begin that follow four of (3, 3).
COUPLED, POSTURE = 36, 72
#: rad, below which a series replaces what divides by the angle.
SMALL = 1e-3
#: Share of a stiffness below which nothing is left of it, and what replaces zero in a division.
ROUNDING, TINY = 1e-12, 1e-200


@kernel
def fill_stiffness(gains, Q, K):
    """K (6, 6) in the axes of gains; Q turns the frame's into those."""
    for i in range(6):
        for k in range(6):
            K[i, k] = gains[COUPLED + 6 * i + k]
    for i in range(3):
        for k in range(3):
            K[i, k] += turned_entry(gains, 9, Q, i, k)
            K[3 + i, 3 + k] += gains[3 * i + k]


@kernel
def fill_root(K, turn, shift, B):
    """B, triangular from the last column on, with K = B Bᵀ and pivots of at least `turn` for
    rotations and `shift` for translations; without a least one, columns of no stiffness are zero.
    """
    B[:, :] = 0.0
    for c in range(5, -1, -1):
        pivot, least = K[c, c], turn if c < 3 else shift
        for k in range(c + 1, 6):
            pivot -= B[c, k] * B[c, k]
        if pivot <= ROUNDING * K[c, c] and least == 0.0:
            continue
        B[c, c] = math.sqrt(max(pivot, least))
        for r in range(c):
            x = K[r, c]
            for k in range(c + 1, 6):
                x -= B[r, k] * B[c, k]
            B[r, c] = x / B[c, c]


@kernel
def turned_entry(gains, start, T, r, c):
    """Entry (r, c) of T D Tᵀ for the gain D (3, 3) at `start`."""
    total = 0.0
    for i in range(3):
        for j in range(3):
            total += T[3 * r + i] * gains[start + 3 * i + j] * T[3 * c + j]
    return total


@kernel
def spring(work, frame, reference, T, turning, gains, rest, task, error):
    """`task.force` (6,) of the spring in world axes, error (6,) [rotation; position].

    K is in the axes T, which turn with the reference or not; from `gains[rest + 3]` on are the most
    force and moment. Returns the potentials of rotation and translation, and W that they gain as
    axes of K turn.
    """
    R, p = frame_placement(work, frame)
    p = add(p, load3(work.origin))
    d = sub(p, (reference[0], reference[1], reference[2]))
    target = quaternion_rotation(reference[3], reference[4], reference[5], reference[6])
    theta, back = rotation_vector(compose(transpose(target), R)), transpose(T)
    angle, B, x, z = rotate(target, theta), task.upper, task.way, task.root_way
    fill_stiffness(gains, compose(back, target), task.stiffness)
    fill_root(task.stiffness, 0.0, 0.0, B)
    store6(x, join(rotate(back, angle), rotate(back, d)))
    lever = 0.0
    for c in range(6):
        z[c] = 0.0
        for r in range(c + 1):
            z[c] += B[r, c] * x[r]
            lever += B[r, c] * B[r, c] if r < 3 <= c else 0.0
    # Forces are at most √(2 E k) for the largest eigenvalue k of their part of K, and limits are
    # twice that. Half of the moment's at most is for what coupling makes of the force.
    most, most_moment = gains[rest + 3], gains[rest + 4]
    knee = 0.125 * min(most**2 / largest(B, 3), 0.25 * most_moment**2 / max(lever, TINY))
    pull, translation = saturated(load3(z[3:]), knee)
    left = most_moment - math.sqrt(8.0 * knee * lever)
    turn, rotation = saturated(load3(z), 0.125 * left * left / largest(B, 0))
    for r in range(6):
        x[r] = 0.0
        for c in range(r, 6):
            x[r] += B[r, c] * z[c] * (turn if c < 3 else pull)
    moment, force = rotate(T, load3(x)), rotate(T, load3(x[3:]))
    store6(task.force, join(rotate(R, turned_back(theta, rotate_back(target, moment))), force))
    store6(error, join(angle, d))
    omega = (reference[7], reference[8], reference[9])
    if turning:
        return rotation, translation, -dot(force, cross(omega, d))
    # The rotational stiffness is in the frame's axes anyway.
    fixed = sub(moment, rotate(target, scale(times3(gains, 9, theta), turn)))
    return rotation, translation, dot(fixed, cross(omega, angle))


@kernel
def saturated(z, knee):
    """ψ' and ψ of ½ |z|² with E₀ = `knee`."""
    energy = 0.5 * dot(z, z)
    if not energy > knee:
        return 1.0, energy
    r = math.sqrt(energy / knee)
    return (2.0 - 1.0 / r) / r, knee + 2.0 * knee * (2.0 * (r - 1.0) - math.log(r))


@kernel
def largest(B, at):
    """Largest eigenvalue, above zero, of B Bᵀ for the block (3, 3) of B that begins at (at, at)."""
    a, b, c = row_product(B, at, 0, 0), row_product(B, at, 1, 1), row_product(B, at, 2, 2)
    d, e, f = row_product(B, at, 0, 1), row_product(B, at, 0, 2), row_product(B, at, 1, 2)
    mean = (a + b + c) / 3.0
    x, y, z = a - mean, b - mean, c - mean
    size = math.sqrt((x * x + y * y + z * z + 2.0 * (d * d + e * e + f * f)) / 6.0)
    if not size > 1e-12 * mean:
        return max(mean, TINY)
    x, y, z, d, e, f = x / size, y / size, z / size, d / size, e / size, f / size
    half = 0.5 * (x * (y * z - f * f) - d * (d * z - f * e) + e * (d * f - y * e))
    return mean + 2.0 * size * math.cos(math.acos(min(max(half, -1.0), 1.0)) / 3.0)


@kernel
def row_product(B, at, r, c):
    total = 0.0
    for k in range(at, at + 3):
        total += B[at + r, k] * B[at + c, k]
    return total


@kernel
def turned_back(theta, x):
    """J_r⁻ᵀ x: the moment in the frame's axes whose power is xᵀ θ̇.

    θ̇ = J_r⁻¹ ω = ω + ½ θ × ω + c θ × (θ × ω) with c = (1 − ½ θ cot ½ θ) / θ².
    """
    angle = math.sqrt(theta[0] * theta[0] + theta[1] * theta[1] + theta[2] * theta[2])
    if angle < SMALL:
        c = 1.0 / 12.0 + angle * angle / 720.0
    else:
        half = 0.5 * angle
        c = (1.0 - half * math.cos(half) / math.sin(half)) / (angle * angle)
    twice = cross(theta, cross(theta, x))
    return add(sub(x, scale(cross(theta, x), 0.5)), scale(twice, c))


@kernel
def times3(gains, start, x):
    return (
        gains[start] * x[0] + gains[start + 1] * x[1] + gains[start + 2] * x[2],
        gains[start + 3] * x[0] + gains[start + 4] * x[1] + gains[start + 5] * x[2],
        gains[start + 6] * x[0] + gains[start + 7] * x[1] + gains[start + 8] * x[2],
    )
