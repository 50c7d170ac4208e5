"""The spring between a frame and where it should be: a potential, its force and its moment.

U = ψ(½ dᵀ K d) + ψ(½ θᵀ K_r θ) with the way d in world axes, or in those of the reference, and the
rotation vector θ, up to half a turn long, in the frame's axes. ψ(E) = E up to the energy E₀; above,
the force goes on growing towards twice the one it has there and never exceeds that: with
r = √(E/E₀) it is 2 − 1/r times that, and ψ = E₀ + 2 E₀ (2 (r − 1) − log r).
"""

import math

from torqued.kernels.compilation.jit import kernel
from torqued.kernels.contacts.rows import rotation_vector
from torqued.kernels.dynamics.frames import frame_placement
from torqued.kernels.primitives.spatial import (
    add,
    compose,
    cross,
    quaternion_rotation,
    rotate,
    scale,
    sub,
    transpose,
)
from torqued.kernels.primitives.tuples import load3

#: rad, below which a series replaces what divides by the angle.
SMALL = 1e-3


@kernel
def spring(work, frame, reference, T, gains, start, force, error):
    """Force (6,) of the spring in world axes, error (6,) [rotation; position].

    `gains`: K (3, 3) in the axes T, K_r (3, 3), and from `start` on the most force and moment.
    Returns the potentials of rotation and translation.
    """
    R, p = frame_placement(work, frame)
    p = add(p, load3(work.origin))
    d = sub(p, (reference[0], reference[1], reference[2]))
    target = quaternion_rotation(reference[3], reference[4], reference[5], reference[6])
    theta = rotation_vector(compose(transpose(target), R))
    pull, translation = saturated(gains, 0, gains[start], rotate(transpose(T), d))
    pull = rotate(T, pull)
    turn, rotation = saturated(gains, 9, gains[start + 1], theta)
    moment, angle = rotate(R, turned_back(theta, turn)), rotate(R, theta)
    for k in range(3):
        force[k], force[3 + k] = moment[k], pull[k]
        error[k], error[3 + k] = angle[k], d[k]
    return rotation, translation


@kernel
def saturated(gains, start, most, x):
    """ψ' K x and ψ for the stiffness K (3, 3) at `start` and the largest force `most`."""
    Kx = times3(gains, start, x)
    energy = 0.5 * (x[0] * Kx[0] + x[1] * Kx[1] + x[2] * Kx[2])
    # The force is at most √(2 E k) for the largest eigenvalue k of K, and `most` is twice that.
    knee = most * most / (8.0 * max(largest(gains, start), 1e-300))
    if not energy > knee:
        return Kx, energy
    r = math.sqrt(energy / knee)
    factor = (2.0 - 1.0 / r) / r
    return scale(Kx, factor), knee + 2.0 * knee * (2.0 * (r - 1.0) - math.log(r))


@kernel
def largest(gains, start):
    """Largest eigenvalue of a symmetric positive (3, 3), in closed form."""
    a, b, c = gains[start], gains[start + 4], gains[start + 8]
    d, e, f = gains[start + 1], gains[start + 2], gains[start + 5]
    mean = (a + b + c) / 3.0
    x, y, z = a - mean, b - mean, c - mean
    size = math.sqrt((x * x + y * y + z * z + 2.0 * (d * d + e * e + f * f)) / 6.0)
    if not size > 1e-12 * mean:
        return mean
    x, y, z, d, e, f = x / size, y / size, z / size, d / size, e / size, f / size
    half = 0.5 * (x * (y * z - f * f) - d * (d * z - f * e) + e * (d * f - y * e))
    return mean + 2.0 * size * math.cos(math.acos(min(max(half, -1.0), 1.0)) / 3.0)


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
