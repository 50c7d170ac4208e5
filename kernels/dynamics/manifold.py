"""Coordinates that are not a vector space: integrate, difference, neutral, normalise.

Quaternions are x y z w. A floating joint integrates its body twist by the exponential of SE(3),
a spherical one by that of SO(3); all others add ([M18] section on Lie group integration).
"""

import math

from torqued.kernels.compilation.jit import entry, kernel
from torqued.kernels.primitives.layout import FLOATING, SPHERICAL, VECTOR, WORK
from torqued.kernels.primitives.spatial import (
    add,
    cross,
    dot,
    quaternion_rotation,
    rotate,
    rotate_back,
    scale,
    sub,
)
from torqued.kernels.primitives.workspace import open_work

#: Below this angle series replace the quotients sin θ/θ and the like; their error is under 1e-16.
SMALL_ANGLE = 1e-2


@kernel
def sin_quotient(x):
    """sin(x) / x."""
    if abs(x) < SMALL_ANGLE:
        y = x * x
        return 1.0 - y / 6.0 * (1.0 - y / 20.0 * (1.0 - y / 42.0))
    return math.sin(x) / x


@kernel
def exponential_quaternion(w):
    """Unit quaternion of the rotation vector w."""
    half = 0.5 * math.sqrt(dot(w, w))
    s = 0.5 * sin_quotient(half)
    return (w[0] * s, w[1] * s, w[2] * s, math.cos(half))


@kernel
def logarithm(x, y, z, w):
    """Rotation vector, at most π long, of a quaternion of any length."""
    if w < 0.0:
        x, y, z, w = -x, -y, -z, -w
    n = math.sqrt(x * x + y * y + z * z)
    half = math.atan2(n, w)
    s = 2.0 / (sin_quotient(half) * math.sqrt(n * n + w * w))
    return (x * s, y * s, z * s)


@kernel
def quaternion_product(a, b):
    x = (a[0], a[1], a[2])
    y = (b[0], b[1], b[2])
    v = add(add(scale(y, a[3]), scale(x, b[3])), cross(x, y))
    return (v[0], v[1], v[2], a[3] * b[3] - dot(x, y))


@kernel
def shift_coefficients(angle):
    """(1 − cos θ)/θ² and (θ − sin θ)/θ³ of the left Jacobian of SO(3)."""
    half = sin_quotient(0.5 * angle)
    y = angle * angle
    if abs(angle) < SMALL_ANGLE:
        return 0.5 * half * half, 1.0 / 6.0 * (1.0 - y / 20.0 * (1.0 - y / 42.0))
    return 0.5 * half * half, (angle - math.sin(angle)) / (y * angle)


@kernel
def shift(w, u):
    """Translation of the exponential of the twist (w, u)."""
    a, b = shift_coefficients(math.sqrt(dot(w, w)))
    wu = cross(w, u)
    return add(u, add(scale(wu, a), scale(cross(w, wu), b)))


@kernel
def shift_inverse(w, d):
    """u such that shift(w, u) = d, for |w| up to π."""
    angle = math.sqrt(dot(w, w))
    if angle < SMALL_ANGLE:
        y = angle * angle
        k = 1.0 / 12.0 * (1.0 + y / 60.0 * (1.0 + y / 42.0))
    else:
        k = (1.0 - 0.5 * angle / math.tan(0.5 * angle)) / (angle * angle)
    wd = cross(w, d)
    return add(sub(d, scale(wd, 0.5)), scale(cross(w, wd), k))


@kernel
def load_quaternion(q, k):
    return (q[k], q[k + 1], q[k + 2], q[k + 3])


@kernel
def store_quaternion(q, k, x):
    """Scaled to unit length, so that rounding cannot add up over many steps."""
    n = 1.0 / math.sqrt(x[0] * x[0] + x[1] * x[1] + x[2] * x[2] + x[3] * x[3])
    for i in range(4):
        q[k + i] = x[i] * n


@entry(WORK, VECTOR, VECTOR, VECTOR)
def integrate(handle, q, step, out):
    """out = q moved along the velocity-space step (v times dt)."""
    work = open_work(handle)
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        k, c = body.q, body.column
        if body.kind == SPHERICAL or body.kind == FLOATING:
            w = (step[c], step[c + 1], step[c + 2])
            if body.kind == FLOATING:
                orientation = load_quaternion(q, k + 3)
                R = quaternion_rotation(*orientation)
                d = rotate(R, shift(w, (step[c + 3], step[c + 4], step[c + 5])))
                for r in range(3):
                    out[k + r] = q[k + r] + d[r]
                k += 3
            store_quaternion(
                out, k, quaternion_product(load_quaternion(q, k), exponential_quaternion(w))
            )
        else:
            out[k] = q[k] + step[c]


@entry(WORK, VECTOR, VECTOR, VECTOR)
def difference(handle, q0, q1, out):
    """out = the step that integrate takes from q0 to q1."""
    fill_difference(open_work(handle), q0, q1, out)


@kernel
def fill_difference(work, q0, q1, out):
    """The same for kernels."""
    for i in range(len(work.bodies)):
        body = work.bodies[i]
        k, c = body.q, body.column
        if body.kind == SPHERICAL or body.kind == FLOATING:
            j = k + 3 if body.kind == FLOATING else k
            start = load_quaternion(q0, j)
            back = (-start[0], -start[1], -start[2], start[3])
            turn = quaternion_product(back, load_quaternion(q1, j))
            w = logarithm(turn[0], turn[1], turn[2], turn[3])
            for r in range(3):
                out[c + r] = w[r]
            if body.kind == FLOATING:
                d = (q1[k] - q0[k], q1[k + 1] - q0[k + 1], q1[k + 2] - q0[k + 2])
                u = shift_inverse(w, rotate_back(quaternion_rotation(*start), d))
                for r in range(3):
                    out[c + 3 + r] = u[r]
        else:
            out[c] = q1[k] - q0[k]
